"""How do simulated agents come to real plans? The stages up to the planner, fed with what the testbed's monitor got.

The stages run as in a replay: in event time, with the lateness bound. Lines that can't be used are left out, as they
would be by the pipeline. Agents follow whole plans and deltas alike, as they come.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.codec import BadRecord, decode
from schemas.control import Tick
from schemas.envelope import Message
from schemas.folding import Emission
from schemas.plan_changes import newer_plan
from schemas.probing import ProbePlan, ProbePlanDelta
from skeletonhunter.recordings.ticks import EventClock
from skeletonhunter.testbed.producers import Line
from streams.local import LocalPipeline
from streams.parameters import Parameters
from streams.stages import STAGES

PLANNING = ("skeleton", "detection", "fabric", "planner")
WANTED = frozenset(topic for stage in PLANNING for topic in STAGES[stage].raw_inputs)


class EnginePlanner:
    """A ``testbed.plans.Planner``: the engines under test."""

    def __init__(self, parameters: Parameters) -> None:
        self.pipeline = LocalPipeline(parameters, self._take, PLANNING)
        self.clock = EventClock()
        self.followed: dict[str, ProbePlan] = {}
        self.made: list[ProbePlan] = []

    def observe(self, lines: Sequence[Line]) -> list[ProbePlan]:
        """Takes note of lines in order of arrival; gives the plans that were made meanwhile."""
        for line in lines:
            if line.topic not in WANTED:
                continue
            try:
                value = decode(line.topic, line.key, line.raw, line.arrival_us)
                assert isinstance(value, Message)
                for t_us in self.clock.pass_to(value.t_us, line.arrival_us):
                    self.pipeline.advance(Tick(t_us=t_us, source="clock", offsets={}))
                self.pipeline.admit(line.topic, line.key, value)
            except BadRecord:
                continue
        made, self.made = self.made, []
        return made

    def _take(self, emission: Emission) -> None:
        message = emission.value
        if isinstance(message, ProbePlan | ProbePlanDelta):
            before = self.followed.get(message.job)
            after = newer_plan(before, message)
            if after is not None and after is not before:
                self.followed[message.job] = after
                self.made.append(after)
