"""Does memory grow? A recording again and again, shifted in time, as fast as real workers on Kafka take it.

    .ci/apache-kafka.sh run .venv/bin/python benchmarks/soak.py [RECORDING] --minutes 60 [-o FILE.json]

The broker is the one that $SKELETONHUNTER_TEST_KAFKA or --kafka names. In each loop the jobs, their containers and all
boots have other names, and at its end the jobs end: what is never forgotten grows with the number of loops. Workers,
sink (embedded ClickHouse) and alert sender are processes; their RSS is read once a second.

The slope is a line through means of ``BLOCK_S`` seconds after the first third, in MiB per hour, with the 95 %
confidence interval of Student's t over these means; neighbouring seconds are too alike to count as samples. The same
per loop says what a job that is over leaves behind.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from scipy import stats

from skeletonhunter.recordings.manifest import Manifest
from skeletonhunter.recordings.names import names_in
from skeletonhunter.recordings.reader import Line, Recording
from skeletonhunter.replaying.kafka_feeding import Feeding
from skeletonhunter.replaying.kafka_progress import PipelineProgress
from skeletonhunter.replaying.kafka_publisher import Publisher
from skeletonhunter.replaying.kafka_services import Program, Services, services, skeletonhunter
from skeletonhunter.replaying.listener import AlertListener
from skeletonhunter.replaying.request import ReplayRequest
from skeletonhunter.settings import AlertSettings, ClickHouseSettings, KafkaSettings, Settings, WorkerSettings
from skeletonhunter.working import topic_admin
from streams.stages import STAGES
from streams.topic_admin import plan_topics
from streams.topology import pipeline

INCIDENT = Path(__file__).parents[1] / "examples/incidents/stale-flow-offload"
SECOND_US = 1_000_000
GAP_S = 60
"""Between the end of a loop and the beginning of the next one."""
BLOCK_S = 30
PAGE = os.sysconf("SC_PAGE_SIZE")
KINDS = ("job", "container")
LOOP = b"@@"
"""Stands in a line for what is added to a name in each loop."""
INSTANT = re.compile(rb"\b1[6-9]\d{14}\b")


@dataclass
class Loops:
    """The recording as it is heard in one loop after the other, until ``ends_s`` (monotonic)."""

    recording: Recording
    ends_s: float
    count: int = 0
    messages: int = 0
    _lines: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        lines = list(self.recording.lines())
        values = [orjson.loads(line.raw) for line in lines]
        names = {name for value in values for kind, name in names_in(value) if kind in KINDS}
        boots = {value["producer"]["boot"] for value in values}
        longest_first = sorted(names | boots, key=lambda name: (-len(name), name))
        either = b"|".join(re.escape(name.encode()) for name in longest_first)
        renamed = re.compile(rb"(?<![\w.-])(?:%b)(?![\w.])" % either)
        for line in (*lines, *self._endings(lines)):
            key = line.key and renamed.sub(rb"\g<0>%b" % LOOP, line.key.encode()).decode()
            self._lines.append(line._replace(key=key, raw=renamed.sub(rb"\g<0>%b" % LOOP, line.raw)))
        span_us = self.manifest.end_us - self.manifest.start_us
        self._step_us = -(-span_us // SECOND_US) * SECOND_US + GAP_S * SECOND_US

    @property
    def manifest(self) -> Manifest:
        """That of the recording."""
        return self.recording.manifest

    def lines(self) -> Iterator[Line]:
        """All lines of all loops."""
        while time.monotonic() < self.ends_s:
            for line in self._lines:
                yield self._heard(line, self.count * self._step_us, b".%d" % self.count)
                self.messages += 1
                if time.monotonic() >= self.ends_s:
                    return
            self.count += 1

    def _endings(self, lines: list[Line]) -> Iterator[Line]:
        """Each job's last map once more, in which it has ended."""
        maps = {line.key: line for line in lines if line.topic == "endpoint-map"}
        for line in maps.values():
            value = orjson.loads(line.raw)
            value["state"], value["version"], value["t_us"] = "ended", value["version"] + 1, self.manifest.end_us
            value["producer"]["seq"] += 1
            yield line._replace(raw=orjson.dumps(value), arrival_us=self.manifest.end_us)

    @staticmethod
    def _heard(line: Line, shift_us: int, suffix: bytes) -> Line:
        raw = INSTANT.sub(lambda found: b"%d" % (int(found[0]) + shift_us), line.raw.replace(LOOP, suffix))
        key = line.key and line.key.replace(LOOP.decode(), suffix.decode())
        return line._replace(key=key, raw=raw, arrival_us=line.arrival_us + shift_us)


class Scale(threading.Thread):
    """Reads the RSS of all programs once a second: ``seen`` is (seconds, loops, {program: MiB})."""

    def __init__(self, running: Services, loops: Loops) -> None:
        super().__init__(daemon=True)
        self.running, self.loops = running, loops
        self.seen: list[tuple[float, int, dict[str, float]]] = []
        self.over = threading.Event()

    def run(self) -> None:
        """Until ``over``."""
        begun_s = time.monotonic()
        while not self.over.wait(1.0):
            pids = {name: child.process.pid for name, child in self.running.children.items()}
            self.seen.append((time.monotonic() - begun_s, self.loops.count, {n: rss_mib(p) for n, p in pids.items()}))


def rss_mib(pid: int) -> float:
    """What a process has in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 2**20


def growth(seen: list[tuple[float, int, dict[str, float]]], name: str) -> dict[str, float | list[float]]:
    """The slope of a program's memory, and what it is made from."""
    ends_s = seen[-1][0]
    blocks: dict[int, list[tuple[float, int, float]]] = {}
    for at_s, loops, rss in seen:
        if at_s > ends_s / 3:
            blocks.setdefault(int(at_s // BLOCK_S), []).append((at_s, loops, rss[name]))
    means = [[sum(column) / len(rows) for column in zip(*rows, strict=True)] for rows in blocks.values()]
    at, loops, rss = zip(*means, strict=True)
    by_time, by_loop = stats.linregress(at, rss), stats.linregress(loops, rss)
    t = stats.t.ppf(0.975, len(means) - 2)
    hour = 3600.0
    return {
        "first_mib": round(seen[0][2][name], 1),
        "mean_mib": round(sum(rss) / len(rss), 1),
        "last_mib": round(seen[-1][2][name], 1),
        "mib_per_hour": round(by_time.slope * hour, 2),
        "between": [round((by_time.slope + sign * t * by_time.stderr) * hour, 2) for sign in (-1, 1)],
        "kib_per_loop": round(by_loop.slope * 1024, 2),
        "kib_per_loop_between": [round((by_loop.slope + sign * t * by_loop.stderr) * 1024, 2) for sign in (-1, 1)],
        "blocks": len(means),
    }


def soak(options: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Runs it."""
    with Recording(options.recording) as recording, AlertListener().listening() as listener:
        settings = Settings(
            kafka=KafkaSettings(url=options.kafka, prefix=f"soak-{secrets.token_hex(3)}-", partitions=2),
            worker=WorkerSettings(data_dir=str(folder / "tables"), ticker=False),
            clickhouse=ClickHouseSettings(dsn=f"chdb://{folder}/clickhouse"),
            alerts=AlertSettings(webhooks=(listener.url,), allow_networks=("127.0.0.0/8",)),
        )
        admin = topic_admin(settings)
        admin.ensure(plan_topics(settings.kafka.max_message_bytes, keep_forever=True), 2, 1)
        workers = [Program(f"work-{n}", skeletonhunter("work").command) for n in range(1, options.workers + 1)]
        with services(settings, [*workers, skeletonhunter("sink", "--migrate"), skeletonhunter("alert")]) as running:
            loops = Loops(recording, time.monotonic() + options.minutes * 60)
            scale = Scale(running, loops)
            scale.start()
            event_s = feed(loops, settings, running)
            scale.over.set()
            scale.join()
            running.stop()
        admin.delete(admin.existing())
    return {
        "minutes": options.minutes,
        "loops": loops.count,
        "messages": loops.messages,
        "times_real_time": round(event_s / (options.minutes * 60), 1),
        "load": [round(load, 1) for load in os.getloadavg()],
        "programs": {name: growth(scale.seen, name) for name in scale.seen[-1][2]},
        "seen": scale.seen if options.all else None,
    }


def feed(loops: Loops, settings: Settings, running: Services) -> float:
    """Feeds the loops, never far ahead of the workers; returns the seconds of event time that they have handled."""
    stages = pipeline(settings.worker.pipeline, settings.kafka.partitions, STAGES)
    publisher = Publisher(settings.kafka, stages.raw, loops.recording.files)
    progress = PipelineProgress(settings.kafka, stages)
    request = ReplayRequest(loops, settings)  # type: ignore[arg-type] # as far as feeding goes it is a recording
    try:
        Feeding(request, settings, stages, publisher, progress, running.check).run()
    finally:
        progress.close()
    return (progress.handled_us - loops.manifest.start_us) / 1e6


def main() -> None:
    """Soaks and prints JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", nargs="?", type=Path, default=INCIDENT)
    parser.add_argument("--kafka", default=os.environ.get("SKELETONHUNTER_TEST_KAFKA"))
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--all", action="store_true", help="print every second's figures too")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    if not options.kafka:
        parser.error("no broker: expected --kafka HOST:PORT or $SKELETONHUNTER_TEST_KAFKA")
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(soak(options, Path(folder)), indent=2)
    if options.output:
        options.output.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
