"""Which probes shall the agents of a job send now? The fold from endpoint maps, skeletons and fabrics to plans.

While the skeleton is not trusted, or belongs to another endpoint map, the plan is the basic list and what users added;
a trusted skeleton's edges replace it. A job that has ended, or whose monitoring its users switched off, gets an empty
plan. At the whole second after something changed, the plan is amended: what only some endpoints' coming and going
changes is sent as a delta (topic ``probe-plan-deltas``), followed by the whole plan of the same version and id within
``whole_after_s``, for agents that come late; everything else is a whole plan at once. Nothing is sent when nothing
changes. What a budget leaves out takes its turn every ``rotate_s``. ``version`` grows by one with each change and ids
are functions of the content.

Cost: O(endpoints) per map, O(changes) per delta, a schedule per whole plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from probe_planner.candidates import Candidates, NamePair, basic_candidates, skeleton_candidates, user_edges
from probe_planner.changing import Change, change
from probe_planner.draft import Draft, Mode, draft
from probe_planner.parameters import PlannerParameters
from probe_planner.publishing import (
    Findings,
    Heading,
    Slots,
    delta,
    exclusions,
    findings,
    slots_of,
    whole_id,
    whole_plan,
)
from probe_planner.roster import Roster, read_roster
from schemas.diagnosis import JobSuspects
from schemas.folding import Emission, Event, Observation, Remains
from schemas.ids import content_id
from schemas.instants import micros
from schemas.maps import EndpointMap, JobFabric
from schemas.probing import Exclusion
from schemas.skeletons import Edge, SkeletonUpdate

PLANS, DELTAS = "probe-plans", "probe-plan-deltas"


@dataclass(slots=True)
class PlannerState:
    """What is known of one job, and its plan. ``news``: what has changed since the plan was last looked at."""

    job: str
    endpoint_map: EndpointMap | None = None
    skeleton: SkeletonUpdate | None = None
    fabric: JobFabric | None = None
    suspects_version: int = -1
    suspects: dict[str, int] = field(default_factory=dict)
    news: set[str] = field(default_factory=set)
    plan: Draft | None = None
    edges: tuple[Edge, ...] = ()
    left_since_us: dict[NamePair, int] = field(default_factory=dict)
    version: int = 0
    plan_id: str = ""
    content: str = ""
    excluded: tuple[Exclusion, ...] = ()
    skeleton_version: int | None = None
    sent: dict[str, int] = field(default_factory=dict)
    whole_due_us: int | None = None
    rotate_due_us: int | None = None


class PlannerEngine:
    """Implements ``schemas.folding.Engine``."""

    def __init__(self, parameters: PlannerParameters) -> None:
        self.parameters = parameters

    def start(self, key: str) -> PlannerState:
        """The state before the first event of a job."""
        return PlannerState(key)

    def remains(self, state: PlannerState) -> Remains:
        """The last version of the plan, and the last number of its messages."""
        return Remains(version=state.version, sent=max(state.sent.values(), default=0))

    def resume(self, key: str, remains: Remains) -> PlannerState:
        """A job that comes back: its next plan has a higher version than its last."""
        return PlannerState(key, version=remains.version, sent=dict.fromkeys((PLANS, DELTAS), remains.sent))

    def step(self, state: PlannerState, event: Event) -> tuple[PlannerState, Sequence[Emission]]:
        """Takes maps, skeletons and suspicions in; plans at the end of the second in which something changed."""
        if isinstance(event, Observation):
            _take_in(state, event)
            return state, ()
        if state.endpoint_map is None:
            return state, ()
        sent: list[Emission] = []
        rotates = state.rotate_due_us is not None and event.t_us >= state.rotate_due_us
        if state.news or rotates:
            sent += self._review(state, state.endpoint_map, event.t_us, rotates)
            state.news.clear()
        if state.plan is not None and state.whole_due_us is not None and event.t_us >= state.whole_due_us:
            sent.append(_send_whole(state, state.plan, state.endpoint_map, event.t_us))
        return state, sent

    def _review(self, state: PlannerState, endpoint_map: EndpointMap, t_us: int, rotates: bool) -> list[Emission]:
        plan, mode = state.plan, _mode(endpoint_map, state.skeleton)
        fresh = plan is None or "map" in state.news
        roster = read_roster(endpoint_map, self.parameters) if plan is None or fresh else plan.roster
        if plan is not None and not rotates and mode == plan.mode and not _other_basis(state, mode):
            changed = change(plan, roster, state.suspects)
            if changed is not None:
                return self._amend(state, plan, changed, t_us)
        return self._anew(state, endpoint_map, (mode, roster), t_us)

    def _amend(self, state: PlannerState, plan: Draft, changed: Change, t_us: int) -> list[Emission]:
        assert state.endpoint_map is not None
        before, state.excluded = state.excluded, exclusions(plan)
        if not changed.removed and not changed.added and before == state.excluded:
            return []
        state.version += 1
        state.content = ""
        heading = _heading(state, state.endpoint_map, DELTAS, t_us)
        excluded = (before, state.excluded)
        message = delta(plan, heading, state.plan_id, changed, excluded, findings(plan, state.suspects))
        state.plan_id = message.plan
        if state.whole_due_us is None:
            state.whole_due_us = t_us + micros(self.parameters.whole_after_s)
        return [Emission(DELTAS, state.job, message)]

    def _anew(
        self, state: PlannerState, endpoint_map: EndpointMap, basis: tuple[Mode, Roster], t_us: int
    ) -> list[Emission]:
        mode, candidates = self._candidates(state.skeleton, *basis)
        earlier = state.plan.routes if state.plan is not None else None
        budget = (state.suspects, state.left_since_us)
        plan = draft(self.parameters, mode, candidates, basis[1], (state.fabric, earlier), budget)
        state.plan, state.whole_due_us = plan, None
        state.edges = _basis(state.skeleton, mode)
        state.left_since_us = {pair: state.left_since_us.get(pair, t_us) for pair in plan.left_out}
        state.rotate_due_us = t_us + micros(self.parameters.rotate_s) if plan.left_out else None
        said = findings(plan, state.suspects)
        slots, state.excluded = slots_of(plan), exclusions(plan)
        content = whole_id(state.job, mode, slots, (state.excluded, said.turns))
        if content == state.content:
            return []
        state.version += 1
        state.content = content
        state.plan_id = content_id("plan", state.job, state.version, content)
        state.skeleton_version = state.skeleton.version if state.skeleton and mode == "skeleton" else None
        return [_send_whole(state, plan, endpoint_map, t_us, (slots, said))]

    def _candidates(self, skeleton: SkeletonUpdate | None, mode: Mode, roster: Roster) -> tuple[Mode, Candidates]:
        if mode == "skeleton" and skeleton is not None:
            found = skeleton_candidates(skeleton.edges, roster)
            if found.any(roster):
                return "skeleton", found
        most = self.parameters.max_probes // self.parameters.passes
        wanted = [(a, b) for a, b, _ in user_edges(skeleton.edges)] if skeleton is not None else []
        basic = basic_candidates(roster, most, wanted if mode != "disabled" else ())
        return ("disabled" if mode == "disabled" else "basic"), basic


def _take_in(state: PlannerState, event: Observation) -> None:
    value = event.value
    if isinstance(value, EndpointMap) and (state.endpoint_map is None or value.version >= state.endpoint_map.version):
        state.endpoint_map = value
        state.news.add("map")
    elif isinstance(value, SkeletonUpdate) and (state.skeleton is None or value.version >= state.skeleton.version):
        state.skeleton = value
        state.news.add("skeleton")
    elif isinstance(value, JobFabric) and (state.fabric is None or value.version >= state.fabric.version):
        state.fabric = value
        state.news.add("fabric")
    elif isinstance(value, JobSuspects) and value.version >= state.suspects_version:
        state.suspects_version = value.version
        state.suspects = {suspect.component: suspect.anomalies for suspect in value.suspects}
        state.news.add("suspects")


def _mode(endpoint_map: EndpointMap, skeleton: SkeletonUpdate | None) -> Mode:
    if endpoint_map.state == "ended" or (skeleton is not None and skeleton.state == "disabled"):
        return "disabled"
    trusted = skeleton is not None and skeleton.state == "trusted"
    return "skeleton" if trusted and _same_map(skeleton, endpoint_map) else "basic"


def _same_map(skeleton: SkeletonUpdate | None, endpoint_map: EndpointMap) -> bool:
    return skeleton is not None and skeleton.endpoint_map_version == endpoint_map.version


def _basis(skeleton: SkeletonUpdate | None, mode: Mode) -> tuple[Edge, ...]:
    """The edges that a plan of this mode rests on: all of them, or those that users added to the basic list."""
    if skeleton is None or mode == "disabled":
        return ()
    return skeleton.edges if mode == "skeleton" else user_edges(skeleton.edges)


def _other_basis(state: PlannerState, mode: Mode) -> bool:
    """Whether the plan rests on other edges or another fabric than what is known now."""
    edges = _basis(state.skeleton, mode)
    return "fabric" in state.news or (edges is not state.edges and edges != state.edges)


def _heading(state: PlannerState, endpoint_map: EndpointMap, topic: str, t_us: int) -> Heading:
    state.sent[topic] = state.sent.get(topic, 0) + 1
    return Heading(
        t_us=t_us,
        fabric=endpoint_map.fabric,
        job=state.job,
        tenant=endpoint_map.tenant,
        seq=state.sent[topic],
        version=state.version,
        skeleton_version=state.skeleton_version,
    )


def _send_whole(
    state: PlannerState, plan: Draft, endpoint_map: EndpointMap, t_us: int, found: tuple[Slots, Findings] | None = None
) -> Emission:
    state.whole_due_us = None
    heading = _heading(state, endpoint_map, PLANS, t_us)
    slots, said = (slots_of(plan), findings(plan, state.suspects)) if found is None else found
    return Emission(PLANS, state.job, whole_plan(plan, heading, state.plan_id, (slots, state.excluded), said))
