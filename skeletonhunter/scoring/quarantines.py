"""Did an incident ask to isolate something that is not at fault? Every state of an incident counts.

at_fault: the target is the faulty component or a part of it; wide: it holds the faulty component and more (the whole
host for one RNIC); unnecessary: neither, or the fault had not begun.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from schemas.truth import Fault
from skeletonhunter.scoring.alarms import is_fibre
from skeletonhunter.scoring.histories import History
from skeletonhunter.scoring.matching import Matcher
from skeletonhunter.scoring.places import Places
from skeletonhunter.scoring.verdicts import QuarantineVerdict


def judge_quarantines(
    histories: Sequence[History], faults: Sequence[Fault], matcher: Matcher
) -> tuple[QuarantineVerdict, ...]:
    """One verdict per incident and target, by the first state that asks for it."""
    asked: dict[tuple[str, str], int] = {}
    for state in (state for history in histories for state in history.states):
        target = state.action.target or state.component
        if state.action.kind == "quarantine" and target is not None:
            asked.setdefault((state.incident, target), state.t_us)
    return tuple(
        QuarantineVerdict(
            incident=incident,
            target=target,
            standing=_need(target, [fault for fault in faults if matcher.began(t_us, fault)], matcher.places),
        )
        for (incident, target), t_us in asked.items()
    )


def _need(target: str, begun: Sequence[Fault], places: Places) -> Literal["at_fault", "wide", "unnecessary"]:
    parts = places.holders(target)
    if any(places.same(target, fault.component, is_fibre(fault)) or fault.component in parts for fault in begun):
        return "at_fault"
    return "wide" if any(target in places.holders(fault.component) for fault in begun) else "unnecessary"
