"""Could it be a switch that nothing else is probed through? What trains can't tell apart, and what a dead switch no
longer says.

An RNIC, or a link, whose switch carries no other probed traffic, or none that arrives, loses the same trains as that
switch. The search takes the likelier one; the switch stays a candidate, its greater rarity against it, and what it
says of itself, or no longer says, can decide. A switch that is off sends no telemetry: its stream of queue depths falls
silent while other switches' go on.
"""

from __future__ import annotations

from localization.faults import TOTAL, Fault
from localization.links import usage_since
from localization.producers import Stream
from localization.scene import Scene
from localization.suspects import Suspect
from localization.topology import Topology
from schemas.diagnosis import IssueId
from schemas.instants import SECOND_US

QUEUES = "switch-queues"
DEAD = 0.8
EDGE_US = SECOND_US
EARLY_US = 5 * SECOND_US
MOST = 0.5


def switches_alike(scene: Scene, fault: Fault) -> list[str]:
    """Switches next to a blamed RNIC or link through which nobody else's packets pass."""
    ends = _ends_of(scene.topology, fault.suspect)
    shared = set.intersection(*ends) if ends else set()
    return [switch for switch in sorted(shared) if _is_alike(scene, fault, switch)]


def takes_along(topology: Topology, fault: Fault, switch: str) -> bool:
    """Whether a fault is a switch's, or lets nothing pass a link or card next to it: its telemetry may end for that."""
    return fault.suspect == Suspect("switch", switch) or (
        fault.loss >= TOTAL and any(switch in ends for ends in _ends_of(topology, fault.suspect))
    )


def is_cut_off(topology: Topology, *said: tuple[str | None, IssueId | None]) -> bool:
    """Whether the second of two verdicts (component, issue) is a link that is down at the switch that is off by the
    first.
    """
    if [issue for _, issue in said] != ["switch_offline", "switch_port_down"]:
        return False
    (switch, _), (down, _) = said
    port = topology.by_port.get((down or "").removeprefix("port:"))
    cable = port or topology.cables.get((down or "").removeprefix("link:"))
    return cable is not None and switch in (f"switch:{cable.node_a}", f"switch:{cable.node_b}")


def _ends_of(topology: Topology, suspect: Suspect) -> list[set[str]]:
    """The switches at each link of an RNIC, or of a link."""
    cables = topology.neighbours.get(suspect.name, []) if suspect.kind == "rnic" else []
    if suspect.name in topology.cables:
        cables = [topology.cables[suspect.name]]
    return [{node for node in (cable.node_a, cable.node_b) if not topology.is_rnic(node)} for cable in cables]


def _is_alike(scene: Scene, fault: Fault, switch: str) -> bool:
    """Whether what crosses a switch and not the suspect is nothing, or next to nothing of it arrives."""
    table = scene.store.watch.routes
    own, whole = table.suspects.index.get(fault.suspect), table.suspects.index.get(Suspect("switch", switch))
    if own is None or whole is None:
        return False
    sent, lost = usage_since(scene.store.watch, fault.since_us + EDGE_US).total(whole, without=own)
    return lost >= DEAD * sent


def fell_silent(scene: Scene, switch: str) -> Stream | None:
    """The stream of a switch's queues, if it fell silent around the onset while most others go on."""
    streams = [(key, s) for key, s in scene.store.producers.streams.items() if key[0] == QUEUES]
    silent = [s for _, s in streams if s.regularity.is_silent(scene.t_us)]
    mine = [s for s in silent if s.subject == switch and s.last_us >= scene.onset_us - EARLY_US]
    return mine[0] if mine and len(silent) <= MOST * len(streams) else None
