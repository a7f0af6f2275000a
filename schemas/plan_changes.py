"""What does an agent follow after a delta? Probe plans changed by ``ProbePlanDelta``, the same bytes as the whole plan.

An agent keeps the newest plan it can make: a whole plan of a higher version replaces it, a delta applies to the plan
whose id it names as ``base`` and to no other. Whoever misses a delta waits for the whole plan, which follows within
``whole_after_s``. Pure, without numpy: agents use it. Cost: O(changed slots).
"""

from __future__ import annotations

from msgspec import structs

from schemas.probing import Probe, ProbePlan, ProbePlanDelta, SlotProbe


def apply_delta(plan: ProbePlan, delta: ProbePlanDelta) -> ProbePlan:
    """The plan after a delta.

    Raises:
        ValueError: the delta is for another plan, or takes out a probe that is not there.
    """
    if delta.base != plan.plan:
        raise ValueError(f"the delta to {delta.plan} is for the plan {delta.base}, not for {plan.plan}")
    out = set(delta.included) | {each.endpoint for each in delta.excluded}
    excluded = [each for each in plan.excluded if each.endpoint not in out] + list(delta.excluded)
    return structs.replace(
        plan,
        t_us=delta.t_us,
        producer=delta.producer,
        plan=delta.plan,
        version=delta.version,
        skeleton_version=delta.skeleton_version,
        slots=_slots(plan, delta),
        excluded=tuple(sorted(excluded, key=lambda each: each.endpoint)),
        expected=delta.expected,
        turns=delta.turns,
        coverage=delta.coverage,
        left_out_count=delta.left_out_count,
        left_out=delta.left_out,
        extra=delta.extra,
        suspects=delta.suspects,
    )


def newer_plan(plan: ProbePlan | None, message: ProbePlan | ProbePlanDelta) -> ProbePlan | None:
    """The plan to follow after a message: an older or a foreign one changes nothing."""
    if isinstance(message, ProbePlan):
        return message if plan is None or message.version > plan.version else plan
    if plan is None or message.base != plan.plan:
        return plan
    return apply_delta(plan, message)


def _slots(plan: ProbePlan, delta: ProbePlanDelta) -> tuple[tuple[Probe, ...], ...]:
    slots = list(plan.slots)
    slots += [()] * (delta.slots - len(slots))
    gone, come = _by_slot(delta.removed), _by_slot(delta.added)
    for number in sorted(gone.keys() | come.keys()):
        leaving = set(gone.get(number, ()))
        if number >= len(slots) or not leaving <= set(slots[number]):
            raise ValueError(f"the delta to {delta.plan} takes a probe out of slot {number} that is not there")
        slots[number] = tuple(sorted([*(p for p in slots[number] if p not in leaving), *come.get(number, ())]))
    if any(slots[delta.slots :]):
        raise ValueError(f"the delta to {delta.plan} leaves probes beyond its {delta.slots} slots")
    return tuple(slots[: delta.slots])


def _by_slot(probes: tuple[SlotProbe, ...]) -> dict[int, list[Probe]]:
    found: dict[int, list[Probe]] = {}
    for slot, src, dst, sport in probes:
        found.setdefault(slot, []).append((src, dst, sport))
    return found
