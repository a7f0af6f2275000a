"""Who says it, and when does it arrive? Envelopes with provenance, stamped by imperfect clocks, on imperfect wires.

A stream is one topic of one agent (and one container); its ``seq`` grows by one per message that the agent sent. Time
inside is true time in seconds of the recording; a machine's clock turns it into the ``t_us`` that the machine believes.
A message arrives at the true end of its interval plus a transport delay; some are lost, repeated, or late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import orjson

from skeletonhunter.testbed.effects import ClockShift, Effects, Silence
from skeletonhunter.testbed.scenario import TelemetryPlan

Json = dict[str, Any]
SECOND_US = 1_000_000
BLOCK = 64


class Line(NamedTuple):
    """One line of a recording; ``raw`` is the value as JSON."""

    topic: str
    key: str
    arrival_us: int
    raw: bytes


@dataclass(frozen=True)
class Span:
    """The recorded time: ``seconds`` seconds from the true instant ``t0_us``."""

    t0_us: int
    seconds: int

    def at(self, second: float) -> int:
        """The true instant of a second of the recording."""
        return self.t0_us + round(second * SECOND_US)

    def intervals(self, width_s: int) -> Iterator[tuple[int, int]]:
        """Consecutive [from, to) of ``width_s`` seconds."""
        for start in range(0, self.seconds, width_s):
            yield start, min(start + width_s, self.seconds)


@dataclass(frozen=True)
class Machine:
    """A host, a switch collector ...: its boot and clock (us off, us/s drift, what it believes, the bound)."""

    name: str
    boot: str
    span: Span
    source: str = "ptp"
    offset_us: float = 0.0
    drift_us_s: float = 0.0
    believed_us: float = 0.0
    error_us: float = 10.0
    shifts: tuple[ClockShift, ...] = ()

    def off_us(self, second: float) -> float:
        """How far the clock is ahead of true time at ``second``."""
        off = self.offset_us + self.drift_us_s * second
        for shift in self.shifts:
            if shift.when.first_s <= second < shift.when.last_s:
                off += shift.offset_us + shift.drift_us_s * (second - shift.when.first_s)
        return off

    def stamp(self, second: float) -> int:
        """What the machine's clock shows at ``second``."""
        off_us = self.off_us(second) if self.shifts else self.offset_us + self.drift_us_s * second
        return self.span.t0_us + round(second * SECOND_US) + round(off_us)

    def stamps(self, seconds: np.ndarray) -> list[int]:
        """What the machine's clock shows at each of ``seconds``."""
        if self.shifts:
            return [self.stamp(second) for second in seconds.tolist()]
        off_us = np.round(self.offset_us + self.drift_us_s * seconds)
        column: list[int] = (self.span.t0_us + np.round(seconds * SECOND_US) + off_us).astype(np.int64).tolist()
        return column

    def clock(self, second: float) -> Json:
        """The envelope's clock: what the machine says of itself."""
        for shift in self.shifts:
            if shift.admits and shift.when.first_s <= second < shift.when.last_s:
                return {"source": "none", "offset_us": self.believed_us, "error_us": 1e6}
        return {"source": self.source, "offset_us": self.believed_us, "error_us": self.error_us}


def draw_machine(name: str, span: Span, rng: np.random.Generator, shifts: Sequence[ClockShift] = ()) -> Machine:
    """A machine with PTP: off by some microseconds, which it knows to less than one."""
    offset = float(rng.normal(0.0, 1.5))
    return Machine(
        name=name,
        boot=f"{int(rng.integers(1 << 32)):08x}",
        span=span,
        offset_us=offset,
        drift_us_s=float(rng.normal(0.0, 0.002)),
        believed_us=round(offset + float(rng.normal(0.0, 0.8)), 2),
        error_us=10.0,
        shifts=tuple(shift for shift in shifts if shift.machine == name),
    )


class Clocks:
    """The clocks of many machines at once, by number."""

    def __init__(self, machines: Sequence[Machine]) -> None:
        self.machines = machines
        self.offset_us = np.array([machine.offset_us for machine in machines])
        self.drift_us_s = np.array([machine.drift_us_s for machine in machines])
        self.shifted = np.array([bool(machine.shifts) for machine in machines])

    def stamps(self, number: np.ndarray, seconds: np.ndarray) -> list[int]:
        """What the clock ``number[n]`` shows at ``seconds[n]``."""
        off_us = np.round(self.offset_us[number] + self.drift_us_s[number] * seconds)
        t0_us = self.machines[0].span.t0_us
        shown: list[int] = (t0_us + np.round(seconds * SECOND_US) + off_us).astype(np.int64).tolist()
        for n in np.flatnonzero(self.shifted[number]).tolist():
            shown[n] = self.machines[number[n]].stamp(float(seconds[n]))
        return shown


@dataclass
class Stream:
    """The messages of one topic of one agent. ``scope``: fabric, and job and tenant where they apply."""

    topic: str
    agent: str
    kind: str
    machine: Machine
    key: str
    scope: Json
    rng: np.random.Generator
    part: str = ""
    noise: TelemetryPlan = field(default_factory=TelemetryPlan)
    silences: tuple[Silence, ...] = ()
    seq: int = 0
    _draws: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        name = f"{self.topic}.{self.part}" if self.part else self.topic
        producer = {"id": f"agent:{self.agent}/{name}", "kind": self.kind, "boot": self.machine.boot}
        self._head = orjson.dumps(producer)[:-1]
        self._scope = orjson.dumps(self.scope)[1:-1]
        self._version = 2 if self.topic == "agent-health" else 1
        self._clock = None if self.machine.shifts else orjson.dumps(self.machine.clock(0.0))
        self._key = orjson.dumps(self.key)
        self.silences = tuple(
            silence
            for silence in self.silences
            if silence.agent == self.agent and silence.topic in (None, self.topic) and silence.part in (None, self.part)
        )

    def send(self, second: float, body: Json) -> list[Line]:
        """The line(s) of a message that covers what came before ``second``; none if it was lost or not sent."""
        return self.send_raw(second, orjson.dumps(body)[1:-1])

    def send_raw(self, second: float, body: bytes) -> list[Line]:
        """As ``send``, of a body that is JSON already (without braces)."""
        held_s = 0.0
        for silence in self.silences:
            if silence.when.first_s < second <= silence.when.last_s:
                if silence.late_s is None:
                    return []
                held_s = silence.late_s
        raw = b'{"v":%d,"t_us":%d,"producer":%b,"seq":%d},"clock":%b,%b,%b}' % (
            self._version,
            self.machine.stamp(second),
            self._head,
            self.seq,
            self._clock or orjson.dumps(self.machine.clock(second)),
            self._scope,
            body,
        )
        self.seq += 1
        return self._deliver(self.machine.span.at(second + held_s), raw)

    def _deliver(self, sent_us: int, raw: bytes) -> list[Line]:
        delay_us, luck = self._draw()
        noise = self.noise
        if luck < noise.lost:
            return []
        if luck < noise.lost + noise.late:
            delay_us += 1e6 * (0.5 + 7.0 * luck / (noise.lost + noise.late))
        line = Line(self.topic, self.key, sent_us + round(delay_us), raw)
        if 1.0 - luck < noise.repeated:
            return [line, line._replace(arrival_us=line.arrival_us + 250_000)]
        return [line]

    def _draw(self) -> tuple[float, float]:
        if not self._draws:
            delays = 3_000.0 + np.exp(self.rng.normal(np.log(12_000.0), 0.6, BLOCK))
            self._draws = list(zip(delays.tolist(), self.rng.random(BLOCK).tolist(), strict=True))
        return self._draws.pop()


@dataclass
class Registry:
    """All machines and streams of a simulation, made when they are first asked for."""

    span: Span
    fabric: str
    noise: TelemetryPlan
    effects: Effects
    seed: tuple[int, ...]
    machines: dict[str, Machine] = field(default_factory=dict)
    streams: dict[tuple[str, str, str], Stream] = field(default_factory=dict)

    def machine(self, name: str) -> Machine:
        """The machine of that name."""
        if name not in self.machines:
            self.machines[name] = draw_machine(name, self.span, self._rng(f"machine {name}"), self.effects.clocks)
        return self.machines[name]

    def stream(self, topic: str, agent: str, kind: str, *, machine: str = "", part: str = "", job: Json) -> Stream:
        """The stream of an agent's topic (and part); ``job`` = {job, tenant} or {}."""
        key = (topic, agent, part)
        if key not in self.streams:
            self.streams[key] = Stream(
                topic=topic,
                agent=agent,
                kind=kind,
                machine=self.machine(machine or agent),
                key=job["job"] if job else self.fabric,
                scope={"fabric": self.fabric, **job},
                rng=self._rng(f"stream {topic} {agent} {part}"),
                part=part,
                noise=self.noise,
                silences=self.effects.silences,
            )
        return self.streams[key]

    def _rng(self, purpose: str) -> np.random.Generator:
        from zlib import crc32

        return np.random.default_rng([*self.seed, crc32(purpose.encode())])
