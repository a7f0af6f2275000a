"""Laws of detection and localization: what must not matter does not, and what they remember is bounded."""

from __future__ import annotations

import pickle
import random
from itertools import pairwise

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemas.control import Tick
from schemas.diagnosis import Incident
from schemas.envelope import Message
from schemas.folding import Emission
from schemas.instants import SECOND_US
from schemas.probing import ProbeResults
from streams.local import LocalPipeline
from streams.parameters import Parameters
from tests.small_fabric import (
    BEGIN_US,
    TOPICS,
    WELL,
    Suffers,
    by_time,
    endpoint,
    endpoint_map,
    fabric_map,
    health,
    incidents,
    probe_results,
    queues,
    run,
)
from tests.small_tables import Tables

SECONDS = 60
STAGES = ("detection", "localization")


def troubles(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
    """A dead RNIC from 20 to 40, a lossy link from 25 on, a slow pair from 30 on."""
    if 20 < second <= 40 and endpoint(6, 1) in (src, dst):
        return Suffers(loss=1.0)
    if second > 25 and "u-0-0-1" in path:
        return Suffers(loss=0.03)
    return Suffers(rtt=7.0) if second > 30 and (src, dst) == (endpoint(4, 1), endpoint(5, 1)) else WELL


@pytest.fixture(scope="module")
def messages() -> list[Message]:
    probes = probe_results(SECONDS, troubles)
    found: list[Message] = [fabric_map(), endpoint_map(), *probes, *health(SECONDS), *queues(SECONDS)]
    return by_time([*found, *Tables(SECONDS).messages()])


@pytest.fixture(scope="module")
def expected(messages: list[Message]) -> list[Emission]:
    sent = run(messages)
    blamed = {incident.component for incident in incidents(sent)}
    assert {"rnic:h6/mlx5_1", "link:u-0-0-1"} <= blamed, "the laws must have something to hold on to"
    return sent


def disordered(messages: list[Message], seed: int, bound_us: int) -> list[Message]:
    """The same messages, each up to ``bound_us`` late."""
    draw = random.Random(seed)
    late = [(message.t_us + draw.randrange(bound_us), number) for number, message in enumerate(messages)]
    return [messages[number] for _, number in sorted(late)]


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32))
@example(seed=112)
def test_order_within_the_lateness_bound_does_not_matter(
    messages: list[Message], expected: list[Emission], seed: int
) -> None:
    assert run(disordered(messages, seed, 5 * SECOND_US)) == expected


def test_duplicates_do_not_matter(messages: list[Message], expected: list[Emission]) -> None:
    assert run([each for message in messages for each in (message, message)]) == expected


def shifted(value: object, by_us: int) -> object:
    """A message or part of one with all its instants moved."""
    if isinstance(value, tuple | list):
        return tuple(shifted(each, by_us) for each in value)
    if not isinstance(value, msgspec.Struct):
        return value
    changed = {}
    for name in value.__struct_fields__:
        old = getattr(value, name)
        is_instant = name.endswith("_us") and name not in ("offset_us", "error_us", "rtt_us", "send_lag_us")
        if is_instant and isinstance(old, int):
            changed[name] = old + by_us
        elif is_instant and isinstance(old, tuple):
            changed[name] = tuple(each + by_us for each in old)
        else:
            changed[name] = shifted(old, by_us)
    return msgspec.structs.replace(value, **changed)


def essence(sent: list[Emission], back_us: int = 0) -> list[tuple[object, ...]]:
    """What incidents say apart from their ids, instants moved back."""
    return [
        (
            each.t_us - back_us,
            each.onset_us - back_us,
            each.state,
            each.kind,
            each.issue,
            each.component,
            each.confidence,
            each.endpoints,
            each.action,
            [(step.pass_, step.verdict, step.reason) for step in each.trace],
        )
        for each in incidents(sent)
    ]


@pytest.mark.parametrize("by_s", [1, 86_400 * 365, -40_000_000])
def test_a_shift_in_time_shifts_the_incidents_and_nothing_else(
    messages: list[Message], expected: list[Emission], by_s: int
) -> None:
    by_us = by_s * SECOND_US
    moved = [shifted(message, by_us) for message in messages]
    assert essence(run(moved), by_us) == essence(expected)  # type: ignore[arg-type]


def test_a_pickle_between_any_two_seconds_changes_nothing(messages: list[Message], expected: list[Emission]) -> None:
    sent: list[Emission] = []
    pipeline = LocalPipeline(Parameters(), sent.append, STAGES)
    for before, message in pairwise([messages[0], *messages]):
        second = message.t_us // SECOND_US
        if second > before.t_us // SECOND_US:
            pipeline.advance(Tick(t_us=second * SECOND_US, source="clock", offsets={}))
            for fold in pipeline.folds if second % 5 == 0 else ():
                fold.states = pickle.loads(pickle.dumps(fold.states))
        pipeline.admit(*TOPICS[type(message)], message)
    pipeline.advance(Tick(t_us=messages[-1].t_us, source="clock", offsets={}, final=True))
    assert sent == expected


def test_the_engines_leave_their_input_alone(messages: list[Message]) -> None:
    before = [msgspec.json.encode(message) for message in messages if not isinstance(message, ProbeResults)]
    run(messages)
    assert [msgspec.json.encode(m) for m in messages if not isinstance(m, ProbeResults)] == before


def state_bytes(seconds: int) -> int:
    """Size of all engine states after that long."""
    pipeline = LocalPipeline(Parameters(), lambda _: None, STAGES)
    parts: list[Message] = [fabric_map(), endpoint_map(), *probe_results(seconds), *health(seconds), *queues(seconds)]
    now_us = BEGIN_US
    for message in by_time([*parts, *Tables(seconds).messages()]):
        if message.t_us >= now_us + SECOND_US:
            now_us = message.t_us // SECOND_US * SECOND_US
            pipeline.advance(Tick(t_us=now_us, source="clock", offsets={}))
        pipeline.admit(*TOPICS[type(message)], message)
    return sum(len(pickle.dumps(fold.states)) for fold in pipeline.folds)


def test_memory_does_not_grow_with_the_length_of_the_stream() -> None:
    assert state_bytes(720) <= 1.25 * state_bytes(240)


def test_incident_ids_are_stable_over_updates(expected: list[Emission]) -> None:
    by_id: dict[str, list[Incident]] = {}
    for incident in incidents(expected):
        by_id.setdefault(incident.incident, []).append(incident)
    for states in by_id.values():
        assert [each.state for each in states].count("open") == 1
        assert states[0].state == "open"
        assert len({each.onset_us for each in states}) == 1
        assert all(later.t_us >= earlier.t_us for earlier, later in pairwise(states))
