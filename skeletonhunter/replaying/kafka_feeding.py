"""In which order and how fast does a recording go into Kafka? Time passes as in the local engine; nobody is overrun.

The publisher stays at most ``AHEAD_S`` seconds of event time ahead of what the last stages have handled, so a worker
that is slow or gone makes the replay wait instead of piling it up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from schemas.codec import BadRecord, decode
from schemas.envelope import Message
from skeletonhunter.recordings.reader import Line
from skeletonhunter.recordings.ticks import EventClock
from skeletonhunter.replaying.kafka_progress import PipelineProgress
from skeletonhunter.replaying.kafka_publisher import Publisher
from skeletonhunter.replaying.pace import Pace
from skeletonhunter.replaying.request import ReplayRequest
from skeletonhunter.settings import Settings
from streams.runner import TICKS
from streams.topology import Pipeline

AHEAD_US = 30_000_000
PROGRESS_EVERY = 500
POLL_S = 0.05


@dataclass(slots=True)
class Feeding:
    """Feeds one recording; ``meanwhile`` is called at each tick and while it waits. ``lines`` is how many were read."""

    request: ReplayRequest
    settings: Settings
    pipeline: Pipeline
    publisher: Publisher
    progress: PipelineProgress
    meanwhile: Callable[[], None]
    lines: int = 0
    _clock: EventClock = field(default_factory=EventClock)
    _begun_us: int | None = None

    def run(self) -> None:
        """Feeds all of it, and the final tick.

        Raises:
            RecordingError: the recording is wrong.
            PublishingError: the broker does not take it.
        """
        pace = Pace(self.request.speed)
        for line in self.request.recording.lines():
            self.lines += 1
            if line.topic not in self.pipeline.written and line.topic != TICKS:
                self._feed(line, pace)
            if self.lines % PROGRESS_EVERY == 0:
                self.request.progress(self.lines)
        end_us = self._clock.now_us
        self.publisher.tick(self.request.recording.manifest.end_us if end_us is None else end_us, final=True)
        self.request.progress(self.lines)

    def _feed(self, line: Line, pace: Pace) -> None:
        for t_us in self._seconds_before(line):
            pace.keep(t_us)
            self._stay_close(t_us)
            self.publisher.tick(t_us)
        self.publisher.send(line)

    def _seconds_before(self, line: Line) -> range | tuple[int, ...]:
        """The ticks that belong before a line; a line that can't be used does not move time."""
        try:
            value = decode(line.topic, line.key, line.raw, line.arrival_us, self.settings.kafka.max_message_bytes)
        except BadRecord:
            return ()
        return self._clock.pass_to(value.t_us, line.arrival_us) if isinstance(value, Message) else ()

    def _stay_close(self, t_us: int) -> None:
        if self._begun_us is None:
            self._begun_us = t_us
        self.progress.poll(0)
        self.meanwhile()
        while t_us - max(self.progress.handled_us, self._begun_us) > AHEAD_US:
            self.progress.poll(POLL_S)
            self.meanwhile()
