"""How does a fault lose packets, steadily, totally, on and off? The shape names the issue where no warning does.
 Losses of the trains that cross the fault, second by second since its onset: total (every second at least
``TOTAL``) is a port that is down, or a switch that is off; on and off (at least a fifth of the seconds total, a
fifth nearly without loss) is a port that flaps; CRC errors that grow at an end of the link are a corrupting fibre; an
RNIC with some pairs dead and the others well has lost a port of its bond. Anything else names nothing.
"""

from __future__ import annotations

from itertools import pairwise

from localization.cards import what_is_left
from localization.cases import Clue, Ends, ends_between
from localization.faults import TOTAL, Fault, crossing_of
from localization.likelihood import EDGE_S
from localization.passages import may_pass
from localization.scene import Scene
from localization.suspects import Suspect, is_only_access
from localization.topology import Topology
from localization.watch import HEAVY_LOSS
from schemas.diagnosis import IssueId
from schemas.instants import SECOND_US

MOSTLY = 0.9
RARELY = 0.1
TURNS = 3
EXTREME = 0.8
SPLIT_US = 6 * SECOND_US
EVEN_US = 10 * SECOND_US
LEAST_FLOWS = 2
LONE_NATS = 2.5
"""Less than a verdict needs."""
LEFT = "nothing passes it, though the card answers, has its address, and no port is said to be down"
UNSEEN = "it loses an even share, and the checksum errors of the card at its end are not collected"
"""Why a reason is given that nothing speaks for but that all others are ruled out."""


def issue_of(scene: Scene, fault: Fault) -> tuple[IssueId | None, str]:
    """The issue that the fault's shape shows, and why; (None, ...) if it shows none."""
    corrupted = _crc_errors(scene, fault)
    if corrupted:
        return "crc_error", f"{corrupted} CRC errors were counted at its ends since the onset"
    split = _split_flows(scene, fault)
    if split:
        return "bond_error", split
    shares = loss_by_second(scene, fault)
    on_access = _is_access(scene.topology, fault)
    settled = shares[EDGE_S:] or shares
    if settled and sum(share >= TOTAL for share in settled) >= MOSTLY * len(settled):
        return _down(scene, fault, on_access)
    states = [share >= MOSTLY for share in shares if share >= MOSTLY or share <= RARELY]
    turns = sum(one != other for one, other in pairwise(states))
    if turns >= TURNS and len(states) >= EXTREME * len(shares) and fault.suspect.kind in ("direction", "link", "rnic"):
        flapping: IssueId = "rnic_port_flapping" if on_access else "switch_port_flapping"
        return flapping, f"it lost nearly all or next to nothing, and turned {turns} times in {len(shares)} s"
    if _corrupts_unseen(scene, fault):
        return "crc_error", UNSEEN
    return None, "its losses are spread evenly, which says nothing of the reason"


def _corrupts_unseen(scene: Scene, fault: Fault) -> bool:
    """Whether it is a link to a card that drops an even share of packets, none of them late: the fibre is left.

    Where a switch receives, its port would have counted them (``_crc_errors``). What a card sends may seem to get lost
    as well: its replies come in.
    """
    link = fault_link(scene, fault)
    cable = scene.topology.cables[link] if link else None
    if cable is None or scene.topology.is_rnic(fault.suspect.source):
        return False
    if not (scene.topology.is_rnic(cable.node_a) or scene.topology.is_rnic(cable.node_b)):
        return False
    settled = scene.t_us - fault.since_us >= EVEN_US and fault.hit >= 1.0
    late = any(anomaly.symptom == "high_latency" for anomaly in scene.case.anomalies.values())
    return settled and not late and fault.loss < HEAVY_LOSS and "switch-queues" in scene.store.seen_topics


def _down(scene: Scene, fault: Fault, on_access: bool) -> tuple[IssueId | None, str]:
    """The issue of a fault that lets nothing pass."""
    issue = _when_down(fault, on_access)
    if issue is None and fault.suspect.kind == "rnic":
        issue = what_is_left(scene, fault.suspect.name)
        if issue is not None:
            return issue, LEFT
    return issue, "nothing passes it at all" + ("" if issue else ", which has several possible reasons")


def _split_flows(scene: Scene, fault: Fault) -> str | None:
    """In words, if some flows of an RNIC get nothing through and the others all: one port of its bond is dead.

    A bond sends each flow over one of its ports, chosen by a hash, so a flow is lost as a whole or not at all.
    """
    if not _is_access(scene.topology, fault) or scene.t_us - fault.since_us < SPLIT_US:
        return None
    seconds = _while_dead(_flows_by_second(scene, fault))
    sent: dict[Ends, int] = {}
    lost: dict[Ends, int] = {}
    for flows in seconds:
        for ends, (packets, gone) in flows.items():
            sent[ends] = sent.get(ends, 0) + packets
            lost[ends] = lost.get(ends, 0) + gone
    shares = [lost[ends] / sent[ends] for ends in sent]
    dead, well = sum(share >= TOTAL for share in shares), sum(share <= RARELY for share in shares)
    if min(dead, well) < LEAST_FLOWS or dead + well < len(shares):
        return None
    return (
        f"{dead} of its {len(shares)} pairs get nothing through, the others lose nothing: one port of the bond is dead"
    )


def _flows_by_second(scene: Scene, fault: Fault) -> list[dict[Ends, tuple[int, int]]]:
    """Packets sent and lost over the fault by pair, for each second since its onset."""
    table = scene.store.watch.routes
    found = []
    for second in scene.store.watch.window.since(fault.since_us + EDGE_S * SECOND_US):
        flows: dict[Ends, tuple[int, int]] = {}
        for at in crossing_of(fault, second, table).tolist():
            src, dst = table.routes[int(second.route[at])][:2]
            ends = ends_between(src, dst)
            sent, lost = flows.get(ends, (0, 0))
            flows[ends] = sent + int(second.sent[at]), lost + int(second.lost[at])
        found.append(flows)
    return found


def _while_dead(seconds: list[dict[Ends, tuple[int, int]]]) -> list[dict[Ends, tuple[int, int]]]:
    """From the first second in which a flow got nothing through to the last: what was before or after says nothing."""
    dead = [
        at for at, flows in enumerate(seconds) if any(lost >= TOTAL * sent for sent, lost in flows.values() if sent)
    ]
    return seconds[dead[0] : dead[-1] + 1] if dead else []


def loss_by_second(scene: Scene, fault: Fault) -> list[float]:
    """Share of packets lost on routes over the fault, per second with traffic since its onset."""
    shares = []
    for second in scene.store.watch.window.since(fault.since_us):
        on = crossing_of(fault, second, scene.store.watch.routes)
        sent = int(second.sent[on].sum())
        if sent:
            shares.append(int(second.lost[on].sum()) / sent)
    return shares


def _is_access(topology: Topology, fault: Fault) -> bool:
    if fault.suspect.kind == "rnic":
        return True
    cable = topology.cables.get(fault.suspect.name)
    return cable is not None and is_only_access(topology, cable)


def _when_down(fault: Fault, on_access: bool) -> IssueId | None:
    if fault.suspect.kind == "switch":
        return "switch_offline"
    if fault.suspect.kind in ("direction", "link") and not on_access:
        return "switch_port_down"
    return None


def fault_link(scene: Scene, fault: Fault) -> str | None:
    """The link of a fault: itself, or the access link of an RNIC that has only one."""
    if fault.suspect.kind == "rnic":
        cables = scene.topology.neighbours.get(fault.suspect.name, [])
        return cables[0].link if len(cables) == 1 else None
    return fault.suspect.name if fault.suspect.name in scene.topology.cables else None


def place_of(scene: Scene, fault: Fault, shape: str) -> Suspect:
    """Where a fault is, by its shape: what arrives corrupted at a card is its link's, the card only drops it."""
    link = fault_link(scene, fault)
    return Suspect("link", link) if link is not None and shape == UNSEEN else fault.suspect


def corrupting_links(scene: Scene) -> dict[str, tuple[int, float]]:
    """Links on the ill pairs' paths whose ports counted checksum errors since the onset: errors, share of pairs."""
    used: dict[frozenset[str], set[str]] = {}
    for pair, paths in scene.paths().items():
        used.setdefault(frozenset(pair), set()).update(link for path in paths for link in path)
    found: dict[str, tuple[int, float]] = {}
    for link in sorted(set().union(*used.values())):
        cable = scene.topology.cables.get(link)
        ends = (cable.port_a, cable.port_b) if cable else ()
        grown = [scene.store.queues.grown(port, scene.onset_us - SECOND_US, scene.t_us) for port in ends]
        errors = max((each.get("crc_errors", 0) for each in grown), default=0)
        if errors:
            found[link] = errors, sum(link in links for links in used.values()) / len(used)
    return found


def ends_of_lone_flow(scene: Scene) -> list[Clue]:
    """Either card of a pair that alone is dead, while others pass all its links: its bond may send some to a dead port.

    Which end it is the pair can't say, so this names nobody by itself.
    """
    if len({frozenset(pair) for pair in scene.pairs}) != 1 or scene.case.symptom() != "unconnectivity":
        return []
    text = "it alone is dead while others pass all its links: one port of a bond, at either end, would do that"
    nodes = [scene.topology.node_of(endpoint) for endpoint in scene.endpoints()]
    return [Clue(f"rnic:{node}", LONE_NATS, "network_fault", "bond_error", "underlay", text) for node in nodes if node]


def corrupting_instead(scene: Scene, fault: Fault) -> dict[str, int]:
    """Errors counted by links that corrupt packets on the way of all that suffer, or of their replies, where what is
    blamed itself counts none.

    A packet that was corrupted is counted where it is dropped: a link explains the losses if it counted as many. Of
    two faults that begin together the one that nobody counts is the rarer explanation. Probe and reply may both meet
    the link, and get lost twice as often as a packet does.
    """
    if fault.loss >= 2.0 * HEAVY_LOSS or _crc_errors(scene, fault):
        return {}
    counted = {link: errors for link, (errors, _) in corrupting_links(scene).items() if errors >= fault.lost}
    return {link: n for link, n in counted.items() if all(may_pass(scene, pair, link) for pair in scene.pairs)}


def _crc_errors(scene: Scene, fault: Fault) -> int:
    link = fault_link(scene, fault)
    if link is None:
        return 0
    cable = scene.topology.cables[link]
    queues = scene.store.queues
    ends = (cable.port_a, cable.port_b)
    return max(queues.grown(port, fault.since_us, scene.t_us).get("crc_errors", 0) for port in ends)
