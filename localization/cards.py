"""Does an RNIC still answer its own host? What tells a dead card from a dead link, bond or address without any warning.

A host reads its cards' counters and dumps their tables. A card that is dead answers neither, one whose firmware hangs
does not show its table; a port, a bond or an address that has failed leaves the card itself able to answer. Only a
card that fell silent around the onset, while the host's other tables came, counts: what was never read proves nothing.
The case remembers it: that a card answers once it is well again does not say why it was ill. A table whose message was
lost on the way is not one that the card kept back.
"""

from __future__ import annotations

from localization.cases import Clue, Silence
from localization.scene import BEFORE_US, Scene, in_seconds
from schemas.diagnosis import Evidence, IssueId
from schemas.instants import SECOND_US

UNREAD_NATS, HIDDEN_NATS = 5.0, 4.0
EARLY_US = 5 * SECOND_US
WAIT_US = 2 * SECOND_US
LATELY_US = 120 * SECOND_US
SETTLED_US = 10 * SECOND_US
SLOW_US = 25 * SECOND_US
SHARE = 0.5


def card_clues(scene: Scene) -> list[tuple[Clue, Evidence]]:
    """Cards at the ill pairs' ends that no longer answer their host."""
    found = []
    for endpoint in scene.endpoints():
        node = scene.topology.node_of(endpoint)
        share = sum(endpoint in pair for pair in scene.pairs) / len(scene.pairs)
        if node is None or share < SHARE:
            continue
        component, silences = f"rnic:{node}", _silences(scene, endpoint, node)
        for topic in sorted(silences):
            nats, text, t_us = silences[topic]
            clue = Clue(component, nats * share, "network_fault", _issue(scene), "host", text, topic)
            found.append((clue, Evidence(topic=topic, t_us=t_us, ref=component, text=text)))
    return found


def _silences(scene: Scene, endpoint: str, node: str) -> dict[str, Silence]:
    """What a card does not answer, or did not while it was ill, by topic."""
    known = scene.case.silences.setdefault(node, {})
    since_us = scene.store.producers.unread().get(endpoint)
    if since_us is not None and since_us >= scene.onset_us - EARLY_US:
        text = f"counters of rnic:{node} can't be read since {in_seconds(since_us, scene.onset_us)}"
        known["rnic-counters"] = UNREAD_NATS, text, since_us
    dumped_us = hides_table(scene, node)
    if dumped_us is not None:
        when = in_seconds(dumped_us, scene.onset_us)
        text = f"rnic:{node} did not show its table when its host dumped the others {when}"
        known["flow-tables"] = HIDDEN_NATS, text, dumped_us
    elif "flow-tables" in known and _was_shown(scene, node, known["flow-tables"][2]):
        del known["flow-tables"]
    return known


def _was_shown(scene: Scene, node: str, dumped_us: int) -> bool:
    """Whether a card that a dump lacked showed its table just after it, or the message with it may have been lost."""
    host, _, rnic = node.rpartition("/")
    own = scene.store.flows.rnic(host, rnic)
    late = own is not None and 0 <= own.complete_us - dumped_us < WAIT_US
    return late or scene.store.flows.is_lost(host, dumped_us)


def _issue(scene: Scene) -> IssueId | None:
    """What a card has that does not answer: nothing passes a dead one, one whose firmware hangs is slow."""
    symptom = scene.case.symptom()
    if symptom == "high_latency":
        return "rnic_firmware_unresponsive"
    total = any(fault.loss >= SHARE for fault in scene.store.watch.faults if fault.suspect in scene.case.faults)
    return "rnic_hardware_failure" if total or symptom == "unconnectivity" else None


def hides_table(scene: Scene, node: str) -> int | None:
    """When the host dumped its tables after the onset without this card's, which had been among them before."""
    host, _, rnic = node.rpartition("/")
    vswitch, own = scene.store.flows.vswitch(host), scene.store.flows.rnic(host, rnic)
    if vswitch is None or own is None or not own.complete_us or own.complete_us >= vswitch.seen_us:
        return None
    dumped_us = vswitch.seen_us
    late = scene.t_us - dumped_us < WAIT_US and not _others_shown(scene, host, dumped_us)
    if late or dumped_us < scene.onset_us or own.complete_us < scene.onset_us - LATELY_US:
        return None
    return None if scene.store.flows.is_lost(host, dumped_us) else dumped_us


def _others_shown(scene: Scene, host: str, since_us: int) -> bool:
    """Whether another card of the host has shown its table in a dump."""
    tables = scene.store.flows.tables
    return any(name == host and rnic and table.complete_us >= since_us for (name, rnic), table in tables.items())


def answers(scene: Scene, node: str) -> bool | None:
    """Whether a card has answered its host since the onset, at no time kept silent; None: not known."""
    if scene.case.silences.get(node):
        return False
    host, _, rnic = node.rpartition("/")
    endpoints = [name for name in scene.endpoints() if scene.topology.node_of(name) == node]
    if hides_table(scene, node) is not None or any(name in scene.store.producers.unread() for name in endpoints):
        return False
    own = scene.store.flows.rnic(host, rnic)
    return True if own is not None and own.complete_us >= scene.onset_us else None


def what_is_left(scene: Scene, node: str) -> IssueId | None:
    """The issue of a card through which nothing passes, that answers its host and of which nobody complains.

    A card that is dead would not answer; of a port that is down one of its ends says so, as a rule; a GID that has
    changed shows in the agent's health. What is left are the ports that can't be bonded. That nobody complains says
    something if somebody would: an agent that watches the card, or others who were heard to complain. A reason that was
    known keeps its place: a GID is as it was again before all is well.
    """
    meant = scene.case.meant
    if meant is not None and meant.issue not in (None, "bond_error"):
        return None
    if scene.t_us - scene.onset_us < SETTLED_US or not answers(scene, node) or not _gids_known(scene, node):
        return None
    cables = scene.topology.neighbours.get(node, [])
    around = {f"rnic:{node}", *(f"port:{port}" for cable in cables for port in (cable.port_a, cable.port_b))}
    complained = any(
        event.device in around and event.t_us >= scene.onset_us - BEFORE_US for event in scene.store.events
    )
    watched = scene.store.producers.is_watched(f"rnic:{node}", scene.onset_us)
    return "bond_error" if not complained and (watched or "device-events" in scene.store.seen_topics) else None


def slow_for_no_other_reason(scene: Scene, node: str) -> bool:
    """Whether a card is slow while others of its host are not: its firmware is left once both tables have agreed.

    Settings, GPUDirect and the virtual switch belong to all cards of a host.
    """
    if scene.t_us - scene.onset_us < SLOW_US or scene.case.faults or not scene.case.is_slow():
        return False
    nodes = {scene.topology.node_of(endpoint) for endpoint in scene.endpoints()}
    return any(card not in nodes for card in scene.looked_at(node.rpartition("/")[0]))


def _gids_known(scene: Scene, node: str) -> bool:
    """Whether the agents at a card use the GIDs that the map lists."""
    for name in scene.endpoints():
        listed = scene.topology.endpoints.get(name)
        if listed is None or scene.topology.node_of(name) != node:
            continue
        health = scene.store.producers.health.get(scene.store.agent_of(name))
        if health is None or health.t_us < scene.onset_us or (health.gids or {}).get(name) != listed.gid:
            return False
    return True
