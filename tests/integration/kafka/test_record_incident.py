"""A live incident is cut out of Kafka with lead and tail, and its replay says the same; what was cut off goes on."""

from __future__ import annotations

import secrets
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka import Producer
from typer.testing import CliRunner, Result

from schemas.codec import encode
from schemas.diagnosis import Incident
from schemas.topics import topics
from skeletonhunter.cli import InputError, build_cli
from skeletonhunter.recordings.anonymising import Anonymity, Rewriter
from skeletonhunter.recordings.cut import Cut, cut_recording
from skeletonhunter.recordings.manifest import RecordingError
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.kafka_publisher import Publisher
from skeletonhunter.settings import KafkaSettings
from streams.records import arrival_headers
from streams.topic_admin import TopicAdmin, plan_topics
from tests.unit.recordings.test_anonymising import KEY, plain, pseudonyms, told

pytestmark = pytest.mark.kafka

BUNDLED = Path(__file__).parents[3] / "examples/incidents/stale-flow-offload"
RAW = ("agent-health", "endpoint-map", "fabric-map", "flow-tables", "job-progress", "probe-results", "rnic-bursts")
RAW += ("rnic-counters", "switch-queues")


@dataclass(frozen=True)
class Live:
    """A broker on which an incident happened: its raw topics and what the stages said of it."""

    settings: KafkaSettings
    updates: list[Incident]

    def run(self, *words: object) -> Result:
        """The command ``record`` on this broker."""
        arguments = ["record", "--kafka", self.settings.url, "--prefix", self.settings.prefix, *map(str, words)]
        return CliRunner().invoke(build_cli("record"), arguments)


@pytest.fixture(scope="module")
def live(broker: str) -> Live:
    settings = KafkaSettings(url=broker, prefix=f"live-{secrets.token_hex(4)}-", partitions=2)
    TopicAdmin(settings.url, settings.prefix, {}).ensure(
        plan_topics(settings.max_message_bytes, keep_forever=True), settings.partitions, 1
    )
    with Recording(BUNDLED) as recording:
        publisher = Publisher(settings, (), recording.files)
        for line in recording.lines():
            publisher.send(line)
        publisher.tick(recording.manifest.end_us, final=True)
    updates = told(BUNDLED)
    producer = Producer({"bootstrap.servers": broker})
    for each in updates:
        name, headers = f"{settings.prefix}incidents", arrival_headers(each.t_us)
        producer.produce(name, encode("incidents", each), key=each.incident, headers=headers, partition=0)
    assert producer.flush(30) == 0
    return Live(settings, updates)


def lines_of(path: Path) -> list[tuple[str, str | None, int, bytes]]:
    with Recording(path) as recording:
        return sorted((line.topic, line.key, line.arrival_us, line.raw) for line in recording.lines())


def test_a_replay_of_a_recorded_incident_says_the_same_byte_for_byte(live: Live, tmp_path: Path) -> None:
    name = live.updates[0].incident
    answer = live.run("-o", tmp_path / "cut", "--incident", name, "--lead", 90, "--tail", 5, "--json")
    assert answer.exit_code == 0, answer.output
    manifest = orjson.loads(answer.stdout)
    last = live.updates[-1]
    assert last.resolved_us is not None
    assert manifest["start_us"] == live.updates[0].onset_us - 90_000_000
    assert last.t_us - 1_000_000 < manifest["end_us"] <= max(last.resolved_us, last.t_us) + 5_000_000
    again = told(tmp_path / "cut")
    assert [encode("incidents", each) for each in again] == [encode("incidents", each) for each in live.updates]


def test_with_other_names_it_is_the_same_up_to_names(live: Live, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(KEY + b"\n")
    words = ["--incident", live.updates[0].incident, "--lead", 90, "--tail", 5]
    answer = live.run("-o", tmp_path / "other", *words, "--anonymise", "--key-file", tmp_path / "key", "--shift-times")
    assert answer.exit_code == 0, answer.output
    assert [path.name for path in tmp_path.iterdir() if path.name != "key"] == ["other"]
    with Recording(BUNDLED) as recording:
        rewriter = Rewriter(pseudonyms(recording, Anonymity(KEY)), shift_times=True)
    expected: list[Any] = [rewriter.value(orjson.loads(encode("incidents", each))) for each in live.updates]
    found = [orjson.loads(encode("incidents", each)) for each in told(tmp_path / "other")]
    assert plain(found) == plain(expected)


def test_a_recording_that_was_cut_off_goes_on_where_it_ended(live: Live, tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def ends_after(most: int) -> Callable[[int], None]:
        def progress(number: int) -> None:
            if number >= most:
                raise Enough

        return progress

    cut = Cut(RAW, 2**52)
    cut_recording(live.settings, cut, tmp_path / "whole", lambda _: None)
    for _ in range(2):
        with pytest.raises(Enough):
            cut_recording(live.settings, cut, tmp_path / "parts", ends_after(10_000))
    seen: list[int] = []
    cut_recording(live.settings, cut, tmp_path / "parts", seen.append)
    whole = lines_of(tmp_path / "whole")
    assert lines_of(tmp_path / "parts") == whole
    assert max(seen) <= len(whole) - 20_000 + 2 * 2_000
    assert not (tmp_path / "parts.partial").exists()


def test_after_a_kill_the_same_command_goes_on(live: Live, tmp_path: Path) -> None:
    path = tmp_path / "killed"
    program = [sys.executable, "-c", "from skeletonhunter.cli import main; main()", "record", "-o", str(path)]
    program += ["--kafka", live.settings.url, "--prefix", live.settings.prefix, "--to", str(2**52)]
    with subprocess.Popen(program, stdout=subprocess.DEVNULL) as running:
        for _ in _until(lambda: (tmp_path / "killed.partial/state.json").exists() or running.poll() is not None):
            pass
        running.send_signal(signal.SIGKILL)
    assert (tmp_path / "killed.partial/state.json").exists()
    other = live.run("-o", path, "--to", 2**52, "--job", "job-9504")
    assert "holds the beginning of another recording" in str(other.exception)
    assert live.run("-o", path, "--to", 2**52).exit_code == 0
    expected = [line for line in lines_of(BUNDLED) if line[0] in topics()]
    assert lines_of(path) == expected


def _until(condition: Callable[[], bool]) -> Iterator[None]:
    pause = threading.Event()
    for _ in range(1200):
        if condition():
            return
        pause.wait(0.05)
        yield
    raise AssertionError("waited 60 s in vain")


def test_what_can_not_be_recorded_is_said_in_one_sentence(live: Live, tmp_path: Path) -> None:
    missing = live.run("-o", tmp_path / "none", "--incident", "incident-0")
    assert isinstance(missing.exception, InputError)
    assert str(missing.exception).endswith(f"topic {live.settings.prefix}incidents tells no 'incident-0'")
    assert live.run("-o", tmp_path / "none", "--incident", "x", "--from", "0").exit_code == 2
    assert live.run("-o", tmp_path / "none", "--shift-times").exit_code == 2
    (tmp_path / "taken").mkdir()
    shutil.copy(__file__, tmp_path / "taken")
    with pytest.raises(RecordingError, match="is not empty, a recording needs a new place"):
        cut_recording(live.settings, Cut(RAW, 2**52), tmp_path / "taken", lambda _: None)
    assert (tmp_path / "taken").exists() and not (tmp_path / "taken.partial").exists()
