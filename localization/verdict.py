"""What do all passes together say? Clues become candidates, candidates a verdict with an honest confidence.
 Clues are heaped up by suspect and kind (``localization.heaps``); "something else" has ``OTHER_NATS`` and
``MISSING_NATS`` more for each pass that had too little to go by. A candidate's score is its share of the total,
tempered and discounted by what evidence of its kinds is worth (``localization.confidence``). The winner's score is the
confidence. If another layer's candidate is strong as well, both layers may be faulty and neither is trusted beyond one
half. Below ``LEAST_SCORE`` or ``LEAST_NATS`` the verdict is ``insufficient_evidence``, and says what to collect.
"""

from __future__ import annotations

from dataclasses import dataclass

from localization.actions import action_of, class_of
from localization.cards import slow_for_no_other_reason
from localization.cases import Clue, Outcome, ends_of
from localization.confidence import doubts, reliability, weigh
from localization.heaps import Heap, heap_up, name_of
from localization.scene import Scene, in_seconds, listing
from localization.watch import HEAVY_LOSS
from schemas.diagnosis import (
    Action,
    Candidate,
    ComponentClass,
    Evidence,
    IncidentKind,
    IssueId,
    TracePass,
)

OTHER_NATS = 1.5
MISSING_NATS = 0.7
LEAST_SCORE = 0.5
LEAST_NATS = 3.0
STRONG_NATS = 5.0
HALF = 0.5
SLOW_SHARE = 0.5
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
    left: bool = False
    """Whether the issue is what was left when nothing else was found: nothing speaks for it itself."""

    @property
    def firm(self) -> bool:
        """Whether a component is named."""
        return self.component is not None


def conclude(scene: Scene, outcomes: list[Outcome]) -> Verdict:
    """The verdict on a case."""
    clues = _withheld([clue for outcome in outcomes for clue in outcome.clues if clue.nats > 0.0])
    heaps = heap_up(scene.topology, clues, slow=_is_slow(scene), pairs=scene.pairs)
    missing = sum(outcome.trace.verdict == "inconclusive" for outcome in outcomes)
    shares = weigh(heaps, OTHER_NATS + MISSING_NATS * missing)
    lapse, others = doubts(scene, heaps[0], name_of(heaps[0])[0]) if heaps else (0.0, ())
    trust = reliability(scene, name_of(heaps[0])[0], lapse) if heaps else 1.0
    trust = min(trust, HALF / shares[0]) if _contradicted(heaps) else trust
    named = [(name_of(heap), share * trust) for heap, share in zip(heaps, shares, strict=True)]
    evidence = _evidence(scene, outcomes)
    trace = tuple(outcome.trace for outcome in outcomes)
    candidates = _candidates([(name, score) for (name, _), score in named], lapse, others)
    awaited = any(outcome.awaited for outcome in outcomes)
    if not heaps or heaps[0].nats < LEAST_NATS or _share_of_kind(heaps, shares) < LEAST_SCORE:
        return _undecided(outcomes, candidates, (evidence, trace), awaited)
    (component, issue), kind = named[0][0], heaps[0].clues[0].kind
    left = None if issue else _left(scene, component, trace)
    issue = issue or left
    return Verdict(
        kind=kind,
        issue=issue,
        component=component,
        component_class=class_of(component, issue) if kind in ("network_fault", "congestion") else None,
        confidence=round(named[0][1], 3),
        candidates=candidates,
        evidence=evidence,
        trace=trace,
        action=action_of(scene, heaps[0], (component, issue), awaited),
        awaited=awaited,
        left=left is not None,
    )


def _left(scene: Scene, component: str, trace: tuple[TracePass, ...]) -> IssueId | None:
    """The issue of a slow card that is left when flow tables, queues and its neighbours have been looked at."""
    kind, _, node = component.partition(":")
    agree = any(each.pass_ == "boundary" and each.verdict == "clean" for each in trace)
    firmware = kind == "rnic" and agree and not scene.deep and slow_for_no_other_reason(scene, node)
    return "rnic_firmware_unresponsive" if firmware else None


def _candidates(named: list[tuple[str, float]], lapse: float, others: tuple[str, ...]) -> tuple[Candidate, ...]:
    """Who it may be, the likeliest first: the heaps' suspects, and ``others``, whom nothing tells from the first."""
    if not named:
        return ()
    share = named[0][1]
    known = {name for name, _ in named}
    more = [(name, share * lapse / len(others)) for name in others if name not in known]
    ranked = [named[0], *sorted([*named[1:], *more], key=lambda each: -each[1])]
    return tuple(Candidate(component=name, score=round(score, 4)) for name, score in ranked[:MOST_CANDIDATES])


def _is_slow(scene: Scene) -> bool:
    """Whether packets are late, not lost: few are lost, of one pair or of slow ones only; most ill pairs are slow."""
    blamed = [fault for fault in scene.store.watch.faults if fault.suspect in scene.case.faults]
    if not blamed:
        return not scene.case.faults
    members = scene.case.members()
    slow = {ends_of(anomaly) for anomaly in members if anomaly.symptom == "high_latency"}
    lossy = {ends_of(anomaly) for anomaly in scene.case.anomalies.values() if anomaly.symptom != "high_latency"}
    light = all(fault.loss < HEAVY_LOSS for fault in blamed) and (len(lossy) <= 1 or lossy <= slow)
    return light and len(slow) > SLOW_SHARE * len(slow | lossy)


def _withheld(clues: list[Clue]) -> list[Clue]:
    """Without what the monitor's own trouble makes unsafe: what probes say. What devices say of themselves stays."""
    if any(clue.layer == "monitor" for clue in clues):
        return [clue for clue in clues if clue.layer in ("monitor", "host")]
    return clues


def _share_of_kind(heaps: list[Heap], scores: list[float]) -> float:
    """How sure the winner's kind is, whichever the component."""
    kind = heaps[0].clues[0].kind
    return sum(score for heap, score in zip(heaps, scores, strict=True) if heap.clues[0].kind == kind)


def _contradicted(heaps: list[Heap]) -> bool:
    """Whether a pass of another layer speaks strongly for somebody else."""
    layers = heaps[0].layers - {"host"} if heaps else set()
    return any(
        heap.nats >= STRONG_NATS and heap.layers - {"host"} and not heap.layers & layers for heap in heaps[1:] if layers
    )


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
