"""What do the engines say of a recording? The whole pipeline in this process, driven by the recording's own time.

Every line is decoded, observed (sinks), and given to the stages; ticks come from the event clock. Topics that a running
stage writes itself are not taken from the recording as well. A value that can't be used is a dead letter: noted, left
out, nothing else is disturbed. The outcome depends on the recording and the parameters only: not on the speed, nor on
the order of arrival within the lateness bound, nor on repeated lines.

Cost: about 15 us per message plus what the engines take.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schemas.codec import BadRecord, decode
from schemas.control import Tick
from schemas.diagnosis import Incident
from schemas.envelope import Message, Value
from schemas.folding import Emission
from schemas.instants import SECOND_US
from skeletonhunter.recordings.reader import Line, Recording
from skeletonhunter.recordings.ticks import EventClock
from skeletonhunter.replaying.garbage import without_collector
from skeletonhunter.replaying.outcome import Progress, ReplayOutcome, quiet
from skeletonhunter.replaying.pace import Pace
from skeletonhunter.replaying.request import ReplayError, ReplayRequest
from skeletonhunter.settings import Settings
from streams.local import LocalPipeline
from streams.parameters import Parameters
from streams.stages import STAGES

if TYPE_CHECKING:
    from skeletonhunter.alerting.targets import Target

Observer = Callable[[str, str, int, Value], None]
"""Is told of every message, read or emitted: topic, key, arrival (us; of an emission its event time), value."""

PROGRESS_EVERY = 500


@dataclass(slots=True)
class LocalReplay:
    """One replay. ``observers`` see every good message in the order in which it counts; ``pace`` slows it down.

    ``left_out``: topics that are not read; ``prepare`` may change the pipeline before it begins.
    """

    parameters: Parameters
    stages: tuple[str, ...] = tuple(STAGES)
    pace: Pace = field(default_factory=lambda: Pace(None))
    observers: tuple[Observer, ...] = ()
    left_out: frozenset[str] = frozenset()
    prepare: Callable[[LocalPipeline], None] = lambda _: None
    outcome: ReplayOutcome = field(default_factory=ReplayOutcome)

    def run(self, recording: Recording, progress: Progress = quiet) -> ReplayOutcome:
        """Replays the whole recording.

        Raises:
            RecordingError: the recording is wrong.
        """
        pipeline = LocalPipeline(self.parameters, self._take, self.stages)
        self.prepare(pipeline)
        derived = {topic for name in self.stages for topic in STAGES[name].outputs} | {"ticks"}
        clock = EventClock()
        with without_collector():
            for line in recording.lines():
                self.outcome.messages += 1
                if line.topic not in derived and line.topic not in self.left_out:
                    self._feed(recording, line, pipeline, clock)
                if self.outcome.messages % PROGRESS_EVERY == 0:
                    progress(self.outcome.messages)
            if clock.now_us is not None:
                pipeline.advance(_tick(clock.now_us, final=True))
        progress(self.outcome.messages)
        self._conclude(recording, pipeline)
        return self.outcome

    def _feed(self, recording: Recording, line: Line, pipeline: LocalPipeline, clock: EventClock) -> None:
        try:
            value = decode(line.topic, line.key, line.raw, line.arrival_us, limits=self.parameters.limits)
            assert isinstance(value, Message) and line.key is not None  # all topics but ticks carry an envelope
            for t_us in clock.pass_to(value.t_us, line.arrival_us):
                self.pace.keep(t_us)
                pipeline.advance(_tick(t_us))
            pipeline.admit(line.topic, line.key, value)
        except BadRecord as error:
            self.outcome.refuse(recording.place(line.topic, line.number), error)
            return
        for observe in self.observers:
            observe(line.topic, line.key, line.arrival_us, value)

    def _take(self, emission: Emission) -> None:
        self.outcome.emitted[emission.topic] += 1
        if isinstance(emission.value, Incident):
            self.outcome.updates.append(emission.value)
        arrival_us = emission.value.t_us if isinstance(emission.value, Message) else 0
        for observe in self.observers:
            observe(emission.topic, emission.key, arrival_us, emission.value)

    def _conclude(self, recording: Recording, pipeline: LocalPipeline) -> None:
        counts = [fold.counts() for fold in pipeline.folds]
        self.outcome.admissions = {
            "new": sum(count.new for count in counts),
            "duplicate": sum(count.duplicate for count in counts),
            "late": sum(count.late for count in counts),
        }
        self.outcome.span_us = (recording.manifest.start_us, recording.manifest.end_us)
        self.outcome.skipped = recording.skipped


def replay_in_process(request: ReplayRequest) -> ReplayOutcome:
    """Replays as asked; rows and webhooks only if they were asked for.

    Raises:
        RecordingError: the recording is wrong.
        ReplayError: ClickHouse can't be used.
    """
    settings = request.settings
    replay = LocalReplay(settings.parameters, settings.worker.stages, Pace(request.speed))
    with ExitStack() as stack:
        if request.clickhouse is not None:
            replay.observers += (_rows_to(settings, stack),)
        replay.observers += _alerts(settings, replay.outcome, stack)
        return replay.run(request.recording, request.progress)


def _rows_to(settings: Settings, stack: ExitStack) -> Observer:
    from skeletonhunter.sinks.connection import faults_of_clickhouse
    from skeletonhunter.sinks.in_process import InProcessSink

    stack.enter_context(faults_of_clickhouse(settings.clickhouse.dsn, ReplayError))
    return stack.enter_context(InProcessSink(settings.clickhouse)).observe


def _alerts(settings: Settings, outcome: ReplayOutcome, stack: ExitStack) -> tuple[Observer, ...]:
    """Tells each target of the incidents; what one does not take is a dead letter."""
    from skeletonhunter.alerting.targets import TargetError, targets_of
    from skeletonhunter.sinks.webhook import check_target

    try:
        targets = targets_of(settings.alerts, os.environ)
        for target in targets:
            check_target(target, settings.alerts)
    except TargetError as error:
        raise ReplayError(str(error)) from error
    return tuple(_alerts_to(target, settings, outcome, stack) for target in targets)


def _alerts_to(target: Target, settings: Settings, outcome: ReplayOutcome, stack: ExitStack) -> Observer:
    """Tells a target, at the times of the recording."""
    from skeletonhunter.alerting.telling import Teller
    from skeletonhunter.sinks.webhook import DeliveryError, WebhookSender

    now_us = looked_us = 0
    sender = stack.enter_context(WebhookSender(target, settings.alerts, time.sleep))
    teller = Teller(target, settings.alerts, sender, lambda: now_us)

    def tell(_topic: str, _key: str, arrival_us: int, value: Value) -> None:
        nonlocal now_us, looked_us
        now_us = max(now_us, arrival_us)
        if isinstance(value, Incident):
            try:
                teller.take(value)
            except DeliveryError as error:
                outcome.refuse(target.place, BadRecord("delivery_failed", str(error)))
        else:
            teller.tenants.observe(value)
        if now_us - looked_us >= SECOND_US:
            looked_us = now_us
            teller.look_after()

    return tell


def _tick(t_us: int, final: bool = False) -> Tick:
    return Tick(t_us=t_us, source="clock", offsets={}, final=final)
