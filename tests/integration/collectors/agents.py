"""Agents as processes, on made-up sysfs trees, over a broker that a front can cut off."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from confluent_kafka import Consumer, Producer, TopicPartition

from skeletonhunter.embedded.broker import FETCH_WAIT_MS
from skeletonhunter.embedded.processes import Child
from tests.unit.collectors.rnic.trees import card

PARTITIONS = 2
PATIENCE_S = 60.0


def make_cards(sys_root: Path, rnics: int) -> None:
    """RNICs ``mlx5_0`` and so on."""
    for number in range(rnics):
        counters: dict[str, int | str] = {"counters/port_xmit_data": 1000, "counters/port_rcv_data": 2000}
        card(sys_root, f"mlx5_{number}", f"0000:{number:02x}:00.0", counters)


def endpoint(number: int, rail: int) -> dict[str, Any]:
    """The endpoint of host ``h-<number>`` on a rail; each has an address of its own in 127/8."""
    return {
        "endpoint": f"c-{number}/mlx5_{rail}",
        "container": f"c-{number}",
        "host": f"h-{number}",
        "rnic": f"mlx5_{rail}",
        "rail": rail,
        "rank": 8 * number + rail,
        "ip": f"127.1.{number}.{rail + 1}",
        "state": "ready",
    }


def envelope(stream: str) -> dict[str, Any]:
    """What every message has."""
    return {
        "v": 1,
        "t_us": time.time_ns() // 1000,
        "producer": {"id": f"test/{stream}", "kind": "test", "boot": "b", "seq": 0},
        "clock": {"source": "none", "offset_us": 0.0, "error_us": 1.0},
        "fabric": "pod-7",
    }


def publish(broker: str, topic: str, job: str | None, fields: dict[str, Any]) -> None:
    """One map or plan, as another program would write it; ``job`` None: it is about the fabric."""
    producer = Producer({"bootstrap.servers": broker, "partitioner": "murmur2_random"})
    about = {} if job is None else {"job": job}
    producer.produce(topic, orjson.dumps({**envelope(topic), **about, **fields}), key=job or "pod-7")
    assert producer.flush(20) == 0


def job_map(hosts: Sequence[int], rnics: int = 1, version: int = 1) -> dict[str, Any]:
    """The fields of a map over some hosts."""
    endpoints = [endpoint(number, rail) for number in hosts for rail in range(rnics)]
    return {"version": version, "state": "running", "reason": "test", "endpoints": endpoints}


def plan(pairs: Sequence[tuple[int, int]], version: int = 1) -> dict[str, Any]:
    """The fields of a plan in which hosts probe each other on rail 0, once a second."""
    slots = [[(f"c-{a}/mlx5_0", f"c-{b}/mlx5_0", 50000 + a)] for a, b in pairs]
    return {
        "plan": f"plan-{version}",
        "version": version,
        "skeleton_version": None,
        "mode": "basic",
        "budget": {},
        "expected": {"round_s": 1.0, "probes": len(pairs), "lower_bound_s": 1.0},
        "slots": slots,
        "excluded": [],
    }


def fabric_map(hosts: Sequence[int]) -> dict[str, Any]:
    """The fields of a fabric with one leaf over rail 0 of some hosts."""
    cards = [f"h-{number}/mlx5_0" for number in hosts]
    nodes = [{"id": "leaf-0", "kind": "leaf"}, *({"id": card, "kind": "rnic"} for card in cards)]
    links = [{"id": f"l-{n}", "a": f"{card}/p0", "b": f"leaf-0/p{n}"} for n, card in enumerate(cards)]
    return {"version": 1, "nodes": nodes, "links": links, "ecmp": {"method": "traced"}}


def settings_file(folder: Path, number: int, broker: str, parts: Sequence[str], more: str = "") -> Path:
    """Settings of the agent of host ``h-<number>``; ``more``: further lines, beginning in the section ``[kafka]``."""
    path = folder / f"agent-{number}.toml"
    path.write_text(
        f"""[agent]
fabric = "pod-7"
host = "h-{number}"
sys = "{folder}/sys"
heartbeat_s = 1.0
cpu_percent = 100.0
parts = {json.dumps(list(parts))}
[clock]
vouched_us = 100.0
[probing]
transport = "udp"
trace_s = 0
[kafka]
url = "{broker}"
spool = "{folder}/spool-{number}"
fetch_wait_ms = {FETCH_WAIT_MS}
librdkafka = {{ "reconnect.backoff.max.ms" = 500 }}
{more}
"""
    )
    return path


@contextmanager
def agent(settings: Path) -> Iterator[Child]:
    """``skeletonhunter collect``; what it logs is in ``<settings>.log``."""
    command = [sys.executable, "-m", "skeletonhunter", "collect", "--config", str(settings)]
    with settings.with_suffix(".log").open("ab") as log, Child(command, log) as child:
        yield child


class Reader:
    """Reads topics from their beginning, all partitions, and keeps what it has read, in order."""

    def __init__(self, broker: str, topics: Sequence[str]) -> None:
        self.values: list[dict[str, Any]] = []
        self.records: list[tuple[str, str, bytes, int]] = []
        self._consumer = Consumer(
            {"bootstrap.servers": broker, "group.id": "reader", "fetch.wait.max.ms": FETCH_WAIT_MS, "log_level": 0}
        )
        self._consumer.assign([TopicPartition(topic, n, 0) for topic in topics for n in range(PARTITIONS)])

    def read(self, timeout_s: float = 0.2) -> None:
        """Takes what is there."""
        for message in self._consumer.consume(500, timeout_s):
            if message.error() is None:
                raw, key = message.value() or b"", (message.key() or b"").decode()
                self.records.append((message.topic() or "", key, raw, message.timestamp()[1] * 1000))
                self.values.append(orjson.loads(raw))

    def until(self, enough: Any, patience_s: float = PATIENCE_S) -> None:
        """Reads until ``enough(values)``."""
        ends_s = time.monotonic() + patience_s
        while not enough(self.values):
            assert time.monotonic() < ends_s, f"not enough after {patience_s} s: {self.values[-3:]}"
            self.read()

    def to_the_end(self) -> None:
        """Reads all that is in the topics now."""
        places = self._consumer.assignment()
        ends = {(tp.topic, tp.partition): self._consumer.get_watermark_offsets(tp, PATIENCE_S)[1] for tp in places}
        self.until(lambda _: all(tp.offset >= ends[tp.topic, tp.partition] for tp in self._positions()))

    def _positions(self) -> list[TopicPartition]:
        """Where reading stands; a partition of which nothing was read yet is at its beginning."""
        found = self._consumer.position(self._consumer.assignment())
        return [TopicPartition(tp.topic, tp.partition, max(tp.offset, 0)) for tp in found]

    def of(self, stream: str) -> list[dict[str, Any]]:
        """Values whose producer is ``agent:.../<stream>...``."""
        return [value for value in self.values if f"/{stream}" in value["producer"]["id"]]

    def close(self) -> None:
        """Lets go of the broker."""
        self._consumer.close()


def numbers_by_stream(values: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[int]]:
    """``seq`` of each producer and boot, in the order read."""
    found: dict[tuple[str, str], list[int]] = {}
    for value in values:
        producer = value["producer"]
        found.setdefault((producer["id"], producer["boot"]), []).append(producer["seq"])
    return found
