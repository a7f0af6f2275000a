"""From Kafka into ClickHouse: all arrives, offsets move after the effect, and nothing that happens changes that."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from clickhouse_connect.driver.exceptions import DatabaseError

from schemas import codec, telemetry
from schemas.control import DeadLetter
from skeletonhunter.reference.examples import examples
from skeletonhunter.settings import ClickHouseSettings, Settings, WorkerSettings
from skeletonhunter.sinks.clickhouse_sink import GROUP, ClickHouseSink, SinkCounts
from skeletonhunter.sinks.connection import connect
from skeletonhunter.sinks.kafka_source import KafkaSource
from skeletonhunter.sinks.rows import STORED_TOPICS, frames
from streams.dead_letters import TooManyDeadLettersError
from streams.records import Record
from streams.stages import dead_letter_stage
from tests.integration.clickhouse.asking import one
from tests.integration.clickhouse.http_front import serving
from tests.integration.clickhouse.kafka import Bench, broker, until
from tests.unit.sinks.messages import T0_US, envelope_of, received_examples

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

pytestmark = [pytest.mark.clickhouse, pytest.mark.kafka]

PROGRAM = [sys.executable, "-c", "from skeletonhunter.cli import main; main()"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with broker() as found:
        yield found


def step(seq: int, job: str = "job-1") -> Record:
    value = telemetry.JobProgress(**envelope_of("job-progress", seq=seq, job=job), step=seq, step_s=1.5)
    return Record("job-progress", 0, 0, job.encode(), codec.encode("job-progress", value), T0_US)


def example_records() -> list[Record]:
    """All examples, valid and invalid, of all topics that have a table."""
    return [
        Record(topic, 0, 0, None if e.key is None else e.key.encode(), bytes(e.value), e.arrival_us)
        for topic in STORED_TOPICS
        for e in examples()[topic].values()
    ]


@contextmanager
def sinking(bench: Bench, client: Any, database: str, **clickhouse: Any) -> Iterator[ClickHouseSink]:
    """A sink at work in a thread; it is stopped, and must end well, when the block ends."""
    settings = Settings(
        kafka=bench.settings, clickhouse=ClickHouseSettings(database=database, batch_s=0.2, **clickhouse)
    )
    source = KafkaSource(settings.kafka, GROUP, STORED_TOPICS)
    sink = ClickHouseSink(source, settings, client, threading.Event())
    ended: list[SinkCounts] = []
    thread = threading.Thread(target=lambda: ended.append(sink.run()))
    thread.start()
    try:
        yield sink
    finally:
        sink.stop.set()
        thread.join(30)
        source.close()
    assert ended == [sink.counts]


def caught_up(bench: Bench) -> bool:
    return bench.committed(GROUP, STORED_TOPICS) == bench.ends


def expected_rows() -> Counter[str]:
    rows: Counter[str] = Counter()
    for topic in STORED_TOPICS:
        for name, frame in frames(topic, received_examples(topic)).items():
            rows[name] += frame.height
    return rows


def test_examples_of_all_topics_arrive_and_bad_ones_are_reported_once(
    address: str, client: Client, database: str
) -> None:
    bench = Bench(address)
    bench.publish([*example_records(), *example_records()])
    with sinking(bench, client, database) as sink:
        until(lambda: caught_up(bench), "all offsets are committed")
    for table, number in expected_rows().items():
        assert one(client, f"SELECT count() FROM {table} FINAL") == number, table
    bad = [(topic, e) for topic in STORED_TOPICS for e in examples()[topic].values() if not e.is_valid]
    ours = [(topic, e) for topic, e in bad if dead_letter_stage(topic) is None]
    assert sink.counts.dead_letters == 2 * len(ours) > 0
    assert sink.counts.left == 2 * (len(bad) - len(ours)) > 0
    found = client.query("SELECT topic, reason, count() FROM dead_letters FINAL GROUP BY ALL").result_rows
    assert {(topic, reason): number for topic, reason, number in found} == {
        each: 2 * number for each, number in Counter((topic, example.reason) for topic, example in bad).items()
    }
    for topic in {topic for topic, _ in bad}:
        reasons = Counter(e.reason for name, e in ours if name == topic for _ in range(2))
        letters = [msgspec.json.decode(raw, type=DeadLetter) for raw in bench.read(f"{topic}-dlq", reasons.total())]
        assert Counter(letter.reason for letter in letters) == reasons
        assert {letter.topic for letter in letters} <= {topic}


def test_when_told_to_stop_it_writes_what_it_has_read(address: str, client: Client, database: str) -> None:
    bench = Bench(address)
    bench.publish(step(seq, "job-stop") for seq in range(500))
    with sinking(bench, client, database, batch_rows=10**6) as sink:
        sink.settings = msgspec.structs.replace(sink.settings, batch_s=3600.0)
        until(lambda: sink.counts.records == 500, "all records have been read")
        assert bench.committed(GROUP, STORED_TOPICS) == {}
    assert caught_up(bench)
    assert one(client, "SELECT count() FROM job_progress FINAL WHERE job = 'job-stop'") == 500


@pytest.mark.slow
def test_two_sinks_share_the_work_and_one_takes_over_from_the_other(
    address: str, client: Client, database: str
) -> None:
    bench, numbers = Bench(address), count()

    def publish_some() -> None:
        for partition in (0, 1):
            bench.publish([step(next(numbers), "job-share") for _ in range(10)], partition)

    with sinking(bench, client, database) as staying:
        publish_some()
        until(lambda: caught_up(bench), "the first sink has written")
        other_client = connect(ClickHouseSettings(dsn=f"chdb://{client.path}"))  # type: ignore[attr-defined]
        with sinking(bench, other_client, database) as leaving:

            def is_shared() -> bool:
                publish_some()
                return leaving.counts.records > 0

            until(is_shared, "the second sink has its share")
            until(lambda: caught_up(bench), "both have written")
        other_client.close()
        publish_some()
        until(lambda: caught_up(bench), "the first has taken over")
    published = next(numbers)
    assert 0 < leaving.counts.records < published
    assert staying.counts.records >= published - leaving.counts.records
    assert one(client, "SELECT count() FROM job_progress FINAL WHERE job = 'job-share'") == published


def test_while_clickhouse_is_away_offsets_stay_and_nothing_is_lost(
    address: str, client: Client, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(address)
    bench.publish(step(seq, "job-away") for seq in range(50))
    path = client.path  # type: ignore[attr-defined]
    with ExitStack() as server:
        port = server.enter_context(serving(path))
        over_http = connect(ClickHouseSettings(dsn=f"clickhouse://127.0.0.1:{port}/{database}"))
        with sinking(bench, over_http, database, batch_rows=20) as sink:
            until(lambda: caught_up(bench), "the first rows are written")
            before = bench.committed(GROUP, STORED_TOPICS)
            server.close()
            bench.publish(step(seq, "job-away") for seq in range(50, 250))
            until(lambda: "ClickHouse is away (attempt 3)" in caplog.text, "the sink has tried three times")
            assert bench.committed(GROUP, STORED_TOPICS) == before
            server.enter_context(serving(path, port))
            until(lambda: caught_up(bench), "ClickHouse is back and has all rows")
        assert sink.counts.records == 250
        over_http.close()
    assert one(client, "SELECT count() FROM job_progress FINAL WHERE job = 'job-away'") == 250


def test_an_insert_that_clickhouse_refuses_ends_the_sink_and_offsets_stay(
    address: str, client: Client, database: str
) -> None:
    bench = Bench(address)
    bench.publish([step(1, "job-refused")])
    settings = Settings(kafka=bench.settings, clickhouse=ClickHouseSettings(database="no_such_database", batch_s=0.1))
    source = KafkaSource(settings.kafka, GROUP, STORED_TOPICS)
    with pytest.raises(DatabaseError, match="no_such_database"):
        ClickHouseSink(source, settings, client, threading.Event()).run()
    source.close()
    assert bench.committed(GROUP, STORED_TOPICS) == {}


def test_too_many_bad_records_stop_the_sink(address: str, client: Client, database: str) -> None:
    bench = Bench(address)
    bench.publish(Record("job-progress", 0, 0, b"job-1", b"no JSON", T0_US) for _ in range(20))
    settings = Settings(kafka=bench.settings, worker=WorkerSettings(dead_letters_per_minute=10))
    source = KafkaSource(settings.kafka, GROUP, STORED_TOPICS)
    with pytest.raises(TooManyDeadLettersError, match="expected at most 10"):
        ClickHouseSink(source, settings, client, threading.Event()).run()
    source.close()


def process(bench: Bench, folder: Path) -> subprocess.Popen[str]:
    """The program, on its own embedded database."""
    arguments = ["sink", "--kafka", bench.settings.url, "--clickhouse", f"chdb://{folder}/db", "--json"]
    environment = os.environ | {
        "SKELETONHUNTER_KAFKA__PREFIX": bench.settings.prefix,
        "SKELETONHUNTER_KAFKA__SESSION_S": str(bench.settings.session_s),
        "SKELETONHUNTER_CLICKHOUSE__BATCH_S": "0.1",
    }
    return subprocess.Popen([*PROGRAM, *arguments], env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_killed_sink_loses_and_repeats_nothing(address: str, tmp_path: Path) -> None:
    bench = Bench(address)
    bench.publish(step(seq) for seq in range(1000))
    first = process(bench, tmp_path)
    until(lambda: bool(bench.committed(GROUP, STORED_TOPICS)), "the first rows are written")
    bench.publish(step(seq) for seq in range(1000, 10_000))
    first.kill()
    first.communicate()
    second = process(bench, tmp_path)
    until(lambda: caught_up(bench), "all rows are written")
    second.send_signal(signal.SIGTERM)
    told, _ = second.communicate(timeout=30)
    assert second.returncode == 0
    assert 0 < json.loads(told)["records"] <= 10_000
    question = "SELECT count(), uniqExact(step) FROM skeletonhunter.job_progress FINAL"
    asked = (
        "from skeletonhunter.settings import ClickHouseSettings\n"
        "from skeletonhunter.sinks.connection import connect\n"
        f"client = connect(ClickHouseSettings(dsn='chdb://{tmp_path}/db'))\n"
        f"print(*client.query({question!r}).result_rows[0])"
    )
    answer = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["10000", "10000"]


def test_told_to_stop_while_clickhouse_is_away_it_ends_at_once(address: str, tmp_path: Path) -> None:
    bench = Bench(address)
    bench.publish([step(1)])
    arguments = ["sink", "--kafka", bench.settings.url, "--clickhouse", "clickhouse://u:hidden@127.0.0.1:1/x", "--json"]
    running = subprocess.Popen([*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    line = running.stderr.readline()
    assert "clickhouse://u:***@127.0.0.1:1/x: away, attempt 1" in line
    running.send_signal(signal.SIGTERM)
    told, complaints = running.communicate(timeout=20)
    assert running.returncode == 0
    assert json.loads(told)["records"] == 0
    assert "hidden" not in line + complaints
