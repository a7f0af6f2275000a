"""The whole system while something is done to it: workers, sink and alert sender, started again when they end.

A program that ends is started again a second later, as compose, Kubernetes and systemd do; how often that was needed is
part of what is found. Disturbances are scripts: generators that yield what they wait for (``Play.reached``,
``Play.passed``, ``Play.back``) and act in between. Several may run at once.
"""

from __future__ import annotations

import secrets
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from schemas.instants import SECOND_US
from skeletonhunter.embedded.processes import Child
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.kafka_feeding import Feeding
from skeletonhunter.replaying.kafka_progress import PipelineProgress
from skeletonhunter.replaying.kafka_publisher import Publisher
from skeletonhunter.replaying.kafka_services import Program, Services, kept_by, skeletonhunter
from skeletonhunter.replaying.kafka_sinks import Sink
from skeletonhunter.replaying.listener import AlertListener
from skeletonhunter.replaying.request import ReplayRequest
from skeletonhunter.settings import AlertSettings, ClickHouseSettings, KafkaSettings, Settings, WorkerSettings
from skeletonhunter.sinks.alerts import TOPIC, alert_groups
from skeletonhunter.sinks.clickhouse_sink import GROUP
from skeletonhunter.sinks.rows import STORED_TOPICS
from skeletonhunter.working import topic_admin
from streams.offsets import Spot
from streams.stages import STAGES
from streams.topic_admin import TopicError, plan_topics
from streams.topology import pipeline
from tests.chaos.nodes import Node
from tests.chaos.recovery import Watch, watch_sink

PARTITIONS = 2
SESSION_S = 6.0
AGAIN_S = 1.0
END_S = 120.0
MOST_RESTARTS = 30
POLL_S = 0.05
PATIENCE_S = 600.0

Condition = Callable[[], bool]
Script = Generator[Condition, None, None]


class Supervised(Services):
    """Programs that are started again when they end by themselves; ``ended`` says which did, and their last words."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.programs: dict[str, Program] = {}
        self.ended: list[tuple[str, int, str]] = []
        self._due_s: dict[str, float] = {}

    def start(self, program: Program) -> Child:
        """Starts a program that is to be kept running, or starts it again."""
        self.programs[program.name] = program
        return super().start(program)

    def check(self) -> None:
        """Starts again what has ended; fails when that does not help."""
        now_s = time.monotonic()
        for name, child in list(self.children.items()):
            code = child.ended()
            if code is None:
                continue
            due_s = self._due_s.get(name)
            if due_s is None:
                self.ended.append((name, code, self.tail(name)))
                assert len(self.ended) <= MOST_RESTARTS, self.ended[-1]
                self._due_s[name] = now_s + AGAIN_S
            elif now_s >= due_s:
                del self._due_s[name]
                self.start(self.programs[name])

    def heard(self) -> dict[str, str]:
        """What each program logged."""
        return {name: (self.folder / f"{name}.log").read_text(errors="replace") for name in self.programs}

    def pause(self, name: str, is_paused: bool) -> None:
        """Stops a program from running without ending it, or lets it go on."""
        self.children[name].process.send_signal(signal.SIGSTOP if is_paused else signal.SIGCONT)

    def end(self) -> None:
        """Asks all to end, and is patient: on a busy machine a worker takes its time, and nothing depends on it now."""
        for child in self.children.values():
            child.ask()
        for child in self.children.values():
            child.wait(END_S)
        self.children.clear()

    def kill_one(self, name: str) -> None:
        """``kill -9``, and started again at once: the longest wait is for Kafka to give the old one up."""
        self.children[name].kill()
        self.start(self.programs[name])


def supervised(settings: Settings, programs: Sequence[Program]) -> AbstractContextManager[Supervised]:
    """Programs with these settings; whatever still runs at the end is killed."""
    return kept_by(Supervised, settings, programs)


def workers(number: int) -> list[Program]:
    """So many workers with all stages, which share the partitions."""
    return [Program(f"work-{n}", skeletonhunter("work").command) for n in range(1, number + 1)]


def settings_for(broker: str, clickhouse: str, listener: AlertListener, folder: Path) -> Settings:
    """Settings under a prefix and a database of their own."""
    own = secrets.token_hex(4)
    return Settings(
        kafka=KafkaSettings(
            url=broker, prefix=f"chaos-{own}-", partitions=PARTITIONS, session_s=SESSION_S, fetch_wait_ms=100
        ),
        worker=WorkerSettings(data_dir=str(folder / f"tables-{own}"), ticker=False, checkpoint_s=10.0),
        clickhouse=ClickHouseSettings(dsn=f"clickhouse://{clickhouse}", database=f"chaos_{own}"),
        alerts=AlertSettings(webhooks=(listener.url,), allow_networks=("127.0.0.0/8",)),
    )


@dataclass
class Play:
    """One run of the story through the installation, with its disturbances."""

    recording: Recording
    settings: Settings
    running: Supervised
    kafka: Node
    clickhouse: Node
    speed: float | None = 15.0
    scripts: list[Script] = field(default_factory=list)
    watches: list[Watch] = field(default_factory=list)
    _waiting: list[tuple[Script, Condition]] = field(default_factory=list)

    def __post_init__(self) -> None:
        kafka = self.settings.kafka
        stages = pipeline(self.settings.worker.pipeline, kafka.partitions, STAGES)
        self.publisher = Publisher(kafka, stages.raw, self.recording.files)
        self.progress = PipelineProgress(kafka, stages)
        request = ReplayRequest(self.recording, self.settings, self.speed)
        self.feeding = Feeding(request, self.settings, stages, self.publisher, self.progress, self.turn)
        self.sinks = [
            Sink(skeletonhunter("sink"), (GROUP,), STORED_TOPICS),
            Sink(skeletonhunter("alert"), alert_groups(self.settings.alerts), (TOPIC,)),
        ]

    def run(self) -> None:
        """All of it, until the sinks have everything and the scripts are over."""
        self._waiting = [(script, lambda: True) for script in self.scripts]
        try:
            self.feeding.run()
            self.until(lambda: self.progress.over, "the final tick comes out of all stages")
            self.until(lambda: not self._waiting, "the disturbances are over")
            ends = self.publisher.ends | self.progress.ends
            for sink in self.sinks:
                watch = watch_sink(self.settings.kafka, sink, ends)
                self.until(watch.is_over, f"{sink.program.name} has read everything")
            self.until(lambda: all(watch.is_over() for watch in self.watches), "everything that was watched is over")
        finally:
            self.progress.close()

    def until(self, condition: Condition, what: str) -> None:
        """Waits; fails with what was said last when it takes too long."""
        ends_s = time.monotonic() + PATIENCE_S
        while not condition():
            said = {name: self.running.tail(name) for name in self.running.programs}
            assert time.monotonic() < ends_s, f"waited {PATIENCE_S:.0f} s in vain until {what}: {said}"
            self.progress.poll(POLL_S)
            self.turn()

    def turn(self) -> None:
        """Looks after the programs, the scripts and the watches."""
        self.running.check()
        for watch in self.watches:
            watch.is_over()
        waiting, self._waiting = self._waiting, []
        for script, condition in waiting:
            further = self._go_on(script) if condition() else condition
            if further is not None:
                self._waiting.append((script, further))

    def _go_on(self, script: Script) -> Condition | None:
        return next(script, None)

    def reached(self, second: float) -> Condition:
        """The pipeline has come to that second of the recording."""
        at_us = self.recording.manifest.start_us + round(second * 1e6)
        return lambda: self.progress.handled_us >= at_us

    def sent(self, second: float) -> Condition:
        """All up to that second of the recording is in Kafka, and nothing later is."""
        at_us = self.recording.manifest.start_us + round(second * 1e6)
        return lambda: (self.feeding._clock.now_us or 0) >= at_us

    def catch_up(self) -> None:
        """Waits, without feeding anything, until the pipeline has handled all seconds that were sent whole."""
        self.publisher._flush()
        ends_s = time.monotonic() + PATIENCE_S
        while self.progress.handled_us < self._ticked_us - SECOND_US:  # a script acts before the tick of its second
            assert time.monotonic() < ends_s, self.running.tail("work-1")
            self.progress.poll(POLL_S)
            self.running.check()

    @property
    def _ticked_us(self) -> int:
        return (self.feeding._clock.now_us or 0) // SECOND_US * SECOND_US

    @staticmethod
    def passed(seconds: float) -> Condition:
        """So much time has passed from now on."""
        ends_s = time.monotonic() + seconds
        return lambda: time.monotonic() >= ends_s

    def outlast(self, seconds: float) -> None:
        """Waits without feeding anything, as agents do that can't reach Kafka; programs are looked after."""
        ends_s = time.monotonic() + seconds
        while time.monotonic() < ends_s:
            self.running.check()
            time.sleep(POLL_S)

    def watch(self, name: str) -> None:
        """From now on it is measured how long ``name`` takes to handle all that is in Kafka now."""
        if name.startswith("work"):
            ticked_us = self._ticked_us
            self.watches.append(Watch(name, lambda: self.progress.handled_us >= ticked_us))
            return
        (sink,) = [sink for sink in self.sinks if sink.program.name == name]
        self.watches.append(watch_sink(self.settings.kafka, sink, self._ends(sink.topics)))

    def _ends(self, topics: Sequence[str]) -> dict[Spot, int]:
        """The ends of logs, asked of a broker that may have just come back."""
        spots = [(topic, number) for topic in topics for number in range(PARTITIONS)]
        ends_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                return topic_admin(self.settings).ends(spots)
            except TopicError:
                assert time.monotonic() < ends_s
                self.outlast(0.2)


@contextmanager
def topics_of(settings: Settings) -> Iterator[None]:
    """Topics that keep records of any age, until the block ends."""
    admin = topic_admin(settings)
    admin.ensure(plan_topics(settings.kafka.max_message_bytes, keep_forever=True), settings.kafka.partitions, 1)
    yield
    admin.delete(admin.existing())
