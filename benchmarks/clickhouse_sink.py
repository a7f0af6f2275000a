"""How fast is the ClickHouse sink, beside a bare Arrow insert of the same rows? Rows per second and ratios, in one run.

    python benchmarks/clickhouse_sink.py [--engine server] [--messages 40000] [--rounds 3] [--kafka]

The messages are those of a bundled recording, repeated under new boots: probe results, RNIC counters, switch queues,
bursts and flow tables in their natural mix. *Bare* inserts tables that were made before, as large as the sink's
batches. *Sink* starts from the bytes of the records and does everything but ask Kafka: decode, check, rows, insert,
offsets. *Writer* is the part of it after decoding. With ``--kafka`` the same goes through the embedded broker.

``--engine server`` puts the engine into a process of its own behind HTTP, as a ClickHouse server is: the sink decodes
while the server inserts. ``embedded`` has both in one process, one after the other. Best of the rounds, in which the
ways take turns. The ratio of processor time is of this process only; it depends less on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from skeletonhunter import migrations
from skeletonhunter.embedded.broker import SESSION_S, embedded_broker
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.settings import ClickHouseSettings, KafkaSettings, Settings
from skeletonhunter.sinks.clickhouse import ClickHouseWriter
from skeletonhunter.sinks.clickhouse_sink import CHUNK, GROUP, ClickHouseSink
from skeletonhunter.sinks.connection import connect
from skeletonhunter.sinks.intake import Intake
from skeletonhunter.sinks.kafka_source import KafkaSource, Reading
from skeletonhunter.sinks.pending import Pending
from skeletonhunter.sinks.received import Received
from skeletonhunter.sinks.rows import STORED_TOPICS, Frames
from streams.records import Record
from streams.topic_admin import TopicAdmin, plan_topics

CHECKOUT = Path(__file__).parents[1]
RECORDING = CHECKOUT / "examples/incidents/stale-flow-offload"


class MemorySource:
    """Stands where Kafka stands: hands out records, takes offsets; when all are committed it stops the sink."""

    def __init__(self, records: list[Record], stop: threading.Event) -> None:
        self.records = records
        self.stop = stop
        self.at = 0
        self.on_lost: Callable[[], None] = lambda: None

    def read(self, most: int, _timeout_s: float) -> Reading:
        """The next records."""
        part = self.records[self.at : self.at + most]
        self.at += len(part)
        if not part:
            self.stop.set()
        return Reading(part, {(record.topic, record.partition): record.offset + 1 for record in part})

    def hold(self, wait: Callable[[float], bool]) -> None:
        """Waits."""
        while not wait(0.1):
            pass

    def commit(self, positions: Any) -> None:
        """Nothing to move."""


def records_of(path: Path, number: int) -> list[Record]:
    """``number`` records; each pass over the recording under another boot, so that no row replaces another."""
    with Recording(path) as recording:
        lines = [line for line in recording.lines() if line.topic in STORED_TOPICS]
    records: list[Record] = []
    while len(records) < number:
        boot = json.dumps(f"round-{len(records)}").encode()
        for line in lines[: number - len(records)]:
            raw = line.raw.replace(b'"boot":"', b'"boot":' + boot[:-1] + b"-", 1)
            key = None if line.key is None else line.key.encode()
            records.append(Record(line.topic, 0, len(records), key, raw, line.arrival_us))
    return records


def decoded(records: list[Record]) -> list[tuple[str, list[Received]]]:
    """The messages, as the sink gets them chunk by chunk."""
    intake = Intake()
    chunks = [records[start : start + CHUNK] for start in range(0, len(records), CHUNK)]
    return [part for chunk in chunks for part in intake.read(chunk).received.items()]


@contextmanager
def engine(kind: str, folder: str) -> Iterator[str]:
    """The DSN of a ClickHouse of that kind."""
    path = f"{folder}/db"
    if kind == "embedded":
        yield f"chdb://{path}"
        return
    command = [sys.executable, "-m", "tests.integration.clickhouse.http_front", path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT) as server:
        assert server.stdin is not None and server.stdout is not None
        yield f"clickhouse://127.0.0.1:{int(server.stdout.readline())}/skeletonhunter"
        server.stdin.close()


def batches_of(records: list[Record], writer: ClickHouseWriter, rows: int) -> list[Frames]:
    """The tables that the sink would insert, batch by batch."""
    intake, pending, batches = Intake(), Pending(), []
    for start in range(0, len(records), CHUNK):
        for topic, received in intake.read(records[start : start + CHUNK]).received.items():
            pending.add(writer.rows(topic, received)[0])
        if pending.rows >= rows:
            batches.append(pending.merged())
            pending = Pending()
    return [*batches, pending.merged()]


class Bench:
    """One database; each measurement starts with empty tables."""

    def __init__(self, dsn: str) -> None:
        self.settings = Settings(clickhouse=ClickHouseSettings(dsn=dsn))
        self.client = connect(self.settings.clickhouse)
        migrations.apply(self.client, "skeletonhunter")
        self.writer = ClickHouseWriter(self.client, "skeletonhunter")

    def empty(self) -> None:
        """Forgets all rows."""
        tables = "SELECT name FROM system.tables WHERE database = 'skeletonhunter' AND engine LIKE '%MergeTree'"
        for (name,) in self.client.query(tables).result_rows:
            if name != "schema_migrations":
                self.client.command(f"TRUNCATE TABLE skeletonhunter.{name}")

    def bare(self, batches: list[Frames]) -> float:
        """Seconds to insert ready tables."""
        arrow = [{name: frame.to_arrow() for name, frame in batch.items()} for batch in batches]
        began_s = time.perf_counter()
        for batch in arrow:
            for name, table in batch.items():
                self.client.insert_arrow(name, table, database="skeletonhunter")
        return time.perf_counter() - began_s

    def write(self, received: list[tuple[str, list[Received]]]) -> float:
        """Seconds from decoded messages to inserted rows."""
        began_s = time.perf_counter()
        pending = Pending()
        for topic, part in received:
            pending.add(self.writer.rows(topic, part)[0])
            if pending.rows >= self.settings.clickhouse.batch_rows:
                self.writer.insert(pending.merged())
                pending = Pending()
        self.writer.insert(pending.merged())
        return time.perf_counter() - began_s

    def sink(self, records: list[Record]) -> float:
        """Seconds from the bytes of the records to the last offset."""
        stop = threading.Event()
        source: Any = MemorySource(records, stop)
        began_s = time.perf_counter()
        counts = ClickHouseSink(source, self.settings, self.client, stop).run()
        assert counts.records == len(records)
        return time.perf_counter() - began_s

    def kafka(self, records: list[Record]) -> float:
        """Seconds from the first record read out of the embedded broker to the last offset committed."""
        with embedded_broker() as address:
            kafka = KafkaSettings(url=address, partitions=1, session_s=SESSION_S)
            TopicAdmin(address, "", {}).ensure(plan_topics(kafka.max_message_bytes, keep_forever=True), 1, 1)
            publish(address, records)
            stop = threading.Event()
            source = KafkaSource(kafka, GROUP, STORED_TOPICS)
            sink = ClickHouseSink(source, Settings(kafka, clickhouse=self.settings.clickhouse), self.client, stop)
            thread = threading.Thread(target=sink.run)
            thread.start()
            began_s = wait_for(lambda: sink.counts.records > 0)
            wait_for(lambda: sink.counts.records == len(records))
            stop.set()
            thread.join()
            source.close()
        return time.perf_counter() - began_s


def wait_for(condition: Callable[[], bool]) -> float:
    """Waits until the condition holds; when it did."""
    while not condition():
        time.sleep(0.002)
    return time.perf_counter()


def publish(address: str, records: list[Record]) -> None:
    """Writes the records to the broker."""
    producer = Producer({"bootstrap.servers": address, "queue.buffering.max.messages": 1_000_000})
    for record in records:
        producer.produce(record.topic, record.value, key=record.key, timestamp=record.arrival_us // 1000)
    producer.flush()


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", choices=("embedded", "server"), default="embedded")
    parser.add_argument("--kafka", action="store_true", help="measure through the embedded broker too")
    arguments = parser.parse_args()
    records = records_of(RECORDING, arguments.messages)
    with tempfile.TemporaryDirectory() as folder, engine(arguments.engine, folder) as dsn:
        bench = Bench(dsn)
        batches = batches_of(records, bench.writer, bench.settings.clickhouse.batch_rows)
        rows = sum(frame.height for batch in batches for frame in batch.values())
        received = decoded(records)
        ways: dict[str, Callable[[], float]] = {
            "bare": lambda: bench.bare(batches),
            "writer": lambda: bench.write(received),
            "sink": lambda: bench.sink(records),
        }
        if arguments.kafka:
            ways["kafka"] = lambda: bench.kafka(records)
        taken = best_of(arguments.rounds, bench, ways)
        bench.client.close()
    bare = taken["bare"]
    result = {
        way: {
            "rows_per_s": round(rows / wall_s),
            "of_bare": round(bare[0] / wall_s, 2),
            "of_bare_by_processor_time": round(bare[1] / busy_s, 2),
        }
        for way, (wall_s, busy_s) in taken.items()
    }
    print(json.dumps({"messages": len(records), "rows": rows} | result, indent=2))


def best_of(rounds: int, bench: Bench, ways: dict[str, Callable[[], float]]) -> dict[str, tuple[float, float]]:
    """The least seconds of wall and of processor time of each way; the ways take turns."""
    taken = {way: (float("inf"), float("inf")) for way in ways}
    for _ in range(rounds):
        for way, measure in ways.items():
            bench.empty()
            began_s = time.process_time()
            wall_s = measure()
            busy_s = time.process_time() - began_s
            taken[way] = (min(taken[way][0], wall_s), min(taken[way][1], busy_s))
    return taken


if __name__ == "__main__":
    main()
