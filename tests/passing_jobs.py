"""Many short jobs one after another: two containers each, that probe one another, count bytes, and end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from schemas.codec import encode, key_of
from schemas.envelope import Clock, Message, Producer
from schemas.instants import SECOND_US
from schemas.maps import Ecmp, Endpoint, EndpointMap, FabricMap, Link, Node
from schemas.probing import ProbeResult, ProbeResults
from schemas.telemetry import RnicColumns, RnicCounters
from streams.ports import Outgoing

BEGIN_US = 1_753_000_020 * SECOND_US
"""On a whole minute."""
CLOCK = Clock(source="ptp", offset_us=0.0, error_us=1.0)
HOSTS = ("h0", "h1")


@dataclass
class Cluster:
    """Says what its agents and its scheduler would say; each producer counts its messages."""

    seqs: dict[str, int] = field(default_factory=dict)
    said: list[tuple[str, Message]] = field(default_factory=list)

    def _head(self, producer: str, offset_s: float, **fields: Any) -> dict[str, Any]:
        self.seqs[producer] = self.seqs.get(producer, 0) + 1
        who = Producer(id=producer, kind="host", boot="b", seq=self.seqs[producer])
        t_us = BEGIN_US + round(offset_s * SECOND_US)
        return {"v": 1, "t_us": t_us, "producer": who, "clock": CLOCK, "fabric": "f", **fields}

    def wire(self) -> None:
        """The fabric: one switch."""
        nodes = (Node(id="s", kind="leaf"), *(Node(id=f"{host}/r", kind="rnic") for host in HOSTS))
        links = tuple(Link(id=f"l-{host}", a=f"{host}/r/0", b=f"s/{host}") for host in HOSTS)
        head = self._head("agent:topology/fabric-map", 0)
        self.said.append(
            ("fabric-map", FabricMap(**head, version=1, nodes=nodes, links=links, ecmp=Ecmp(method="traced")))
        )

    def place(self, job: str, offset_s: float, version: int, state: Any = "running") -> None:
        """The job's endpoint map."""
        endpoints = tuple(_endpoint(job, host, number) for number, host in enumerate(HOSTS))
        head = self._head("agent:scheduler/endpoint-map", offset_s, job=job)
        self.said.append(
            ("endpoint-map", EndpointMap(**head, version=version, state=state, reason="", endpoints=endpoints))
        )

    def probe(self, job: str, offset_s: float, lost: bool = False) -> None:
        """Each end probes the other."""
        for here, there in ((0, 1), (1, 0)):
            src, dst = (f"{job}-c{number}/r" for number in (here, there))
            head = self._head(f"agent:{HOSTS[here]}/probe-results.{job}", offset_s, job=job)
            result = ProbeResult(
                dst=dst,
                t_us=head["t_us"],
                kind="rdma",
                outcome="lost" if lost else "reply",
                sent=100,
                lost=100 if lost else 0,
                rtt_us=() if lost else (10.0, 11.0),
                sport=50_000,
                path=("l-h0", "l-h1"),
            )
            self.said.append(("probe-results", ProbeResults(**head, src=src, plan_version=1, results=(result,))))

    def count(self, job: str, offset_s: int) -> None:
        """Ten seconds of counters of each container."""
        for number, host in enumerate(HOSTS):
            head = self._head(f"agent:{host}/rnic-counters.{job}", offset_s, job=job)
            t_us = tuple(head["t_us"] - SECOND_US * back for back in range(9, -1, -1))
            moved = tuple(1_000_000 * (offset_s + second) for second in range(10))
            column = RnicColumns(rnic="r", t_us=t_us, tx_bytes=moved, rx_bytes=moved, counters={})
            self.said.append(
                ("rnic-counters", RnicCounters(**head, container=f"{job}-c{number}", host=host, rnics=(column,)))
            )

    def live(self, job: str, begin_s: int, seconds: int, version: int = 1) -> None:
        """A whole job, from the first map to the last."""
        self.place(job, begin_s, version)
        for second in range(begin_s + 1, begin_s + seconds):
            self.probe(job, second)
            if second % 10 == 0:
                self.count(job, second)
        self.place(job, begin_s + seconds, version + 1, "ended")

    def arrivals(self) -> Iterator[Outgoing]:
        """All that was said, as it comes into Kafka 10 ms later."""
        for topic, value in sorted(self.said, key=lambda item: item[1].t_us):
            yield Outgoing(topic, key_of(topic, value).encode(), encode(topic, value), value.t_us + 10_000)


def _endpoint(job: str, host: str, number: int) -> Endpoint:
    return Endpoint(
        endpoint=f"{job}-c{number}/r",
        container=f"{job}-c{number}",
        host=host,
        rnic="r",
        rail=0,
        rank=number,
        vif=f"v{number}",
        ip=f"10.0.0.{number + 1}",
        gid=f"::ffff:10.0.0.{number + 1}",
        switch_port=f"s/{host}",
        state="ready",
    )
