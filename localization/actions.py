"""What is to be done about a verdict? No more than needed, and nothing drastic before the verdict has stood."""

from __future__ import annotations

from itertools import pairwise

from localization.faults import TOTAL
from localization.heaps import Heap
from localization.scene import Scene
from localization.signatures import ACTION_OF_ISSUE, CLASS_OF_COMPONENT
from schemas.diagnosis import ISSUE_CLASSES, Action, ComponentClass, IncidentKind, IssueId
from schemas.instants import SECOND_US

PARTIAL_LOSS = 0.5
PART, MOST_TURNS = 0.75, 2
STEADY_US = 6 * SECOND_US
SLOW_STEADY_US = 25 * SECOND_US
SURE, LIKELY = 0.9, 0.5


def action_of(scene: Scene, heap: Heap, blamed: tuple[str, IssueId | None], awaited: bool) -> Action:
    """What to do; slowness that only a place explains waits for the flow tables that say what is wrong there."""
    component, issue = blamed
    kind = heap.clues[0].kind
    placed = kind == "network_fault" and heap.sources <= {"underlay"}
    slow = scene.case.is_slow()
    if placed and slow and component.startswith("host:") and not hits_a_part(scene, component):
        why = (
            "all cards of the host are slow and nothing says why: look at its PCIe links, huge pages, GPUDirect and"
            " virtual switch before it is taken out of use"
        )
        return Action(kind="none", target=None, why=why)
    if placed and slow and component.startswith("switch:"):
        why = "a switch delays packets in its queues, which do not show it: look at them before it is taken out of use"
        return Action(kind="none", target=None, why=why)
    if placed and awaited and slow:
        why = "flow tables from after the onset are due; they tell the host from its virtual switch and settings"
        return Action(kind="none", target=None, why=why)
    link = _cut_link(scene, heap, issue)
    if link is not None:
        why = f"nothing passes {link}, whichever end is at fault: no job on {component} until both are seen to"
        return Action(kind="quarantine", target=link, why=why)
    return action_for(kind, component, issue, _fibre(scene, heap))


def _cut_link(scene: Scene, heap: Heap, issue: IssueId | None) -> str | None:
    """The only link of an RNIC that gets nothing through, where trains alone speak: the fault may lie at either end.

    A bond that is to blame because nobody complains may be a port that is down and was not reported.
    """
    kind, _, name = heap.clues[0].component.partition(":")
    cables = scene.topology.neighbours.get(name, []) if kind == "rnic" else []
    total = all(f.loss >= TOTAL for f in scene.store.watch.faults if f.suspect in scene.case.faults)
    if (
        issue not in (None, "bond_error")
        or not heap.sources <= {"underlay"}
        or not scene.case.faults
        or not total
        or len(cables) != 1
    ):
        return None
    return f"link:{cables[0].link}"


def hits_a_part(scene: Scene, component: str) -> bool:
    """Whether only some of a host's RNICs are ill, neighbours on the bus: those behind a PCIe switch, not all alike.

    An RNIC that nobody probes may be ill as well; ill ones between others that are well share no PCIe switch.
    """
    cards = scene.looked_at(component.partition(":")[2])
    nodes = {scene.topology.node_of(endpoint) for endpoint in scene.endpoints()}
    ill = [card in nodes for card in cards]
    turns = sum(one != other for one, other in pairwise(ill))
    return turns <= MOST_TURNS and sum(ill) <= PART * len(cards)


def _fibre(scene: Scene, heap: Heap) -> str | None:
    """Whose fibre to clean, where only some packets are lost and nothing but the losses speaks against the component:
    a link, or a card with several.
    """
    if any(clue.layer != "underlay" or clue.issue is not None for clue in heap.clues):
        return None
    kind, _, name = heap.clues[0].component.partition(":")
    partial = [f for f in scene.store.watch.faults if f.suspect in scene.case.faults and f.loss * f.hit < PARTIAL_LOSS]
    if not partial or kind not in ("link", "rnic"):
        return None
    cables = scene.topology.neighbours.get(name, []) if kind == "rnic" else []
    return f"link:{cables[0].link}" if len(cables) == 1 else heap.clues[0].component


def action_for(kind: IncidentKind, component: str, issue: IssueId | None, fibre: str | None = None) -> Action:
    """What to do: no more than needed. ``fibre``: the link that loses some packets for no known reason."""
    if kind == "congestion":
        return Action(kind="none", target=None, why="the queues are full, nothing is broken; look at who sends so much")
    if kind != "network_fault":
        return Action(kind="restart", target=component, why="the monitor is in trouble here, not the network")
    if issue in ACTION_OF_ISSUE:
        action, why = ACTION_OF_ISSUE[issue]
        return Action(kind=action, target=component, why=why)
    shape = class_of(component, issue)
    if fibre or (shape == "switch" and not component.startswith("switch:")):
        why = "it loses packets for a reason that the data does not show; the fibre is the cheapest to try"
        return Action(kind="clean_fibre", target=fibre or component, why=why)
    if shape == "virtual_switch":
        return Action(kind="restart", target=component, why="its forwarding state is wrong; a restart builds it anew")
    why = f"jobs should not be placed on {component} until it is repaired; everything else stays in use"
    return Action(kind="quarantine", target=component, why=why)


def held_back(action: Action, confidence: float, stood_us: int, slow: bool) -> Action:
    """The action, or none yet: nothing is taken out of use on a verdict that may look different in a moment.

    What is only slow can wait longer, however sure it seems: until several flow tables have been compared.
    """
    steady_us = SLOW_STEADY_US if slow else STEADY_US
    if action.kind != "quarantine" or (confidence >= SURE and not slow):
        return action
    if stood_us >= steady_us and confidence >= LIKELY:
        return action
    if stood_us >= steady_us:
        why = f"{action.target} is not likely enough to be at fault to be taken out of use"
        return Action(kind="none", target=None, why=why)
    why = f"{action.target} is not taken out of use before the evidence has stood for {steady_us // SECOND_US} s"
    return Action(kind="none", target=None, why=why)


def class_of(component: str, issue: IssueId | None) -> ComponentClass | None:
    """The class of a verdict: its issue's, else its component's."""
    if issue is not None:
        return ISSUE_CLASSES[issue]
    return CLASS_OF_COMPONENT.get(component.partition(":")[0])
