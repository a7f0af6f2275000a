"""A draft as messages: the whole plan, or what has changed since the plan that agents follow.

Ids are functions of the content: of a whole plan its own, of a changed one that of the plan before and of the change,
so a plan that is sent whole some seconds after its delta has the id that the delta said. Probes of a slot are in
ascending order. Cost: 3 us per probe of a whole plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from probe_planner.candidates import BasicCandidates
from probe_planner.changing import Change
from probe_planner.draft import JITTER, Draft
from probe_planner.parameters import PlannerParameters
from probe_planner.ranking import LISTED, MESSAGE
from schemas.folding import DERIVED_CLOCK, derived_producer
from schemas.ids import content_id
from schemas.probing import (
    Exclusion,
    ExpectedRound,
    LeftOut,
    PathCoverage,
    PortTurns,
    Probe,
    ProbeBudget,
    ProbePlan,
    ProbePlanDelta,
)

STAGE = "planner"
Slots = tuple[tuple[Probe, ...], ...]
Excluding = tuple[Exclusion, ...]
NOTHING = ExpectedRound(round_s=0.0, probes=0, lower_bound_s=0.0)


@dataclass(frozen=True, slots=True)
class Heading:
    """What a message says of itself. ``seq``: of its topic."""

    t_us: int
    fabric: str
    job: str
    tenant: str | None
    seq: int
    version: int
    skeleton_version: int | None


@dataclass(frozen=True, slots=True)
class Findings:
    """What plan and delta say alike of a draft."""

    expected: ExpectedRound
    turns: PortTurns | None
    coverage: PathCoverage | None
    left_out_count: int
    left_out: tuple[LeftOut, ...]
    extra: tuple[tuple[str, str], ...]
    suspects: tuple[str, ...]


def slots_of(plan: Draft) -> Slots:
    """The probes of each slot."""
    slots: list[list[Probe]] = [[] for _ in range(plan.slots)]
    port, first = plan.routes.port, plan.layout.slots
    for slot, src, dst in plan.layout.placed():
        slots[slot].append((src, dst, port[src, dst]))
    for number, probes in enumerate(plan.extra):
        slots[first + number].extend((src, dst, plan.routes.port_of(src, dst)) for src, dst in probes)
    return tuple(tuple(sorted(slot)) for slot in slots)


def exclusions(plan: Draft) -> Excluding:
    """Who is not probed, and why."""
    if plan.mode == "disabled":
        return ()
    why = {
        "skeleton": "no skeleton edge to a ready endpoint on another host",
        "basic": "no ready peer on its rail on another host",
    }[plan.mode]
    if plan.left_out_count:
        why = "left out by the budget, or without a ready peer"
    return plan.roster.exclusions(plan.layout.peers, why)


def findings(plan: Draft, components: dict[str, int]) -> Findings:
    """What is expected of the plan, and what it leaves out."""
    coverage = plan.routes.coverage()
    share = coverage.crossed / coverage.links if coverage is not None and coverage.links else None
    expected = ExpectedRound(
        round_s=round(plan.round_s, 6),
        probes=plan.probes,
        lower_bound_s=round(plan.layout.least_slots * plan.slot_s, 6),
        link_coverage=share,
    )
    listed = [LeftOut(a=a, b=b, why=why) for (a, b), why in list(plan.left_out.items())[:LISTED]]
    if plan.beyond and not listed and isinstance(plan.candidates, BasicCandidates):
        listed = [LeftOut(a=a, b=b, why=MESSAGE) for a, b in plan.candidates.first_beyond(plan.roster, LISTED)]
    return Findings(
        expected=expected if plan.mode != "disabled" else NOTHING,
        turns=plan.routes.port_turns(plan.round_s),
        coverage=coverage,
        left_out_count=plan.left_out_count,
        left_out=tuple(listed),
        extra=tuple(probe for slot in plan.extra for probe in slot),
        suspects=tuple(sorted(components)) if plan.extra else (),
    )


def whole_id(job: str, mode: str, slots: object, said: tuple[tuple[Exclusion, ...], PortTurns | None]) -> str:
    """What a plan that is made anew asks for, whatever its version."""
    excluded, turns = said
    ports = (turns.turns, turns.turn_rounds, turns.changing) if turns is not None else None
    return content_id("content", job, mode, slots, [(each.endpoint, each.why) for each in excluded], ports)


def whole_plan(
    plan: Draft, heading: Heading, plan_id: str, content: tuple[Slots, Excluding], said: Findings
) -> ProbePlan:
    """The whole plan as a message; ``content``: its slots, and who is excluded."""
    parameters = plan.parameters
    return ProbePlan(
        v=1,
        t_us=heading.t_us,
        producer=derived_producer(STAGE, heading.job, heading.seq),
        clock=DERIVED_CLOCK,
        fabric=heading.fabric,
        job=heading.job,
        tenant=heading.tenant,
        plan=plan_id,
        version=heading.version,
        skeleton_version=heading.skeleton_version,
        mode=plan.mode,
        budget=_budget(parameters),
        expected=said.expected,
        slots=content[0],
        excluded=content[1],
        probes_per_slot=parameters.probes_per_slot,
        alternate=parameters.directions == "alternate",
        jitter_s=round(plan.slot_s * JITTER, 6),
        turns=said.turns,
        coverage=said.coverage,
        left_out_count=said.left_out_count,
        left_out=said.left_out,
        extra=said.extra,
        suspects=said.suspects,
    )


def delta(
    plan: Draft, heading: Heading, base: str, changed: Change, excluding: tuple[Excluding, Excluding], said: Findings
) -> ProbePlanDelta:
    """The change as a message; ``excluding``: who was excluded and who is."""
    before, now = excluding
    known, names = set(before), {each.endpoint for each in now}
    included = tuple(each.endpoint for each in before if each.endpoint not in names)
    excluded = tuple(each for each in now if each not in known)
    content = (changed.removed, changed.added, included, [(each.endpoint, each.why) for each in excluded])
    return ProbePlanDelta(
        v=1,
        t_us=heading.t_us,
        producer=derived_producer(STAGE, heading.job, heading.seq),
        clock=DERIVED_CLOCK,
        fabric=heading.fabric,
        job=heading.job,
        tenant=heading.tenant,
        plan=content_id("plan", heading.job, heading.version, base, content, plan.slots),
        version=heading.version,
        base=base,
        base_version=heading.version - 1,
        skeleton_version=heading.skeleton_version,
        slots=plan.slots,
        removed=changed.removed,
        added=changed.added,
        included=included,
        excluded=excluded,
        expected=said.expected,
        turns=said.turns,
        coverage=said.coverage,
        left_out_count=said.left_out_count,
        left_out=said.left_out,
        extra=said.extra,
        suspects=said.suspects,
    )


def _budget(parameters: PlannerParameters) -> ProbeBudget:
    return ProbeBudget(
        round_s=parameters.round_s,
        pps_per_rnic=parameters.pps_per_rnic,
        targets_per_rnic=parameters.targets_per_rnic,
    )
