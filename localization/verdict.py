"""What do all passes together say? Clues become candidates, candidates a verdict with an honest confidence.
 Clues against the same component (a port, its link, and on an access link the RNIC, are one suspect) add up, at
most ``MOST_NATS``; "something else" has ``OTHER_NATS`` and ``MISSING_NATS`` more for each pass that had too little
to go by. A candidate's score is its share of the total of e^nats: a posterior under equal priors. The winner's
score is the confidence. If another layer's candidate is strong as well, both layers may be faulty and neither is
trusted beyond one half. Below ``LEAST_SCORE`` or ``LEAST_NATS`` the verdict is ``insufficient_evidence``, and says
what to collect.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from localization.cases import Clue, Outcome
from localization.scene import Scene, in_seconds, listing
from localization.signatures import ACTION_OF_ISSUE, CLASS_OF_COMPONENT
from localization.topology import Topology
from schemas.diagnosis import (
    ISSUE_CLASSES,
    Action,
    Candidate,
    ComponentClass,
    Evidence,
    IncidentKind,
    IssueId,
    TracePass,
)

MOST_NATS = 10.0
OTHER_NATS = 1.5
MISSING_NATS = 0.7
LEAST_SCORE = 0.5
LEAST_NATS = 3.0
STRONG_NATS = 5.0
PARTIAL_LOSS = 0.5
PART_NATS = 2.0
MOST_CANDIDATES = 5
MOST_EVIDENCE = 12


@dataclass(frozen=True, slots=True)
class Verdict:
    """Everything that an incident says about its cause."""

    kind: IncidentKind
    issue: IssueId | None
    component: str | None
    component_class: ComponentClass | None
    confidence: float
    candidates: tuple[Candidate, ...]
    evidence: tuple[Evidence, ...]
    trace: tuple[TracePass, ...]
    action: Action
    awaited: bool

    @property
    def firm(self) -> bool:
        """Whether a component is named."""
        return self.component is not None


@dataclass(frozen=True, slots=True)
class _Heap:
    """Clues about one suspect and kind, and their nats together."""

    nats: float
    clues: list[Clue]

    @property
    def layers(self) -> set[str]:
        """Passes that brought them; host evidence belongs to whatever it is about."""
        return {clue.layer for clue in self.clues}


def conclude(scene: Scene, outcomes: list[Outcome]) -> Verdict:
    """The verdict on a case."""
    clues = _withheld([clue for outcome in outcomes for clue in outcome.clues if clue.nats > 0.0])
    heaps = _heap(scene.topology, clues)
    missing = sum(outcome.trace.verdict == "inconclusive" for outcome in outcomes)
    other = exp(OTHER_NATS + MISSING_NATS * missing)
    total = other + sum(exp(heap.nats) for heap in heaps)
    scores = [exp(heap.nats) / total for heap in heaps]
    named = [(_name(heap), score) for heap, score in zip(heaps, scores, strict=True)]
    evidence = _evidence(scene, outcomes)
    trace = tuple(outcome.trace for outcome in outcomes)
    candidates = tuple(Candidate(component=name, score=round(score, 4)) for (name, _), score in named[:MOST_CANDIDATES])
    awaited = any(outcome.awaited for outcome in outcomes)
    if not heaps or heaps[0].nats < LEAST_NATS or _share_of_kind(heaps, scores) < LEAST_SCORE:
        return _undecided(outcomes, candidates, (evidence, trace), awaited)
    confidence = min(scores[0], 0.5) if _contradicted(heaps) else scores[0]
    (component, issue), kind = named[0][0], heaps[0].clues[0].kind
    return Verdict(
        kind=kind,
        issue=issue,
        component=component,
        component_class=_class(component, issue) if kind in ("network_fault", "congestion") else None,
        confidence=round(confidence, 3),
        candidates=candidates,
        evidence=evidence,
        trace=trace,
        action=_action(scene, heaps[0], (component, issue), awaited),
        awaited=awaited,
    )


def _withheld(clues: list[Clue]) -> list[Clue]:
    """Without what the monitor's own trouble makes unsafe: what probes say. What devices say of themselves stays."""
    if any(clue.layer == "monitor" for clue in clues):
        return [clue for clue in clues if clue.layer in ("monitor", "host")]
    return clues


def _heap(topology: Topology, clues: list[Clue]) -> list[_Heap]:
    """Clues by suspect and kind, the heaviest first."""
    piles: dict[tuple[str, IncidentKind], list[Clue]] = {}
    for clue in clues:
        piles.setdefault((suspect_of(topology, clue.component), clue.kind), []).append(clue)
    _refine(topology, piles)
    heaps = []
    for key in sorted(piles):
        best: dict[tuple[str, str, IssueId | None], Clue] = {}
        for clue in piles[key]:
            known = best.get((clue.layer, clue.component, clue.issue))
            if known is None or clue.nats > known.nats:
                best[clue.layer, clue.component, clue.issue] = clue
        kept = sorted(best.values(), key=lambda clue: (-clue.nats, clue.component, clue.issue or ""))
        heaps.append(_Heap(min(MOST_NATS, sum(clue.nats for clue in kept)), kept))
    return sorted(heaps, key=lambda heap: (-heap.nats, heap.clues[0].component))


def _refine(topology: Topology, piles: dict[tuple[str, IncidentKind], list[Clue]]) -> None:
    """Moves what speaks for a whole (a host, a switch, a port) to the part of it that another layer speaks against."""
    for whole in [key for key in sorted(piles) if key[1] in ("network_fault", "congestion")]:
        location = [clue for clue in piles[whole] if clue.layer == "underlay"]
        parts = [key for key in sorted(piles) if key[1] == "network_fault" and is_part(topology, key[0], whole[0])]
        known = [key for key in parts if sum(clue.nats for clue in piles[key]) >= PART_NATS]
        if not known or not location:
            continue
        best = max(known, key=lambda key: sum(clue.nats for clue in piles[key]))
        piles[best] += [clue._replace(component=piles[best][0].component, kind="network_fault") for clue in location]
        piles[whole] = [clue for clue in piles[whole] if clue.layer != "underlay"]
        if not piles[whole]:
            del piles[whole]


def is_part(topology: Topology, part: str, whole: str) -> bool:
    """Whether one component sits in another: software and settings in their host, settings in their switch or port."""
    if part == whole:
        return False
    (kind, _, name), (outer, _, scope) = part.partition(":"), whole.partition(":")
    if outer == "host" and kind == "container":
        listed = [endpoint for endpoint in topology.endpoints.values() if endpoint.host == scope]
        return bool(listed) and all(endpoint.container == name for endpoint in listed)
    if outer == "host":
        return kind in ("vswitch", "tunnel", "config") and name == scope
    if kind != "config":
        return False
    ports = {topology.cables[scope].port_a, topology.cables[scope].port_b} if scope in topology.cables else {scope}
    return name in ports or (outer == "switch" and name.startswith(f"{scope}/"))


def suspect_of(topology: Topology, component: str) -> str:
    """What no train can tell apart: a port is its link, and an access link is its RNIC."""
    kind, _, name = component.partition(":")
    cable = topology.by_port.get(name) if kind == "port" else topology.cables.get(name) if kind == "link" else None
    if cable is None:
        return component
    rnics = [node for node in (cable.node_a, cable.node_b) if topology.is_rnic(node)]
    return f"rnic:{rnics[0]}" if rnics else f"link:{cable.link}"


def _name(heap: _Heap) -> tuple[str, IssueId | None]:
    """Component and issue of a heap: the heaviest clue that knows the issue, else the heaviest."""
    informed = [clue for clue in heap.clues if clue.issue is not None]
    best = informed[0] if informed else heap.clues[0]
    return best.component, best.issue


def _share_of_kind(heaps: list[_Heap], scores: list[float]) -> float:
    """How sure the winner's kind is, whichever the component."""
    kind = heaps[0].clues[0].kind
    return sum(score for heap, score in zip(heaps, scores, strict=True) if heap.clues[0].kind == kind)


def _contradicted(heaps: list[_Heap]) -> bool:
    """Whether a pass of another layer speaks strongly for somebody else."""
    layers = heaps[0].layers - {"host"}
    return any(
        heap.nats >= STRONG_NATS and heap.layers - {"host"} and not heap.layers & layers for heap in heaps[1:] if layers
    )


def _class(component: str, issue: IssueId | None) -> ComponentClass | None:
    if issue is not None:
        return ISSUE_CLASSES[issue]
    return CLASS_OF_COMPONENT.get(component.partition(":")[0])


def _evidence(scene: Scene, outcomes: list[Outcome]) -> tuple[Evidence, ...]:
    """The anomalies first, then what the passes found, each once."""
    anomalies = [
        Evidence(
            topic="anomalies",
            t_us=anomaly.detected_us,
            ref=anomaly.anomaly,
            text=f"{anomaly.src} to {anomaly.dst}: {anomaly.symptom} "
            f"from {in_seconds(anomaly.onset_us, scene.onset_us)} ({anomaly.detector})",
        )
        for anomaly in sorted(scene.case.members(), key=lambda anomaly: (anomaly.onset_us, anomaly.anomaly))
    ]
    found = [evidence for outcome in outcomes for evidence in outcome.evidence]
    return tuple(dict.fromkeys([*anomalies[:4], *found]))[:MOST_EVIDENCE]


def _action(scene: Scene, heap: _Heap, blamed: tuple[str, IssueId | None], awaited: bool) -> Action:
    """What to do; slowness that only a place explains waits for the flow tables that say what is wrong there."""
    component, issue = blamed
    kind = heap.clues[0].kind
    placed = kind == "network_fault" and issue is None and heap.layers <= {"underlay"}
    if placed and awaited and scene.case.symptom() == "high_latency":
        why = "flow tables from after the onset are due; they tell the host from its virtual switch and settings"
        return Action(kind="none", target=None, why=why)
    return action_for(kind, component, issue, _fibre(scene, heap))


def _fibre(scene: Scene, heap: _Heap) -> str | None:
    """The link to clean, where only some packets are lost and nothing but the losses speaks against the component."""
    if any(clue.layer != "underlay" or clue.issue is not None for clue in heap.clues):
        return None
    kind, _, name = heap.clues[0].component.partition(":")
    partial = [f for f in scene.store.watch.faults if f.suspect in scene.case.faults and f.loss < PARTIAL_LOSS]
    if not partial or kind not in ("link", "rnic"):
        return None
    cables = scene.topology.neighbours.get(name, []) if kind == "rnic" else []
    return f"link:{cables[0].link}" if len(cables) == 1 else f"link:{name}" if kind == "link" else None


def action_for(kind: IncidentKind, component: str, issue: IssueId | None, fibre: str | None = None) -> Action:
    """What to do: no more than needed. ``fibre``: the link that loses some packets for no known reason."""
    if kind == "congestion":
        return Action(kind="none", target=None, why="the queues are full, nothing is broken; look at who sends so much")
    if kind != "network_fault":
        return Action(kind="restart", target=component, why="the monitor is in trouble here, not the network")
    if issue in ACTION_OF_ISSUE:
        action, why = ACTION_OF_ISSUE[issue]
        return Action(kind=action, target=component, why=why)
    shape = _class(component, issue)
    if fibre or (shape == "switch" and not component.startswith("switch:")):
        why = "it loses packets for a reason that the data does not show; the fibre is the cheapest to try"
        return Action(kind="clean_fibre", target=fibre or component, why=why)
    if shape == "virtual_switch":
        return Action(kind="restart", target=component, why="its forwarding state is wrong; a restart builds it anew")
    why = f"jobs should not be placed on {component} until it is repaired; everything else stays in use"
    return Action(kind="quarantine", target=component, why=why)


def _undecided(
    outcomes: list[Outcome],
    candidates: tuple[Candidate, ...],
    grounds: tuple[tuple[Evidence, ...], tuple[TracePass, ...]],
    awaited: bool,
) -> Verdict:
    wanted = list(dict.fromkeys(want for outcome in outcomes for want in outcome.wanted))
    ask = f"collect {listing(wanted, 6)}" if wanted else "all evidence was looked at and none of it points anywhere"
    return Verdict(
        kind="insufficient_evidence",
        issue=None,
        component=None,
        component_class=None,
        confidence=round(candidates[0].score, 3) if candidates else 0.0,
        candidates=candidates,
        evidence=grounds[0],
        trace=grounds[1],
        action=Action(kind="none", target=None, why=f"no component can be named yet: {ask}"),
        awaited=awaited,
    )
