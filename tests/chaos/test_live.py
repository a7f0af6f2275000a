"""A live system: agents that spool, and the worker's own ticker. What an outage delays must count when it comes.

In a replay a tick comes every second whatever happens; here none comes while Kafka, or the worker that ticks, is away.
The story happens in real time, sent through the agents' own publisher, with instants of today; what the local engine
says of the same messages is compared. Agents go on until that is done, since their silence would be told too.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from collectors.kafka_producer import KafkaProducer
from collectors.observing import Now
from collectors.publishing import Publisher
from collectors.spool import Spool
from collectors.stamping import Stamped
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.recordings.writer import RecordingWriter
from skeletonhunter.replaying.kafka_progress import PipelineProgress
from skeletonhunter.replaying.kafka_services import skeletonhunter
from skeletonhunter.replaying.listener import AlertListener
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.settings import Settings
from streams.topology import pipeline
from tests.chaos.conftest import Theatre
from tests.chaos.installation import Supervised, settings_for, supervised, topics_of, workers
from tests.chaos.nodes import Node
from tests.chaos.outcome import Outcome, differences, outcome_of
from tests.chaos.story import write_story

pytestmark = pytest.mark.chaos

INSTANT = re.compile(rb"\b1[6-9]\d{14}\b")
AT_S = 62.0
JUDGED_S, WAITED_S = 190.0, 200.0
"""All that is said up to this second of the story is compared, when the pipeline has come to that one."""
SECONDS = 300
PATIENCE_S = 300.0
MOST_LATE_S = 2.0

Disturb = Callable[[float, Supervised], None]
"""Is told again and again which second of the story it is."""


def now_us() -> int:
    """The wall clock."""
    return time.time_ns() // 1000


def lines_today(story: Path, begin_us: int) -> Iterator[tuple[int, Stamped]]:
    """When which message is sent if the story begins then."""
    with Recording(story) as recording:
        shift_us = begin_us - recording.manifest.start_us
        for line in recording.lines():
            raw = INSTANT.sub(lambda found: b"%d" % (int(found[0]) + shift_us), line.raw)
            yield line.arrival_us + shift_us, Stamped(line.topic, line.key or "", raw)


def write_today(story: Path, folder: Path, begin_us: int) -> Path:
    """The story as it happened that day."""
    with Recording(story) as recording, RecordingWriter(folder, level=1) as writer:
        for at_us, stamped in lines_today(story, begin_us):
            writer.write_raw(stamped.topic, stamped.key, at_us, stamped.value)
        shift_us, about = begin_us - recording.manifest.start_us, recording.manifest
        writer.finish(msgspec.structs.replace(about, start_us=begin_us, end_us=about.end_us + shift_us))
    return folder


def live(theatre: Theatre, story: Path, folder: Path, disturb: Disturb) -> tuple[Outcome, int]:
    """The story in real time; also returns when it began."""
    with ExitStack() as stack:
        listener = stack.enter_context(AlertListener().listening())
        replayed = settings_for(theatre.kafka.address, theatre.clickhouse.address, listener, folder)
        settings = msgspec.structs.replace(replayed, worker=msgspec.structs.replace(replayed.worker, ticker=True))
        stack.enter_context(topics_of(settings))
        cast = [*workers(1), skeletonhunter("sink", "--migrate"), skeletonhunter("alert")]
        running = stack.enter_context(supervised(settings, cast))
        _until(running, lambda: "at work on" in running.heard()["work-1"])
        begin_us, late_s = _send(story, settings, folder, running, disturb)
        theatre.say(late_s=round(late_s, 2), ended=[(name, code) for name, code, _ in running.ended])
        running.end()
        theatre.heard = running.heard()
        return outcome_of(settings, listener), begin_us


def _until(running: Supervised, condition: Callable[[], bool]) -> None:
    ends_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < ends_s, running.tail("work-1")
        running.check()
        time.sleep(0.1)


def _send(story: Path, settings: Settings, folder: Path, running: Supervised, disturb: Disturb) -> tuple[int, float]:
    """Sends the story in time until the pipeline has handled what is judged.

    Returns when it began, and by how many seconds a message was late at most because the machine was busy.
    """
    producer = KafkaProducer(settings.kafka.url, settings.kafka.prefix, {})
    publisher = Publisher(producer, Spool(folder / "spool", 100_000_000))
    progress = PipelineProgress(settings.kafka, pipeline(settings.worker.pipeline, settings.kafka.partitions))
    begin_us = now_us()

    def is_judged() -> bool:
        return progress.handled_us >= begin_us + round(WAITED_S * 1e6)

    def pass_until(at_us: int) -> None:
        while now_us() < at_us and not is_judged():
            publisher.step(Now(now_us(), time.monotonic_ns() // 1000))
            running.check()
            disturb((now_us() - begin_us) / 1e6, running)
            progress.poll(0.01)

    late_us = 0
    try:
        for at_us, stamped in lines_today(story, begin_us):
            pass_until(at_us)
            if is_judged():
                break
            late_us = max(late_us, now_us() - at_us)
            publisher.publish(stamped, Now(now_us(), time.monotonic_ns() // 1000))
    finally:
        progress.close()
    assert is_judged(), f"time has not come to second {WAITED_S:.0f} in {SECONDS} s: {running.tail('work-1')}"
    assert publisher.close(10.0) == 0
    assert publisher.dropped == 0
    return begin_us, late_us / 1e6


class Once:
    """Does something at each of some seconds, once."""

    def __init__(self, *todo: tuple[float, Callable[[Supervised], None]]) -> None:
        self.todo = list(todo)

    def __call__(self, second: float, running: Supervised) -> None:
        if self.todo and second >= self.todo[0][0]:
            self.todo.pop(0)[1](running)


def kafka_away(kafka: Node, seconds: float) -> Once:
    """Kafka ends, and is started again after a while."""
    return Once((AT_S, lambda _: kafka.kill()), (AT_S + seconds, lambda _: kafka.launch()))


@pytest.mark.usefixtures("long_form")
@pytest.mark.parametrize("what", ["nothing", "kafka-away", "ticker-killed"])
def test_live(theatre: Theatre, tmp_path: Path, what: str) -> None:
    disturbances: dict[str, Disturb] = {
        "nothing": Once(),
        "kafka-away": kafka_away(theatre.kafka, 60.0),
        "ticker-killed": Once((AT_S, lambda running: running.kill_one("work-1"))),
    }
    story = write_story(tmp_path / "story", SECONDS)
    found, begin_us = live(theatre, story, tmp_path, disturbances[what])
    theatre.say(repeated=found.repeated, load=round(os.getloadavg()[0], 1))
    if theatre.said["late_s"] > MOST_LATE_S:
        pytest.skip(
            f"chaos: the machine was too busy for a live system, a message was sent {theatre.said['late_s']} s late"
        )
    with Recording(write_today(story, tmp_path / "today", begin_us)) as recording:
        expected = LocalReplay(Settings().parameters).run(recording).updates
    until_us = begin_us + round(JUDGED_S * 1e6)
    both = [[update for update in updates if update.t_us <= until_us] for updates in (found.updates, expected)]
    theatre.say(states=[len(updates) for updates in both])
    assert len({incident.kind for incident in both[1]}) > 1
    assert list(differences(*both)) == []
