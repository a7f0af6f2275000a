"""Where is the fault? The ill pairs of an incident, the links of their paths, the nodes and ports of its component."""

from __future__ import annotations

from schemas.diagnosis import Incident
from schemas.maps import FabricMap, Link
from skeletonhunter.evaluation.series import Pair
from skeletonhunter.reporting.backdrop import Backdrop


def ill_pairs(incident: Incident, backdrop: Backdrop) -> list[Pair]:
    """Probed pairs of which an end is concerned; when most of the fabric is, those between two concerned ends."""
    concerned = frozenset(incident.endpoints)
    either = [pair for pair in backdrop.paths if concerned.intersection(pair)]
    both = [pair for pair in either if concerned.issuperset(pair)]
    return both if len(both) > len(either) / 2 else either


def ports_of(incident: Incident, backdrop: Backdrop) -> frozenset[str]:
    """Ports at both ends of every link that the ill pairs' paths cross."""
    fabric = backdrop.fabrics.get(incident.fabric)
    links = {link.id: (link.a, link.b) for link in fabric.links} if fabric else {}
    crossed = {link for pair in ill_pairs(incident, backdrop) for path in backdrop.paths[pair] for link in path}
    return frozenset(port for link in crossed & links.keys() for port in links[link])


def node_of(port: str) -> str:
    """The node of a port ``<node>/<port>``."""
    return port.rpartition("/")[0]


def blamed_nodes(incident: Incident, backdrop: Backdrop) -> frozenset[str]:
    """Nodes of the fabric that the component is, holds or sits at."""
    kind, _, name = (incident.component or "").partition(":")
    fabric = backdrop.fabrics.get(incident.fabric)
    if fabric is None:
        return frozenset()
    nodes = {node.id for node in fabric.nodes}
    if kind in ("switch", "rnic"):
        return frozenset({name} & nodes)
    if kind == "vif":
        kind, name = "container", name.rpartition("/")[0]
    if kind == "container":
        mine = [endpoint for endpoint in backdrop.endpoints.values() if endpoint.container == name]
        return frozenset({f"{endpoint.host}/{endpoint.rnic}" for endpoint in mine} & nodes)
    if kind in ("host", "vswitch", "tunnel", "clock", "config") and f"{name}/" not in nodes:
        return frozenset(node for node in nodes if node.startswith(f"{name}/"))
    return frozenset()


def blamed_links(incident: Incident, fabric: FabricMap) -> tuple[Link, ...]:
    """Links that the component is, or whose end it is."""
    kind, _, name = (incident.component or "").partition(":")
    if kind == "link":
        return tuple(link for link in fabric.links if link.id == name)
    if kind in ("port", "config"):
        return tuple(link for link in fabric.links if name in (link.a, link.b))
    return ()
