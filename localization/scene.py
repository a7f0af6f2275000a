"""What a pass looks at: one case, the evidence, and the routes and components that its pairs touch."""

from __future__ import annotations

from dataclasses import dataclass, field

from localization.cases import Case, Ends
from localization.evidence import EvidenceStore
from localization.queues import QueueTest
from localization.routes import Route
from localization.topology import Topology, rnic_node

BEFORE_US = 60_000_000
"""How long before an onset a cause may have left its mark."""


@dataclass(slots=True)
class Scene:
    """``pairs``: directed pairs that are ill (of a fault without anomalies: those that lost packets on it).

    ``ill``: unordered pairs with any open anomaly, of this case or another. ``deep``: queues that the underlay pass
    found deep, for the passes after it.
    """

    case: Case
    store: EvidenceStore
    t_us: int
    pairs: list[tuple[str, str]]
    ill: set[Ends] = field(default_factory=set)
    deep: list[QueueTest] = field(default_factory=list)

    @property
    def topology(self) -> Topology:
        """The maps."""
        return self.store.topology

    @property
    def onset_us(self) -> int:
        """Since when."""
        return self.case.onset_us

    def endpoints(self) -> list[str]:
        """Endpoints of the pairs, sorted."""
        return sorted({endpoint for pair in self.pairs for endpoint in pair})

    def paths(self) -> dict[tuple[str, str], list[tuple[str, ...]]]:
        """Known paths of each pair in the window, each once, sorted."""
        watch = self.store.watch
        table, used = watch.routes, watch.window.uses(len(watch.routes.routes))
        found: dict[tuple[str, str], set[tuple[str, ...]]] = {pair: set() for pair in self.pairs}
        for anomaly in self.case.members():
            if anomaly.path:
                found.setdefault((anomaly.src, anomaly.dst), set()).add(anomaly.path)
        for pair in self.pairs:
            for number in table.of_pair(*pair).tolist():
                route: Route = table.routes[number]
                path = table.path(self.topology, route) if used[number] and route[:2] == pair else None
                if path:
                    found[pair].add(path)
        return {pair: sorted(found[pair]) for pair in sorted(found)}

    def looked_at(self, host: str) -> list[str]:
        """RNICs of a host that have probed since the onset, in the order of their names, which is that of the bus."""
        known = self.store.sources
        heard = [e for e in self.topology.on_host.get(host, ()) if e in known and known[e].last_us > self.onset_us]
        return sorted({rnic_node(self.topology.endpoints[e]) for e in heard}, key=lambda node: (len(node), node))

    def own_parts(self, endpoint: str) -> list[str]:
        """Component ids at an endpoint's end, from the outside in."""
        found = self.topology.endpoints.get(endpoint)
        if found is None:
            return [f"vif:{endpoint}", f"container:{endpoint.rpartition('/')[0]}"]
        host = found.host
        return [
            f"vif:{endpoint}",
            f"container:{found.container}",
            f"vswitch:{host}",
            f"tunnel:{host}",
            f"rnic:{host}/{found.rnic}",
            f"host:{host}",
            f"config:{host}",
        ]

    def path_parts(self, path: tuple[str, ...]) -> list[str]:
        """Component ids along a path: links, their ports, switches, and the ports' configuration."""
        parts: list[str] = []
        for link in path:
            parts.append(f"link:{link}")
            cable = self.topology.cables.get(link)
            if cable is None:
                continue
            for port, node in ((cable.port_a, cable.node_a), (cable.port_b, cable.node_b)):
                if not self.topology.is_rnic(node):
                    parts += [f"port:{port}", f"switch:{node}", f"config:{port}", f"config:{node}"]
        return list(dict.fromkeys(parts))

    def parts_of(self, pair: tuple[str, str], paths: list[tuple[str, ...]]) -> set[str]:
        """All component ids that a pair depends on."""
        parts = set(self.own_parts(pair[0])) | set(self.own_parts(pair[1]))
        for path in paths:
            parts.update(self.path_parts(path))
        return parts


def in_seconds(t_us: int, onset_us: int) -> str:
    """An instant relative to the onset, in words."""
    apart = (t_us - onset_us) / 1e6
    return f"{abs(apart):.1f} s {'after' if apart >= 0 else 'before'} the onset"


def listing(names: list[str], most: int = 4) -> str:
    """A few names, and how many more there are."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
