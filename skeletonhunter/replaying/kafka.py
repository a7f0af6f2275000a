"""What do the engines say of a recording, over Kafka? The whole system in small: broker, worker, sink, alert sender.

Without an address a broker is started for the replay alone; on a broker that others use, everything goes under a prefix
of its own and is deleted at the end. The recording is published in its order (``kafka_publisher``), never more than
``AHEAD_S`` seconds of event time ahead of what the last stages have handled (``kafka_progress``). The replay is over
when the final tick has come out of every partition of every stage and the sinks have committed all that was written.
Its incidents are those of the local engine, byte for byte.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from confluent_kafka import KafkaException

from skeletonhunter.embedded.broker import FETCH_WAIT_MS, SESSION_S, BrokerError, embedded_broker
from skeletonhunter.replaying.kafka_feeding import Feeding
from skeletonhunter.replaying.kafka_outcome import count_written, read_dead_letters, read_updates, refusal_of
from skeletonhunter.replaying.kafka_progress import PipelineProgress
from skeletonhunter.replaying.kafka_publisher import Publisher, PublishingError
from skeletonhunter.replaying.kafka_services import Program, Services, services, skeletonhunter
from skeletonhunter.replaying.kafka_sinks import Sink, wait_until_read
from skeletonhunter.replaying.kafka_standstill import Standstill
from skeletonhunter.replaying.outcome import ReplayOutcome
from skeletonhunter.replaying.request import ReplayError, ReplayRequest
from skeletonhunter.settings import Settings
from skeletonhunter.working import topic_admin
from streams.offsets import Spot
from streams.stages import STAGES, Stage
from streams.topic_admin import TopicError, plan_topics
from streams.topology import pipeline

POLL_S = 0.05
EMBEDDED_PARTITIONS = 2
"""One worker gains nothing from partitions, and ticks between stages grow with their square."""

CHECKPOINT_S = 60.0
"""At full speed event time flies, and writing states down every few seconds of it would take a quarter of the time."""

__all__ = ["Cast", "ReplayError", "replay_over_kafka", "replay_with", "usual_cast"]


def _undisturbed(running: Services, handled_us: int) -> None:
    """Nothing happens to those who take part."""


@dataclass(frozen=True, slots=True)
class Cast:
    """Who takes part: the workers, which run ``stages`` together, and the sinks.

    ``meanwhile`` is called again and again with the running programs and the time that the pipeline has come to.
    """

    workers: tuple[Program, ...]
    sinks: tuple[Sink, ...] = ()
    stages: Mapping[str, Stage] = field(default_factory=lambda: STAGES)
    meanwhile: Callable[[Services, int], None] = _undisturbed


def usual_cast(settings: Settings) -> Cast:
    """One worker with all stages, the ClickHouse sink, and the alert sender if there is somebody to tell."""
    from skeletonhunter.sinks.alerts import TOPIC, alert_groups
    from skeletonhunter.sinks.clickhouse_sink import GROUP
    from skeletonhunter.sinks.rows import STORED_TOPICS

    sinks = [Sink(skeletonhunter("sink", "--migrate"), (GROUP,), STORED_TOPICS)]
    groups = alert_groups(settings.alerts)
    if groups:
        sinks.append(Sink(skeletonhunter("alert"), groups, (TOPIC,)))
    return Cast((skeletonhunter("work"),), tuple(sinks))


def replay_over_kafka(request: ReplayRequest) -> ReplayOutcome:
    """Replays as asked, with the usual cast.

    Raises:
        RecordingError: the recording is wrong.
        ReplayError: there is no broker, it fails, or a program ended too early.
    """
    settings = request.settings
    if request.broker is None:
        few = min(settings.kafka.partitions, EMBEDDED_PARTITIONS)
        kafka = msgspec.structs.replace(settings.kafka, partitions=few)
        request = replace(request, settings=msgspec.structs.replace(settings, kafka=kafka))
    return replay_with(usual_cast(settings), request)


def replay_with(cast: Cast, request: ReplayRequest) -> ReplayOutcome:
    """As ``replay_over_kafka``, with this cast."""
    try:
        with (
            _broker(request) as settings,
            _own_topics(settings),
            services(settings, _programs(cast)) as running,
        ):
            return _Replay(request, settings, cast, running).run()
    except (BrokerError, TopicError, PublishingError) as error:
        raise ReplayError(str(error)) from error
    except KafkaException as error:
        raise ReplayError(f"Kafka at {request.broker or 'the embedded broker'} fails: {error.args[0].str()}") from error


def _programs(cast: Cast) -> list[Program]:
    return [*cast.workers, *(sink.program for sink in cast.sinks)]


@contextmanager
def _broker(request: ReplayRequest) -> Iterator[Settings]:
    """Settings for the replay, with the address of a broker that is there."""
    if request.broker is not None:
        prefix = f"{request.settings.kafka.prefix}replay-{secrets.token_hex(4)}-"
        yield _settings(request, url=request.broker, prefix=prefix)
        return
    with embedded_broker() as address:
        own = {"session_s": SESSION_S, "fetch_wait_ms": FETCH_WAIT_MS, "replication": 1, "librdkafka": {}}
        yield _settings(request, url=address, **own)


def _settings(request: ReplayRequest, **kafka: Any) -> Settings:
    """The asked settings without a ticker, with the asked stages as the pipeline, and with this broker."""
    asked, worker = request.settings, request.settings.worker
    checkpoint_s = max(worker.checkpoint_s, CHECKPOINT_S) if request.speed is None else worker.checkpoint_s
    change = msgspec.structs.replace
    return change(
        asked,
        worker=change(worker, ticker=False, pipeline=worker.stages, checkpoint_s=checkpoint_s),
        kafka=change(asked.kafka, **kafka),
    )


@contextmanager
def _own_topics(settings: Settings) -> Iterator[None]:
    """Topics that keep records of any age, for as long as the context lasts."""
    admin = topic_admin(settings)
    plans = plan_topics(settings.kafka.max_message_bytes, keep_forever=True)
    admin.ensure(plans, settings.kafka.partitions, settings.kafka.replication)
    try:
        yield
    finally:
        if settings.kafka.prefix:
            admin.delete(admin.existing())


@dataclass(slots=True)
class _Replay:
    """One replay, with everything at hand."""

    request: ReplayRequest
    settings: Settings
    cast: Cast
    running: Services

    def run(self) -> ReplayOutcome:
        kafka = self.settings.kafka
        stages = pipeline(self.settings.worker.pipeline, kafka.partitions, self.cast.stages)
        publisher = Publisher(kafka, stages.raw, self.request.recording.files)
        progress = PipelineProgress(kafka, stages)

        standstill = Standstill(progress, self.running)

        def meanwhile() -> None:
            self.cast.meanwhile(self.running, progress.handled_us)
            self.running.check()
            standstill.look()

        try:
            feeding = Feeding(self.request, self.settings, stages, publisher, progress, meanwhile)
            feeding.run()
            while not progress.over:
                progress.poll(POLL_S)
                meanwhile()
        finally:
            progress.close()
        ends = publisher.ends | progress.ends
        self._wait_for_sinks(ends)
        self.running.stop()
        return self._outcome(feeding.lines, publisher, progress.ends)

    def _wait_for_sinks(self, ends: Mapping[Spot, int]) -> None:
        import time

        def spend(seconds: float) -> None:
            self.running.check()
            time.sleep(seconds)

        for sink in self.cast.sinks:
            wait_until_read(self.settings.kafka, sink, ends, spend)

    def _outcome(self, lines: int, publisher: Publisher, written: Mapping[Spot, int]) -> ReplayOutcome:
        recording = self.request.recording
        outcome = ReplayOutcome(
            updates=read_updates(self.settings.kafka),
            messages=lines,
            span_us=(recording.manifest.start_us, recording.manifest.end_us),
            skipped=recording.skipped,
        )
        outcome.emitted.update(count_written(written))
        for letter in read_dead_letters(self.settings.kafka, sorted({topic for topic, _ in publisher.ends})):
            number = publisher.line_at(letter.topic, letter.partition, letter.offset)
            outcome.refuse(recording.place(letter.topic, number), refusal_of(letter))
        return outcome
