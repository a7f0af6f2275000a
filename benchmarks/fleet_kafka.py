"""What does a fleet cost through a real broker: beside the least that could be, with more workers, and how late is it?

    .ci/apache-kafka.sh run .venv/bin/python benchmarks/fleet_kafka.py limits|scale|live [--rnics 1000] [--seconds 30]
        [--workers 1 2 4] [--slot-s 0.5] [-o RESULTS.json]

*limits*: processor time per record of reading the same records in four ways. *Raw*: confluent-kafka consumes them and
does nothing. *Empty*: a Faust agent that does nothing. *Silent*: our worker with engines that say nothing. *Real*: our
worker. *scale*: all records as fast as they can be published, read by so many workers together; wall time from the
first record to the last tick that has come out. *live*: records are published when their second has come; how late is
an incident, from the beginning of its fault to the moment when a consumer has its message? Lateness bound and slack (6
s) are in it. Without ``$SKELETONHUNTER_TEST_KAFKA`` the embedded broker is used.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from benchmarks.faust_path import child, processor_s, time_empty
from benchmarks.fleet_load import Fleet, fleet, messages, note
from probe_planner.parameters import PlannerParameters
from schemas.codec import decode
from schemas.diagnosis import Incident
from skeletonhunter.embedded.broker import FETCH_WAIT_MS, SESSION_S, embedded_broker
from skeletonhunter.embedded.processes import Child
from skeletonhunter.recordings.reader import Line
from skeletonhunter.replaying.kafka_progress import PipelineProgress
from skeletonhunter.replaying.kafka_publisher import Publisher
from skeletonhunter.replaying.kafka_services import as_toml
from skeletonhunter.settings import KafkaSettings, Settings, WorkerSettings
from skeletonhunter.working import topic_admin
from streams.stages import STAGES
from streams.topic_admin import plan_topics
from streams.topology import pipeline

SETTLE_S = 1.0


@dataclass
class Bench:
    """Topics of their own on a broker, and a publisher of the load."""

    settings: Settings
    load: Fleet
    seconds: int
    folder: Path

    def __post_init__(self) -> None:
        kafka = self.settings.kafka
        self.stages = pipeline(tuple(STAGES), kafka.partitions)
        topic_admin(self.settings).ensure(plan_topics(kafka.max_message_bytes, True), kafka.partitions, 1)
        self.publisher = Publisher(kafka, self.stages.raw, self.stages.raw)
        self.progress = PipelineProgress(kafka, self.stages)
        self.config = self.folder / f"{kafka.prefix}worker.toml"
        self.config.write_text(as_toml(self.settings))
        self.count = 0
        self.listener: Listener | None = None

    @property
    def begin_us(self) -> int:
        """The tick before everything."""
        first_us, _ = next(iter(messages(self.load, 1)))
        return first_us - 1_000_000

    def publish(self, begin_s: float | None = None) -> None:
        """All of it with its ticks; ``begin_s``: when its first second begins, None = at once, as fast as it goes."""
        t_us = begin_us = self.begin_us
        for t_us, sent in messages(self.load, self.seconds):
            while begin_s is not None and time.time() < begin_s + (t_us - begin_us) / 1e6:
                self.look(0.01)
            for each in sent:
                if each.topic in self.stages.raw:
                    self.count += 1
                    key = each.key.decode()
                    self.publisher.send(Line(0, each.topic, self.count, key, each.arrival_us, each.value))
            self.publisher.tick(t_us)
        self.publisher.tick(t_us, final=True)

    def wait(self, workers: list[Child], until_over: bool) -> None:
        """Until the first tick has been handled everywhere, or the last one has."""
        while not (self.progress.over if until_over else self.progress.handled_us >= self.begin_us):
            self.look(0.02)
            if any(worker.ended() is not None for worker in workers):
                raise SystemExit("a worker ended")

    def look(self, timeout_s: float) -> None:
        """Reads what the stages have come to, and what they say."""
        self.progress.poll(timeout_s)
        if self.listener is not None:
            self.listener.listen()

    def close(self) -> None:
        """Deletes the topics."""
        self.progress.close()
        admin = topic_admin(self.settings)
        admin.delete(admin.existing())


@contextmanager
def bench(broker: str, folder: Path, options: argparse.Namespace) -> Iterator[Bench]:
    """Under a prefix of its own."""
    prefix = f"fleet-{secrets.token_hex(3)}-"
    kafka = KafkaSettings(
        url=broker, prefix=prefix, partitions=options.partitions, session_s=SESSION_S, fetch_wait_ms=FETCH_WAIT_MS
    )
    worker = WorkerSettings(ticker=False, data_dir=str(folder / prefix), checkpoint_s=10.0)
    made = Bench(
        Settings(kafka=kafka, worker=worker),
        fleet(options.rnics, options.faults, options.slot_s),
        options.seconds,
        folder,
    )
    yield made
    made.close()


def run_workers(made: Bench, role: str, number: int, live: bool = False) -> dict[str, Any]:
    """Workers that are there before the first record; what they took for all of it."""
    with ExitStack() as stack:
        workers = []
        for n in range(number):
            config = made.config.with_suffix(f".{n}.toml")
            data = made.settings.worker.data_dir
            config.write_text(made.config.read_text().replace(data, f"{data}-{n}"))
            workers.append(stack.enter_context(child(role, config, 0)))
            time.sleep(SETTLE_S)
        made.publisher.tick(made.begin_us)
        made.wait(workers, until_over=False)
        used, wall = [processor_s(each.process.pid) for each in workers], time.time()
        late = made.listener = Listener(made, wall) if live else None
        made.publish(wall if live else None)
        made.wait(workers, until_over=True)
        wall_s = time.time() - wall
        spent = [processor_s(each.process.pid) - before for each, before in zip(workers, used, strict=True)]
        found = {"wall_s": wall_s, "processor_s": sum(spent), "busiest_s": max(spent)}
        return found | (late.found() if late else {})


class Listener:
    """Reads incidents while they come: (seconds since ``begin_s`` when it was read, the message)."""

    def __init__(self, made: Bench, begin_s: float) -> None:
        self.begin_s, self.begin_us, self.load = begin_s, made.begin_us, made.load
        self.heard: list[tuple[float, Incident]] = []
        kafka = made.settings.kafka
        self._consumer = Consumer({"bootstrap.servers": kafka.url, "group.id": kafka.prefix, "fetch.wait.max.ms": 10})
        topic = f"{kafka.prefix}incidents"
        self._consumer.assign([TopicPartition(topic, n, OFFSET_BEGINNING) for n in range(kafka.partitions)])

    def listen(self) -> None:
        """Takes note of what has come."""
        for message in self._consumer.consume(100, 0.0):
            if message.error() is None:
                value = decode("incidents", message.key(), message.value() or b"", 2**53 - 1)
                assert isinstance(value, Incident)
                self.heard.append((time.time() - self.begin_s, value))

    def found(self) -> dict[str, Any]:
        """Seconds from the true beginning of a fault to the first word on its incident, and from the event time of
        every word (the second that it concludes from) to its arrival."""
        first: dict[str, float] = {}
        for at_s, incident in self.heard:
            first.setdefault(incident.incident, at_s - self._since(incident.onset_us))
        words = sorted(at_s - self._since(incident.t_us) for at_s, incident in self.heard)
        faults = sorted({self._since(int(str(each["start_us"]))) for pod in self.load.faulty for each in pod.truth})
        self._consumer.close()
        return {
            "faults_at_s": faults,
            "incidents": len(first),
            "onset_to_incident_s": _spread(sorted(first.values())),
            "words": len(words),
            "event_to_word_s": _spread(words),
        }

    def _since(self, t_us: int) -> float:
        return (t_us - self.begin_us) / 1e6


def _spread(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    at = {"p50": 0.5, "p99": 0.99}
    return {name: round(values[min(len(values) - 1, int(share * len(values)))], 2) for name, share in at.items()}


def time_raw(made: Bench) -> float:
    """Processor seconds of consuming it all by confluent-kafka."""
    kafka = made.settings.kafka
    consumer = Consumer({"bootstrap.servers": kafka.url, "group.id": f"{kafka.prefix}raw", "fetch.wait.max.ms": 100})
    spots = [(kafka.prefix + topic, n) for topic in made.stages.raw for n in range(kafka.partitions)]
    consumer.assign([TopicPartition(*spot, OFFSET_BEGINNING) for spot in spots])
    seen, processor = 0, time.process_time()
    while seen < made.count:
        seen += len(consumer.consume(1000, 1.0))
    spent = time.process_time() - processor
    consumer.close()
    return spent


def limits(broker: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Processor seconds of each way, per record and beside raw consumption."""
    took: dict[str, float] = {}
    with bench(broker, folder, options) as made:
        made.publish()
        took["raw"] = time_raw(made)
        took["empty"] = time_empty(made.config, made.count)[1]
        count = made.count
    for role in ("silent", "real"):
        with bench(broker, folder, options) as made:
            took[role] = run_workers(made, role, 1)["processor_s"]
    return {
        "records": count,
        "us_per_record": {role: round(1e6 * spent / count, 1) for role, spent in took.items()},
        "share_of_a_core": {role: round(spent / options.seconds, 4) for role, spent in took.items()},
    }


def scale(broker: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds, by number of workers."""
    found = {}
    for number in options.workers:
        with bench(broker, folder, options) as made:
            took = run_workers(made, "real", number)
            took["records_per_s"] = round(made.count / took["wall_s"])
            found[str(number)] = {name: round(value, 2) for name, value in took.items()}
    return found


def live(broker: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """In real time, with the first of the numbers of workers."""
    with bench(broker, folder, options) as made:
        return run_workers(made, "real", options.workers[0], live=True)


def main() -> None:
    """Prints a JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("limits", "scale", "live"))
    parser.add_argument("--rnics", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--faults", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--workers", type=int, nargs="+", default=(1, 2, 4))
    slot_s = PlannerParameters().slot_s
    parser.add_argument("--slot-s", type=float, default=slot_s, help="the planner's slot_s: longer is fewer probes")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    known = os.environ.get("SKELETONHUNTER_TEST_KAFKA")
    run = {"limits": limits, "scale": scale, "live": live}[options.what]
    with nullcontext(known) if known else embedded_broker() as broker, tempfile.TemporaryDirectory() as folder:
        found = run(broker, Path(folder), options)
    rnics = fleet(options.rnics, options.faults, options.slot_s).rnics
    head = {"what": options.what, "rnics": rnics, "seconds": options.seconds, "slot_s": options.slot_s}
    note(head | found | {"load_average": round(os.getloadavg()[0], 1)}, options.output)


if __name__ == "__main__":
    main()
