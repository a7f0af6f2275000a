"""What may the replies of ill pairs have passed? A probe is lost or slow also when its reply is, which nobody traces.

Of a pair whose own packets pass a port this is sure; else the chance is that any of its routes' replies does
(``localization.echoes``). That all pairs' replies pass one port costs the sum of ln(chance): the nats by which a deep
queue there says less than one on the way out.
"""

from __future__ import annotations

from math import log

from localization.cases import ends_between
from localization.scene import Scene
from localization.suspects import Suspect

LEAST_CHANCE = 0.02
DEAREST_NATS = -5.0


def reply_ports(scene: Scene, forward: dict[str, float]) -> dict[str, float]:
    """Ports that every pair's packets or replies may wait in, with what that assumption costs, nats (negative).

    ``forward``: share of the pairs whose own packets pass a port; ports that all pass are left out.
    """
    if scene.case.symptom() != "high_latency":
        return {}
    chances = [passing_chances(scene, ends) for ends in sorted({ends_between(*pair) for pair in scene.pairs})]
    found: dict[str, float] = {}
    for port in set.intersection(*[set(each) for each in chances]) if chances else ():
        cost = sum(log(each[port]) for each in chances)
        if DEAREST_NATS <= cost < 0.0 and forward.get(port, 0.0) < 1.0:
            found[port] = cost
    return found


def lone_deep_port(scene: Scene, suspect: Suspect) -> set[str]:
    """The only deep queue at a switch, or before it, that slow pairs have in common; empty: none, or several.

    A switch delays packets in its queues, so those of one port explain what its other ports do not show. If it holds
    back its neighbours, several queues before it are deep.
    """
    if suspect.kind != "switch":
        return set()
    cables = scene.topology.neighbours.get(suspect.name, [])
    near = {port for cable in cables for port in (cable.port_a, cable.port_b)}
    deep = {test.port for test in scene.deep if test.port in near}
    return deep if len(deep) == 1 else set()


def may_pass(scene: Scene, pair: tuple[str, str], link: str) -> bool:
    """Whether a directed pair's packets pass a link, or their replies may."""
    watch = scene.store.watch
    routes = watch.routes.of_pair(*pair)
    if any(link in path for path in scene.paths().get(pair, [])):
        return True
    return bool(len(routes)) and bool(watch.crossed_back(routes, Suspect("link", link)).any())


def passing_chances(scene: Scene, ends: tuple[str, str]) -> dict[str, float]:
    """Egress ports of switches on a pair's ways, there and back, with the chance that some of its probes wait there."""
    watch, topology = scene.store.watch, scene.topology
    table = watch.routes
    missed: dict[str, float] = {}
    for route in table.of_pair(*ends).tolist():
        ways = watch.echoes.ways(topology, table.routes, route) | {
            table.suspects.all[at]: 1.0 for at in table.members[route].tolist() if at >= 0
        }
        for suspect, chance in ways.items():
            cable = topology.cables.get(suspect.name)
            if suspect.kind == "direction" and cable is not None and not topology.is_rnic(suspect.source):
                port = cable.port_of(suspect.source)
                missed[port] = missed.get(port, 1.0) * (1.0 - min(chance, 1.0))
    return {port: 1.0 - left for port, left in missed.items() if 1.0 - left >= LEAST_CHANCE}
