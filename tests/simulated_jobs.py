"""Training jobs for tests: who sends what to whom when, and the messages that hosts would report of it.

Rank = ((dp * PP + pp) * EP + ep) * TP + tp, one container of TP ranks per host, rail = tp. Each step: micro-batches
go forward through the stages and back, compute times vary by ``jitter`` per operation and replica; members of an expert
group exchange at once before a stage's result is sent on; then every data-parallel group reduces at once. Nothing is
drawn at random outside ``numpy.random.default_rng(seed)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from orjson import Fragment

from schemas.codec import encode
from schemas.envelope import Clock, Message, Producer
from schemas.folding import Emission, Observation, TimeReached
from schemas.instants import SECOND_US
from schemas.maps import Endpoint, EndpointMap
from schemas.skeletons import SkeletonOverride
from schemas.telemetry import Burst, RnicBursts, RnicColumns, RnicCounters
from skeleton.engine import SkeletonEngine
from skeleton.parameters import SkeletonParameters
from skeleton.state import JobState
from skeletonhunter.recordings.writer import RecordingWriter, about, write_lines

BEGIN_US = 1_753_000_000 * SECOND_US
CLOCK = Clock(source="ptp", offset_us=0.0, error_us=60.0)
MESSAGE_BYTES, EXPERT_BYTES, GRADIENT_BYTES = 40_000_000, 60_000_000, 2_000_000_000
BYTES_PER_S = 20e9


@dataclass(frozen=True)
class Shape:
    """Degrees and course of a job; seconds."""

    tp: int = 8
    pp: int = 4
    dp: int = 4
    ep: int = 1
    micro_batches: int = 6
    forward_s: float = 0.25
    pause_s: float = 1.0
    jitter: float = 0.03
    spread: float = 0.01

    @property
    def ranks(self) -> int:
        return self.tp * self.pp * self.dp * self.ep

    def rank(self, dp: int, pp: int, ep: int, tp: int) -> int:
        return ((dp * self.pp + pp) * self.ep + ep) * self.tp + tp

    def edges(self) -> set[tuple[int, int]]:
        """Pairs of ranks, the lesser first: cliques over dp and over ep, neighbours in pp."""
        found = set()
        for dp, pp, ep, tp in np.ndindex(self.dp, self.pp, self.ep, self.tp):
            here = self.rank(dp, pp, ep, tp)
            others = [self.rank(other, pp, ep, tp) for other in range(self.dp)]
            others += [self.rank(dp, pp, other, tp) for other in range(self.ep)]
            others += [self.rank(dp, pp + 1, ep, tp)] if pp + 1 < self.pp else []
            found |= {(min(here, other), max(here, other)) for other in others if other != here}
        return found


@dataclass
class Transfers:
    """Sent and received bursts by rank: (start s, end s, bytes, sent)."""

    by_rank: list[list[tuple[float, float, int, bool]]] = field(default_factory=list)

    def add(self, rank: int, start_s: float, size: int, sent: bool) -> None:
        self.by_rank[rank].append((start_s, start_s + size / BYTES_PER_S, size, sent))


def simulate(shape: Shape, seconds: float, seed: int = 1) -> Transfers:
    """All transfers that start within ``seconds``."""
    draw = np.random.default_rng(seed)
    speed = 1.0 + shape.spread * draw.standard_normal((shape.dp, shape.ep))
    moved = Transfers([[] for _ in range(shape.ranks)])
    start_s = 0.3
    while start_s < seconds:
        start_s = _step(shape, moved, start_s, speed, draw)
    for rows in moved.by_rank:
        rows[:] = sorted(row for row in rows if row[0] < seconds)
    return moved


def _step(shape: Shape, moved: Transfers, start_s: float, speed: np.ndarray, draw: np.random.Generator) -> float:
    """One step; returns the start of the next."""
    ready = np.full((shape.pp, shape.dp, shape.ep), start_s)
    for forward in (True, False):
        order = range(shape.pp) if forward else range(shape.pp)[::-1]
        for _ in range(shape.micro_batches):
            arrived = np.full((shape.dp, shape.ep), start_s)
            for stage in order:
                arrived = _work(shape, moved, stage, np.maximum(arrived, ready[stage]), speed, draw)
                ready[stage] = arrived
                onward = stage + 1 if forward else stage - 1
                if 0 <= onward < shape.pp:
                    _send(shape, moved, stage, onward, arrived)
    done = start_s
    for stage in range(shape.pp):
        for ep in range(shape.ep):
            at = float(ready[stage, :, ep].max()) + 0.05
            for dp in range(shape.dp) if shape.dp > 1 else ():
                _together(shape, moved, (dp, stage, ep), at, GRADIENT_BYTES)
            done = max(done, at)
    return done + shape.pause_s


def _work(
    shape: Shape, moved: Transfers, stage: int, since: np.ndarray, speed: np.ndarray, draw: np.random.Generator
) -> np.ndarray:
    """When each replica has worked on a micro-batch in ``stage``, and the exchange of experts on the way."""
    half = 0.5 * shape.forward_s * speed
    middle = since + half * (1.0 + shape.jitter * draw.standard_normal(since.shape))
    if shape.ep > 1:
        middle = np.repeat(middle.max(axis=1, keepdims=True), shape.ep, axis=1)
        for dp, ep in np.ndindex(shape.dp, shape.ep):
            _together(shape, moved, (dp, stage, ep), float(middle[dp, ep]), EXPERT_BYTES)
        middle = middle + EXPERT_BYTES / BYTES_PER_S
    return middle + half * (1.0 + shape.jitter * draw.standard_normal(since.shape))


def _send(shape: Shape, moved: Transfers, stage: int, onward: int, at: np.ndarray) -> None:
    for dp, ep, tp in np.ndindex(shape.dp, shape.ep, shape.tp):
        moved.add(shape.rank(dp, stage, ep, tp), float(at[dp, ep]), MESSAGE_BYTES, True)
        moved.add(shape.rank(dp, onward, ep, tp), float(at[dp, ep]), MESSAGE_BYTES, False)


def _together(shape: Shape, moved: Transfers, place: tuple[int, int, int], at: float, size: int) -> None:
    for tp in range(shape.tp):
        for sent in (True, False):
            moved.add(shape.rank(*place, tp), at, size, sent)


def name_of(shape: Shape, rank: int) -> str:
    return f"c{rank // shape.tp:03d}/mlx5_{rank % shape.tp}"


def endpoint_map(shape: Shape, version: int = 1, offset_s: float = 0.0, state: str = "running") -> EndpointMap:
    """The map of the job, all endpoints ready."""
    endpoints = tuple(
        Endpoint(
            endpoint=name_of(shape, rank),
            container=f"c{rank // shape.tp:03d}",
            host=f"h{rank // shape.tp:03d}",
            rnic=f"mlx5_{rank % shape.tp}",
            rail=rank % shape.tp,
            state="ready",
        )
        for rank in range(shape.ranks)
    )
    return EndpointMap(
        **_envelope("scheduler", offset_s, version),
        version=version,
        state=state,  # type: ignore[arg-type]
        reason="placement",
        endpoints=endpoints,
    )


def counter_messages(shape: Shape, moved: Transfers, seconds: int, every_s: int = 5) -> list[RnicCounters]:
    """Counters sampled at whole seconds, one message per container and ``every_s``."""
    at = np.arange(0, seconds + 1, dtype=float)
    totals = [[_total(rows, sent, at) for sent in (True, False)] for rows in moved.by_rank]
    messages = []
    for number, first in enumerate(range(0, seconds, every_s)):
        chosen = range(first + (first > 0), first + every_s + 1)
        for container in range(shape.ranks // shape.tp):
            columns = tuple(
                RnicColumns(
                    rnic=f"mlx5_{tp}",
                    t_us=tuple(BEGIN_US + second * SECOND_US for second in chosen),
                    tx_bytes=tuple(int(totals[container * shape.tp + tp][0][second]) for second in chosen),
                    rx_bytes=tuple(int(totals[container * shape.tp + tp][1][second]) for second in chosen),
                )
                for tp in range(shape.tp)
            )
            envelope = _envelope(f"agent:h{container:03d}/counters", first + every_s, number)
            messages.append(
                RnicCounters(**envelope, container=f"c{container:03d}", host=f"h{container:03d}", rnics=columns)
            )
    return messages


def _total(rows: Sequence[tuple[float, float, int, bool]], sent: bool, at: np.ndarray) -> np.ndarray:
    chosen = [row for row in rows if row[3] is sent]
    if not chosen:
        return np.full(len(at), 1e9)
    start, end, size = (np.array([row[column] for row in chosen], dtype=float) for column in range(3))
    part = np.clip((at[:, None] - start) / np.maximum(end - start, 1e-9), 0.0, 1.0)
    return np.floor(1e9 + (part * size).sum(axis=1))


def burst_messages(shape: Shape, moved: Transfers, seconds: int, every_s: int = 10) -> list[RnicBursts]:
    """Bursts as the hosts report them, to the microsecond."""
    messages = []
    for rank, rows in enumerate(moved.by_rank):
        for number, first in enumerate(range(0, seconds, every_s)):
            bursts = tuple(
                Burst(
                    start_us=BEGIN_US + round(start * SECOND_US),
                    end_us=BEGIN_US + round(end * SECOND_US),
                    bytes=size,
                    direction="tx" if sent else "rx",
                )
                for start, end, size, sent in rows
                if first < end <= first + every_s
            )
            envelope = _envelope(f"agent:{name_of(shape, rank)}/bursts", first + every_s, number)
            messages.append(RnicBursts(**envelope, endpoint=name_of(shape, rank), bursts=bursts))
    return messages


def _envelope(producer: str, offset_s: float, seq: int) -> dict[str, object]:
    return {
        "v": 1,
        "t_us": BEGIN_US + round(offset_s * SECOND_US),
        "producer": Producer(id=producer, kind="host", boot="b", seq=seq),
        "clock": CLOCK,
        "fabric": "f",
        "job": "j",
    }


TOPICS = {
    EndpointMap: "endpoint-map",
    RnicCounters: "rnic-counters",
    RnicBursts: "rnic-bursts",
    SkeletonOverride: "skeleton-overrides",
}


def fold_all(
    messages: Sequence[Message], until_s: int, parameters: SkeletonParameters | None = None
) -> tuple[list[Emission], JobState]:
    """What the engine says, given messages in event-time order, and its last state."""
    engine = SkeletonEngine(parameters or SkeletonParameters())
    state, sent = engine.start("j"), []
    for event in events(messages, until_s):
        state, emitted = engine.step(state, event)
        sent.extend(emitted)
    return sent, state


def fold(
    messages: Sequence[Message], until_s: int, parameters: SkeletonParameters | None = None
) -> tuple[list[Emission], JobState]:
    """The same, but only what is said of a job's pairs.

    Who reports on the job is another story (``tests/unit/skeleton/test_reporting.py``).
    """
    sent, state = fold_all(messages, until_s, parameters)
    return [emission for emission in sent if emission.topic != "reporting-gaps"], state


def events(messages: Sequence[Message], until_s: int) -> Iterator[Observation | TimeReached]:
    """Observations by second, each second followed by its ``TimeReached``."""
    waiting = sorted(messages, key=lambda m: (m.t_us, TOPICS[type(m)], m.producer.id, m.producer.seq))
    place = 0
    for second in range(until_s + 1):
        now_us = BEGIN_US + second * SECOND_US
        while place < len(waiting) and waiting[place].t_us <= now_us:
            yield Observation(TOPICS[type(waiting[place])], waiting[place])
            place += 1
        yield TimeReached(now_us)


def write_recording(path: Path, shape: Shape, seconds: int) -> Path:
    """A recording of the job, every message 20 ms after it was made."""
    moved = simulate(shape, seconds)
    messages: list[Message] = [
        endpoint_map(shape),
        *counter_messages(shape, moved, seconds),
        *burst_messages(shape, moved, seconds),
    ]
    lines = [
        (TOPICS[type(m)], "j", m.t_us + 20_000, Fragment(encode(TOPICS[type(m)], m)))  # type: ignore[index]
        for m in messages
    ]
    with RecordingWriter(path, compress=False) as writer:
        write_lines(writer, lines)
        span_us = BEGIN_US, BEGIN_US + seconds * SECOND_US
        writer.finish(about("simulated", "For tests.", span_us, "tests/simulated_jobs.py", "Apache-2.0"))
    return path
