"""What must hold of sequencing whatever arrives: order of arrival, re-delivery, ticks and crashes change nothing."""

from __future__ import annotations

import random
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from schemas.folding import Emission
from schemas.instants import SECOND_US
from schemas.telemetry import DeviceEvent
from streams.fold import StageFold
from tests.toys import ECHO, PARAMETERS, at, device_event, tick

HOLD_S = int(PARAMETERS.time.lateness_s + PARAMETERS.time.slack_s)
END_S = 40

events = st.lists(st.tuples(st.integers(0, 30 * 4), st.sampled_from("abc")), min_size=1, max_size=30, unique=True).map(
    lambda drawn: [device_event(quarter / 4, seq, agent) for seq, (quarter, agent) in enumerate(drawn)]
)


@dataclass(frozen=True)
class Arrival:
    """A message and the second in which it arrives."""

    second: int
    value: DeviceEvent


def arrivals_of(values: list[DeviceEvent], seed: int, delay_s: int) -> list[Arrival]:
    """Each message once, up to ``delay_s`` after its event time, in an order that the seed decides."""
    draw = random.Random(seed)
    arrivals = [Arrival(-(-(v.t_us - at(0)) // SECOND_US) + draw.randint(0, delay_s), v) for v in values]
    draw.shuffle(arrivals)
    return sorted(arrivals, key=lambda arrival: arrival.second)


def run(fold: StageFold, arrivals: list[Arrival], seconds: range) -> list[Emission]:
    said: list[Emission] = []
    for second in seconds:
        for arrival in arrivals:
            if arrival.second == second:
                fold.admit("device-events", arrival.value.fabric, arrival.value)
        said += fold.advance(tick(second))
    return said


def outcome(arrivals: list[Arrival]) -> list[Emission]:
    fold = StageFold(ECHO, PARAMETERS)
    said = run(fold, arrivals, range(-1, END_S))
    return said + fold.advance(tick(END_S, final=True))


@given(events, st.integers(0, 99), st.integers(0, 99))
def test_order_of_arrival_within_the_bound_changes_nothing(values: list[DeviceEvent], one: int, other: int) -> None:
    assert outcome(arrivals_of(values, one, HOLD_S - 1)) == outcome(arrivals_of(values, other, HOLD_S - 1))


@given(events, st.integers(0, 99))
def test_every_message_is_heard_once_and_every_second_reached_once(values: list[DeviceEvent], seed: int) -> None:
    said = outcome(arrivals_of(values, seed, HOLD_S - 1))
    heard = [text for emission in said for text in emission.value.text.split("; ") if text]
    assert len(heard) == len(values)
    first = min(-(-v.t_us // SECOND_US) for v in values)
    assert [e.value.t_us // SECOND_US for e in said] == list(range(first, at(END_S) // SECOND_US + 1))


@given(events, st.integers(0, 99), st.data())
def test_redelivery_changes_nothing(values: list[DeviceEvent], seed: int, data: st.DataObject) -> None:
    arrivals = arrivals_of(values, seed, HOLD_S - 1)
    again = [Arrival(a.second + data.draw(st.integers(0, 5)), a.value) for a in arrivals]
    assert outcome(arrivals + again) == outcome(arrivals)


@given(events, events, st.integers(0, 99))
def test_late_messages_change_nothing(values: list[DeviceEvent], others: list[DeviceEvent], seed: int) -> None:
    """Late = behind what its key has released; only a key that has begun has released anything."""
    begin = [device_event(0, seq=1, agent="first")]
    late = [Arrival(END_S - 1, device_event((v.t_us - at(0)) / SECOND_US, v.producer.seq, "late")) for v in others]
    arrivals = arrivals_of(begin + values, seed, HOLD_S - 1)
    assert outcome(arrivals + late) == outcome(arrivals)


@given(events, st.integers(0, 99))
def test_how_often_time_ticks_changes_nothing(values: list[DeviceEvent], seed: int) -> None:
    fold = StageFold(ECHO, PARAMETERS)
    for arrival in arrivals_of(values, seed, 0):
        fold.admit("device-events", "f", arrival.value)
    assert fold.advance(tick(END_S, final=True)) == outcome(arrivals_of(values, seed, 0))


@given(events, st.integers(0, 99), st.integers(0, END_S - 1))
def test_a_crash_with_redelivery_changes_nothing(values: list[DeviceEvent], seed: int, crash_s: int) -> None:
    """The heir has the snapshot of second ``crash_s`` and gets every message again that had arrived."""
    arrivals = arrivals_of(values, seed, HOLD_S - 1)
    fold = StageFold(ECHO, PARAMETERS)
    said = run(fold, arrivals, range(-1, crash_s + 1))
    heir = StageFold(ECHO, PARAMETERS)
    for key in fold.states:
        heir.restore(key, fold.snapshot(key))
    redelivered = [Arrival(max(a.second, crash_s + 1), a.value) for a in arrivals]
    said += run(heir, redelivered, range(crash_s + 1, END_S))
    assert said + heir.advance(tick(END_S, final=True)) == outcome(arrivals)
    assert heir.counts().new == len(values)


@given(st.integers(1, 20))
def test_memory_is_bounded_by_the_rate_not_by_the_length(minutes: int) -> None:
    fold = StageFold(ECHO, PARAMETERS)
    arrivals = [Arrival(second, device_event(second, seq=second)) for second in range(0, minutes * 60, 5)]
    run(fold, arrivals, range(0, minutes * 60, 5))
    assert len(fold.snapshot("f")) < 4000
