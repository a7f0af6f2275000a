"""Which probes shall the agents of a job send now? The fold from endpoint maps and skeletons to versions of the plan.

While the skeleton is not trusted, or belongs to another endpoint map, the plan is the basic list; a trusted skeleton's
edges replace it. A job that has ended, or whose monitoring its users switched off, gets an empty plan. A plan is sent
only when the probes, the exclusions or the mode change, at the whole second after what changed them; ``version`` grows
by one each time and the id is a function of the content. Cost: O(1) per event, a schedule per change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeGuard

from probe_planner.candidates import Candidates, basic_candidates, skeleton_candidates, within_targets
from probe_planner.parameters import PlannerParameters
from probe_planner.schedule import schedule
from schemas.folding import DERIVED_CLOCK, Emission, Event, Observation, derived_producer
from schemas.ids import content_id
from schemas.maps import EndpointMap
from schemas.probing import ExpectedRound, ProbeBudget, ProbePlan
from schemas.skeletons import SkeletonUpdate

STAGE = "planner"
Mode = Literal["basic", "skeleton", "disabled"]


@dataclass(slots=True)
class PlannerState:
    """What is known of one job. ``content`` identifies the last plan sent, whatever its version."""

    job: str
    endpoint_map: EndpointMap | None = None
    skeleton: SkeletonUpdate | None = None
    stale: bool = False
    version: int = 0
    content: str = ""


class PlannerEngine:
    """Implements ``schemas.folding.Engine``."""

    def __init__(self, parameters: PlannerParameters) -> None:
        self.parameters = parameters

    def start(self, key: str) -> PlannerState:
        """The state before the first event of a job."""
        return PlannerState(key)

    def step(self, state: PlannerState, event: Event) -> tuple[PlannerState, Sequence[Emission]]:
        """Takes maps and skeletons in; plans at the end of the second in which something changed."""
        if isinstance(event, Observation):
            _take_in(state, event)
            return state, ()
        if not state.stale or state.endpoint_map is None:
            return state, ()
        state.stale = False
        return state, self._plan(state, state.endpoint_map, event.t_us)

    def _plan(self, state: PlannerState, endpoint_map: EndpointMap, t_us: int) -> Sequence[Emission]:
        mode, candidates = self._candidates(endpoint_map, state.skeleton)
        rnic_of = {e.endpoint: f"{e.host}/{e.rnic}" for e in endpoint_map.endpoints}
        made = schedule(within_targets(candidates.pairs, self.parameters.targets_per_rnic), rnic_of, self.parameters)
        content = content_id("content", mode, made.slots, [(e.endpoint, e.why) for e in candidates.excluded])
        if content == state.content:
            return ()
        state.content = content
        state.version += 1
        plan = ProbePlan(
            v=1,
            t_us=t_us,
            producer=derived_producer(STAGE, state.job, state.version),
            clock=DERIVED_CLOCK,
            fabric=endpoint_map.fabric,
            job=state.job,
            tenant=endpoint_map.tenant,
            plan=content_id("plan", state.job, state.version, content),
            version=state.version,
            skeleton_version=state.skeleton.version if state.skeleton and mode == "skeleton" else None,
            mode=mode,
            budget=self._budget(),
            expected=made.expected if mode != "disabled" else _NOTHING,
            slots=made.slots,
            excluded=candidates.excluded,
        )
        return (Emission("probe-plans", state.job, plan),)

    def _candidates(self, endpoint_map: EndpointMap, skeleton: SkeletonUpdate | None) -> tuple[Mode, Candidates]:
        if endpoint_map.state == "ended" or (skeleton is not None and skeleton.state == "disabled"):
            return "disabled", Candidates((), ())
        if _usable(skeleton, endpoint_map):
            found = skeleton_candidates(endpoint_map, skeleton)
            if found.pairs:
                return "skeleton", found
        passes = 2 if self.parameters.directions == "both" else 1
        return "basic", basic_candidates(endpoint_map, self.parameters.max_probes // passes)

    def _budget(self) -> ProbeBudget:
        return ProbeBudget(
            round_s=self.parameters.round_s,
            pps_per_rnic=self.parameters.pps_per_rnic,
            targets_per_rnic=self.parameters.targets_per_rnic,
        )


def _take_in(state: PlannerState, event: Observation) -> None:
    value = event.value
    if isinstance(value, EndpointMap) and (state.endpoint_map is None or value.version >= state.endpoint_map.version):
        state.endpoint_map, state.stale = value, True
    elif isinstance(value, SkeletonUpdate) and (state.skeleton is None or value.version >= state.skeleton.version):
        state.skeleton, state.stale = value, True


def _usable(skeleton: SkeletonUpdate | None, endpoint_map: EndpointMap) -> TypeGuard[SkeletonUpdate]:
    return (
        skeleton is not None and skeleton.state == "trusted" and skeleton.endpoint_map_version == endpoint_map.version
    )


_NOTHING = ExpectedRound(round_s=0.0, probes=0, lower_bound_s=0.0)
