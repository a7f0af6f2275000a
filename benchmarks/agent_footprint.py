"""How small is the host agent? Memory, processor time per second and its tail, beside bare Python with confluent-kafka.

    python benchmarks/agent_footprint.py [--seconds 600] [--rnics 8] [--probes 100]

Three agents run as users run them (``skeletonhunter collect``), on an embedded broker and made-up sysfs trees of
``--rnics`` cards: *watching* reads counters once a second and bursts every 50 ms; *probing* does that and sends
``--probes`` UDP probes a second over loopback to its *peer*, which sends as many back, so each also answers as many.
A fourth process is bare Python that has imported confluent-kafka and holds a producer and a consumer with the same
settings and traffic of nothing. The byte counters change 20 times a second, by this process, which is not counted.

Processor time is the scheduler's (``/proc/<pid>/task/*/schedstat``, nanoseconds, all threads), sampled each second
after ``WARM_S``; ``longest_stall_ms`` is the worst lag that an agent reports of its own timers. Files of a disk, not of
a driver: what a real driver needs to answer comes on top.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import orjson
from collector_counters import make_card
from confluent_kafka import Consumer, Producer, TopicPartition

from skeletonhunter.embedded.broker import FETCH_WAIT_MS, embedded_broker
from skeletonhunter.embedded.processes import Child
from streams.topic_admin import TopicAdmin, plan_topics

WARM_S = 15
PARTITIONS = 4
BARE = """
import sys, time
from confluent_kafka import Consumer, Producer, TopicPartition
producer = Producer({"bootstrap.servers": sys.argv[1], "linger.ms": 100, "compression.type": "gzip"})
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "bare", "fetch.wait.max.ms": 5000})
consumer.assign([TopicPartition(t, p, 0) for t in ("probe-plans", "endpoint-map") for p in range(4)])
while True:
    producer.poll(0); consumer.poll(0); time.sleep(1)
"""


@dataclass
class Process:
    """A running process and what was measured of it, once a second."""

    name: str
    child: Child
    cpu_ms: list[float] = field(default_factory=list)
    rss_mb: list[float] = field(default_factory=list)
    threads: dict[str, int] = field(default_factory=dict)
    looked_s: float = 0.0

    def sample(self) -> None:
        """One look; ``cpu_ms`` per second that passed since the last one."""
        before_s, self.looked_s = self.looked_s, time.monotonic()
        folder = Path(f"/proc/{self.child.process.pid}")
        now = {task.name: int((task / "schedstat").read_text().split()[0]) for task in (folder / "task").iterdir()}
        if self.threads:
            spent = sum(ns - self.threads.get(task, 0) for task, ns in now.items())
            self.cpu_ms.append(spent / 1e6 / (self.looked_s - before_s))
        self.threads = now
        pages = int((folder / "statm").read_text().split()[1])
        self.rss_mb.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)

    def summary(self) -> dict[str, float]:
        """What came of it; of the processor, 10 ms in a second are one percent."""
        ordered = sorted(self.cpu_ms)
        return {
            "rss_mb": round(max(self.rss_mb), 1),
            "rss_mib": round(max(self.rss_mb) * 1e6 / 2**20, 1),
            "cpu_percent": round(sum(ordered) / len(ordered) / 10, 2),
            "cpu_percent_p50": round(ordered[len(ordered) // 2] / 10, 2),
            "cpu_percent_p99": round(ordered[int(len(ordered) * 0.99)] / 10, 2),
            "cpu_percent_most": round(ordered[-1] / 10, 2),
        }


def endpoints(number: int, rnics: int) -> list[dict[str, Any]]:
    """Endpoints of host ``h-<number>``; each has an address of its own in 127/8."""
    return [
        {
            "endpoint": f"c-{number}/mlx5_{rail}",
            "container": f"c-{number}",
            "host": f"h-{number}",
            "rnic": f"mlx5_{rail}",
            "rail": rail,
            "rank": number * rnics + rail,
            "ip": f"127.0.{number}.{rail + 1}",
            "state": "ready",
        }
        for rail in range(rnics)
    ]


def envelope(stream: str) -> dict[str, Any]:
    """What every message has."""
    return {
        "v": 1,
        "t_us": time.time_ns() // 1000,
        "producer": {"id": f"bench/{stream}", "kind": "bench", "boot": "b", "seq": 0},
        "clock": {"source": "none", "offset_us": 0.0, "error_us": 1.0},
        "fabric": "bench",
    }


def publish_jobs(broker: str, rnics: int, probes: float) -> None:
    """Two jobs: one that is only watched, one whose two hosts probe each other, ``probes`` a second each."""
    train = 10
    pairs = [(f"c-{a}/mlx5_{rail}", f"c-{b}/mlx5_{rail}", 50000) for a, b in ((1, 2), (2, 1)) for rail in range(rnics)]
    plan = {
        "plan": "bench",
        "version": 1,
        "skeleton_version": None,
        "mode": "basic",
        "budget": {"round_s": None, "pps_per_rnic": None, "targets_per_rnic": None},
        "expected": {"round_s": train * rnics / probes, "probes": len(pairs), "lower_bound_s": 1.0},
        "slots": [pairs],
        "excluded": [],
    }
    watched = {"version": 1, "state": "running", "reason": "bench", "endpoints": endpoints(0, rnics)}
    probed = {**watched, "endpoints": endpoints(1, rnics) + endpoints(2, rnics)}
    producer = Producer({"bootstrap.servers": broker, "partitioner": "murmur2_random"})
    for topic, job, fields in (
        ("endpoint-map", "watched", watched),
        ("endpoint-map", "probed", probed),
        ("probe-plans", "probed", plan),
    ):
        producer.produce(topic, orjson.dumps({**envelope(topic), "job": job, **fields}), key=job)
    if producer.flush(20):
        raise RuntimeError("the broker does not take messages")


def settings(folder: Path, number: int, broker: str, parts: Sequence[str]) -> Path:
    """The settings file of agent ``number``."""
    path = folder / f"agent-{number}.toml"
    path.write_text(
        f"""[agent]
fabric = "bench"
host = "h-{number}"
sys = "{folder}/sys"
parts = {json.dumps(list(parts))}
[kafka]
url = "{broker}"
spool = "{folder}/spool-{number}"
fetch_wait_ms = {FETCH_WAIT_MS * 10}
[probing]
transport = "udp"
trace_s = 0
"""
    )
    return path


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Starts everything, looks at it each second, and stops it."""
    cards = [make_card(folder / "sys", number) for number in range(options.rnics)]
    watching = ("rnic-counters", "rnic-bursts", "rnic-state")
    with ExitStack() as running:
        broker = running.enter_context(embedded_broker())
        TopicAdmin(broker, "", {}).ensure(plan_topics(1 << 20), PARTITIONS, 1)
        publish_jobs(broker, options.rnics, options.probes)
        log = running.enter_context((folder / "agents.log").open("wb"))
        program = [sys.executable, "-m", "skeletonhunter", "collect", "--config"]
        processes = [Process("bare", running.enter_context(Child([sys.executable, "-c", BARE, broker], DEVNULL)))]
        for number, name in enumerate(("watching", "probing", "peer")):
            parts = watching if name == "watching" else (*watching, "probing")
            path = settings(folder, number, broker, parts)
            processes.append(Process(name, running.enter_context(Child([*program, str(path)], log))))
        watch(processes, cards, options.seconds)
        for process in processes[1:]:
            process.child.stop()
        told = list(read_all(broker, ("agent-health", "probe-results")))
        report = {process.name: process.summary() for process in processes}
        return {"seconds": options.seconds, "load": os.getloadavg()[0], **report, **heard(told)}


def watch(processes: Sequence[Process], cards: Sequence[Path], seconds: float) -> None:
    """Moves the counters 20 times a second and samples once a second."""
    begin = time.monotonic()
    turn = 0
    while (passed := time.monotonic() - begin) < WARM_S + seconds:
        turn += 1
        for card in cards:
            for name in ("port_xmit_data", "port_rcv_data"):
                busy = turn // 20 % 2
                (card / name).write_text(f"{turn * 20_000_000 * busy + turn}\n")
        if turn % 20 == 0 and passed > WARM_S:
            for process in processes:
                if process.child.ended() is not None:
                    raise RuntimeError(f"{process.name} has ended")
                process.sample()
        time.sleep(max(0.0, begin + turn * 0.05 - time.monotonic()))


def read_all(broker: str, topics: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Everything on some topics."""
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "reader", "fetch.wait.max.ms": FETCH_WAIT_MS})
    consumer.assign([TopicPartition(topic, number, 0) for topic in topics for number in range(PARTITIONS)])
    while messages := consumer.consume(1000, 5.0):
        yield from (orjson.loads(message.value()) for message in messages if message.error() is None)
    consumer.close()


def heard(told: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the agents said of themselves and of each other."""
    health = [one for one in told if one["producer"]["id"].endswith("/agent-health")]
    trains = [train for one in told for train in one.get("results", ())]
    names = {"h-0": "watching", "h-1": "probing", "h-2": "peer"}
    stalls = {names[host]: max(h["send_lag_us"] for h in health if h["host"] == host) / 1000 for host in names}
    return {
        "longest_stall_ms": {name: round(stall, 1) for name, stall in stalls.items()},
        "states": sorted({one["state"] for one in health}),
        "dropped": sum(one["dropped"] for one in health if one["state"] == "stopping"),
        "probes": {"sent": sum(t["sent"] for t in trains), "lost": sum(t["lost"] for t in trains)},
        "cpu_percent_self_reported": {
            names[host]: round(sum(v) / len(v), 2)
            for host in names
            if (v := [h["cpu_percent"] for h in health if h["host"] == host and h["cpu_percent"] is not None][3:])
        },
    }


def main() -> None:
    """Runs it and prints JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--rnics", type=int, default=8)
    parser.add_argument("--probes", type=float, default=100.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        try:
            print(json.dumps(measure(options, Path(name)), indent=2))
        except Exception:
            print((Path(name) / "agents.log").read_text(errors="replace")[-4000:], file=sys.stderr)
            raise


if __name__ == "__main__":
    main()
