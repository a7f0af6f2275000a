"""Laws of the skeleton engine: what must not matter does not, and what it remembers is bounded."""

from __future__ import annotations

import pickle
import random
from itertools import islice

import msgspec
import pytest

from schemas.control import Tick
from schemas.envelope import Message
from schemas.folding import Emission
from schemas.instants import SECOND_US
from schemas.skeletons import SkeletonUpdate
from schemas.telemetry import RnicBursts, RnicCounters
from skeleton.engine import SkeletonEngine
from skeleton.parameters import SkeletonParameters
from streams.local import LocalPipeline
from streams.parameters import Parameters
from tests.simulated_jobs import (
    BEGIN_US,
    TOPICS,
    Shape,
    burst_messages,
    counter_messages,
    endpoint_map,
    events,
    fold,
    fold_all,
    simulate,
)

SHAPE = Shape(tp=2, pp=2, dp=3)
SECONDS = 80


@pytest.fixture(scope="module")
def messages() -> list[Message]:
    moved = simulate(SHAPE, SECONDS)
    return [endpoint_map(SHAPE), *counter_messages(SHAPE, moved, SECONDS), *burst_messages(SHAPE, moved, SECONDS)]


def through_pipeline(arrivals: list[Message]) -> list[Emission]:
    """What the skeleton stage sends when messages arrive in this order, time passing with the newest arrival."""
    sent: list[Emission] = []
    pipeline = LocalPipeline(Parameters(), sent.append, ("skeleton",))
    now_us = BEGIN_US
    for message in arrivals:
        if message.t_us > now_us:
            for second in range(now_us // SECOND_US + 1, message.t_us // SECOND_US + 1):
                pipeline.advance(Tick(t_us=second * SECOND_US, source="clock", offsets={}))
            now_us = message.t_us
        pipeline.admit(TOPICS[type(message)], "j", message)  # type: ignore[index]
    pipeline.advance(Tick(t_us=BEGIN_US + SECONDS * SECOND_US, source="clock", offsets={}, final=True))
    return sent


def by_time(message: Message) -> tuple[int, str]:
    return message.t_us, message.producer.id


def test_order_within_lateness_does_not_matter(messages: list[Message]) -> None:
    in_order = sorted(messages, key=by_time)
    draw = random.Random(3)
    shuffled = sorted(messages, key=lambda m: m.t_us + draw.randrange(4 * SECOND_US))
    assert shuffled != in_order
    assert through_pipeline(shuffled) == through_pipeline(in_order)


def test_duplicate_delivery_does_not_matter(messages: list[Message]) -> None:
    in_order = sorted(messages, key=by_time)
    draw = random.Random(5)
    doubled = sorted([*in_order, *draw.sample(in_order, len(in_order) // 3)], key=by_time)
    assert through_pipeline(doubled) == through_pipeline(in_order)


def test_time_shift_shifts_only_time(messages: list[Message]) -> None:
    plain = [emission.value for emission in fold(messages, SECONDS)[0]]
    hours_us = 7 * 3600 * SECOND_US
    engine = SkeletonEngine(SkeletonParameters())
    state, later = engine.start("j"), []
    for event in events(messages, SECONDS):
        moved = (
            event._replace(t_us=event.t_us + hours_us)
            if hasattr(event, "t_us")
            else event._replace(value=_shift(event.value, hours_us))
        )
        state, sent = engine.step(state, moved)
        later.extend(emission.value for emission in sent if emission.topic != "reporting-gaps")
    assert [_unstamped(update) for update in later] == [_unstamped(update) for update in plain]
    assert [update.t_us for update in later] == [update.t_us + hours_us for update in plain]


def _shift(message: Message, by_us: int) -> Message:
    moved = msgspec.structs.replace(message, t_us=message.t_us + by_us)
    if isinstance(moved, RnicCounters):
        columns = [msgspec.structs.replace(c, t_us=tuple(t + by_us for t in c.t_us)) for c in moved.rnics]
        return msgspec.structs.replace(moved, rnics=tuple(columns))
    if isinstance(moved, RnicBursts):
        shifted = [
            msgspec.structs.replace(b, start_us=b.start_us + by_us, end_us=b.end_us + by_us) for b in moved.bursts
        ]
        return msgspec.structs.replace(moved, bursts=tuple(shifted))
    return moved


def _unstamped(update: object) -> object:
    assert isinstance(update, SkeletonUpdate)
    evidence = {name: value for name, value in update.evidence.items() if not name.endswith("_us")}
    return msgspec.structs.replace(update, t_us=0, evidence=evidence)


def test_names_do_not_matter(messages: list[Message]) -> None:
    """Hosts and containers under other names, in another alphabetical order: the same pairs."""
    number = {f"{index:03d}": f"{(index * 5) % 6:03d}" for index in range(6)}

    def renamed(raw: bytes) -> bytes:
        text = raw.decode()
        for old, new in number.items():
            for kind in ("c", "h"):
                text = text.replace(f"{kind}{old}", f"{kind.upper()}{new}")
        return text.replace("C", "c").replace("H", "h").encode()

    others = [msgspec.json.decode(renamed(msgspec.json.encode(m)), type=type(m)) for m in messages]
    plain, other = fold(messages, SECONDS)[0][-1].value, fold(others, SECONDS)[0][-1].value
    assert isinstance(plain, SkeletonUpdate) and isinstance(other, SkeletonUpdate)
    expected = {(*sorted(renamed(name.encode()).decode() for name in edge[:2]), edge[2]) for edge in plain.edges}
    assert plain.edges and {tuple(edge) for edge in other.edges} == expected
    assert (other.state, other.confidence, other.period_s) == (plain.state, plain.confidence, plain.period_s)


@pytest.mark.parametrize("cut", [1, 400, 900])
def test_folding_goes_on_from_a_pickle(messages: list[Message], cut: int) -> None:
    whole = fold_all(messages, SECONDS)[0]
    engine = SkeletonEngine(SkeletonParameters())
    state, sent = engine.start("j"), []
    stream = events(messages, SECONDS)
    for event in islice(stream, cut):
        state, emitted = engine.step(state, event)
        sent.extend(emitted)
    state = pickle.loads(pickle.dumps(state))
    engine = SkeletonEngine(SkeletonParameters())
    for event in stream:
        state, emitted = engine.step(state, event)
        sent.extend(emitted)
    assert sent == whole


def test_memory_is_bounded_over_a_tenfold_stream() -> None:
    parameters = SkeletonParameters(window_s=60.0)
    sizes = {}
    for seconds in (100, 1000):
        moved = simulate(Shape(tp=1, pp=2, dp=2), seconds)
        shape = Shape(tp=1, pp=2, dp=2)
        stream = [endpoint_map(shape), *counter_messages(shape, moved, seconds), *burst_messages(shape, moved, seconds)]
        sizes[seconds] = len(pickle.dumps(fold(stream, seconds, parameters)[1]))
    assert sizes[1000] < 1.3 * sizes[100]


def test_the_same_stream_gives_the_same_bytes(messages: list[Message]) -> None:
    assert fold(messages, SECONDS)[0] == fold(messages, SECONDS)[0]
