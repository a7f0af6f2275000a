"""The sequencer, case by case; what holds for all cases is in tests/laws/test_sequencer_laws.py."""

from __future__ import annotations

from itertools import islice

import msgspec
import pytest

from schemas.codec import BadRecord
from schemas.folding import Event, Observation, TimeReached
from schemas.instants import SECOND_US
from schemas.maps import EndpointMap
from schemas.telemetry import DeviceEvent
from streams.sequencer import CATCH_UP_US, FORGET_EVERY_US, SEEN_US, Sequencer
from tests.toys import CLOCK, at, device_event

TOPIC = "device-events"


def names(events: list[Event]) -> list[str]:
    """Events in short: ``T3`` = time reached 3 s, ``a7`` = message 7 of agent a."""
    return [
        f"T{(event.t_us - at(0)) // SECOND_US}"
        if isinstance(event, TimeReached)
        else event.value.producer.id.removeprefix("agent:").split("/")[0] + str(event.value.producer.seq)
        for event in events
    ]


def admitted(*values: DeviceEvent) -> Sequencer:
    sequencer = Sequencer()
    for value in values:
        assert sequencer.admit(TOPIC, value) == "new"
    return sequencer


def release(sequencer: Sequencer, offset_s: float) -> list[str]:
    return names(list(sequencer.release(at(offset_s))))


def test_orders_by_instant_and_then_by_producer_and_number() -> None:
    sequencer = admitted(
        device_event(1.5, seq=2),
        device_event(0.5, seq=9, agent="b"),
        device_event(0.5, seq=1),
        device_event(0.5, seq=0),
    )
    assert release(sequencer, 2) == ["a0", "a1", "b9", "T1", "a2", "T2"]


def test_a_message_on_a_whole_second_belongs_to_the_second_that_ends_there() -> None:
    assert release(admitted(device_event(1, seq=1), device_event(1.000001, seq=2)), 2) == ["a1", "T1", "a2", "T2"]


def test_silent_seconds_are_reached_too_each_once() -> None:
    sequencer = admitted(device_event(1, seq=1))
    assert release(sequencer, 3) == ["a1", "T1", "T2", "T3"]
    assert release(sequencer, 3) == []
    assert release(sequencer, 2) == []
    assert release(sequencer, 4) == ["T4"]


def test_a_key_without_messages_does_not_begin() -> None:
    assert release(Sequencer(), 10) == []
    assert release(admitted(device_event(20, seq=1)), 10) == []


def test_late_is_what_belongs_to_a_released_second() -> None:
    sequencer = admitted(device_event(1, seq=1))
    release(sequencer, 2)
    assert sequencer.admit(TOPIC, device_event(2, seq=2)) == "late"
    assert sequencer.admit(TOPIC, device_event(2.000001, seq=3)) == "new"
    assert (sequencer.counts.new, sequencer.counts.late) == (2, 1)


def test_redelivery_is_recognised_before_and_after_release() -> None:
    event = device_event(1, seq=1)
    sequencer = admitted(event)
    assert sequencer.admit(TOPIC, event) == "duplicate"
    assert release(sequencer, 1) == ["a1", "T1"]
    assert sequencer.admit(TOPIC, event) == "duplicate"
    assert sequencer.counts.duplicate == 2


def test_another_boot_or_topic_counts_its_messages_anew() -> None:
    event = device_event(1, seq=1)
    rebooted = msgspec.structs.replace(event, producer=msgspec.structs.replace(event.producer, boot="b2"))
    sequencer = admitted(event, rebooted)
    assert sequencer.admit("flow-tables", event) == "new"
    assert len(list(sequencer.release(at(1)))) == 4


@pytest.mark.parametrize("other", [device_event(1, seq=1, text="other"), device_event(2, seq=1)])
def test_a_number_used_for_other_content_is_refused(other: DeviceEvent) -> None:
    sequencer = admitted(device_event(1, seq=1))
    with pytest.raises(BadRecord, match=r"producer agent:a/device-events \(boot b1\) used seq 1 for other content"):
        sequencer.admit(TOPIC, other)
    assert release(sequencer, 1) == ["a1", "T1"]


def test_numbers_are_forgotten_after_a_while_so_that_memory_is_bounded() -> None:
    sequencer = admitted(*(device_event(second, seq=second) for second in range(1, 301)))
    release(sequencer, 300)
    kept = sum(len(seqs) for seqs in sequencer.seen.values())
    assert SEEN_US / SECOND_US <= kept <= (SEEN_US + FORGET_EVERY_US) / SECOND_US


def test_a_silent_stream_leaves_nothing_behind() -> None:
    sequencer = admitted(device_event(1, seq=1))
    release(sequencer, 200)
    assert (sequencer.seen, sequencer.waiting) == ({}, {})


def test_what_is_older_than_the_catch_up_is_late_and_not_a_reason_to_count_seconds() -> None:
    hours_ago, now = device_event(0, seq=1), device_event(10_000, seq=2)
    sequencer = admitted(hours_ago, now)
    assert release(sequencer, 10_000) == ["a2", "T10000"]
    assert (sequencer.counts.new, sequencer.counts.late) == (1, 1)
    assert sequencer.admit(TOPIC, hours_ago) == "duplicate"


def test_a_redelivery_of_what_was_too_old_is_recognised_before_the_key_begins() -> None:
    hours_ago = device_event(0, seq=1)
    sequencer = admitted(hours_ago)
    assert release(sequencer, 10_000) == []
    assert sequencer.admit(TOPIC, hours_ago) == "duplicate"


def old_map(offset_s: float, seq: int) -> EndpointMap:
    event = device_event(offset_s, seq=seq, agent="map")
    return EndpointMap(
        v=1,
        t_us=event.t_us,
        producer=event.producer,
        clock=CLOCK,
        fabric="f",
        job="j",
        version=seq,
        state="running",
        reason="",
        endpoints=(),
    )


def test_maps_hold_however_old_they_are() -> None:
    sequencer = admitted(device_event(10_000, seq=2))
    sequencer.admit("endpoint-map", old_map(500, seq=2))
    sequencer.admit("endpoint-map", old_map(100, seq=1))
    assert release(sequencer, 10_001) == ["map1", "map2", "a2", "T10000", "T10001"]


def test_a_key_that_has_only_an_old_map_begins_now() -> None:
    sequencer = Sequencer()
    sequencer.admit("endpoint-map", old_map(100, seq=1))
    assert release(sequencer, 10_000) == ["map1", "T10000"]
    assert sequencer.admit("endpoint-map", old_map(100, seq=1)) == "duplicate"


def test_an_old_map_does_not_wait_for_measurements() -> None:
    sequencer = admitted(device_event(10_006, seq=2))
    sequencer.admit("endpoint-map", old_map(100, seq=1))
    assert release(sequencer, 10_000) == ["map1", "T10000"]


def test_a_late_map_counts_from_the_next_second_on() -> None:
    sequencer = admitted(device_event(1, seq=1), device_event(3, seq=2))
    release(sequencer, 2)
    assert sequencer.admit("endpoint-map", old_map(0.5, seq=1)) == "new"
    events = list(sequencer.release(at(3)))
    assert names(events) == ["map1", "a2", "T3"]
    assert isinstance(events[0], Observation)
    assert events[0].value.t_us == at(2.000001)
    assert sequencer.admit("endpoint-map", old_map(0.5, seq=1)) == "duplicate"
    assert sequencer.counts.late == 0


def test_a_late_map_that_waits_is_not_settled() -> None:
    sequencer = admitted(device_event(1, seq=1))
    release(sequencer, 2)
    sequencer.admit("endpoint-map", old_map(0.5, seq=1))
    settled = sequencer.settled()
    assert settled.admit("endpoint-map", old_map(0.5, seq=1)) == "new"
    assert release(settled, 3) == ["map1", "T3"]


def test_catches_up_from_the_oldest_message_within_the_bound() -> None:
    sequencer = admitted(device_event(1, seq=1))
    events = list(sequencer.release(at(1) + CATCH_UP_US))
    assert len(events) == 1 + CATCH_UP_US // SECOND_US + 1


def test_settled_knows_what_was_handed_out_and_nothing_else() -> None:
    sequencer = admitted(device_event(1, seq=1), device_event(5, seq=2))
    release(sequencer, 2)
    settled = sequencer.settled()
    assert settled.admit(TOPIC, device_event(1, seq=1)) == "duplicate"
    assert settled.admit(TOPIC, device_event(5, seq=2)) == "new"
    assert settled.counts == type(settled.counts)(new=2, duplicate=1)
    assert release(settled, 5) == ["T3", "T4", "a2", "T5"]


def test_who_is_late_or_before_its_time_is_named_with_the_next_second() -> None:
    sequencer = admitted(device_event(1, seq=1))
    assert list(sequencer.release(at(2), at(8)))[-1] == TimeReached(at(2))
    sequencer.admit("device-events", device_event(1.5, seq=2, agent="late"))
    sequencer.admit("device-events", device_event(9, seq=3, agent="in-time"))
    sequencer.admit("device-events", device_event(15, seq=4, agent="ahead"))
    strays = [event.strays for event in sequencer.release(at(4), at(10)) if isinstance(event, TimeReached)]
    assert [[(each.producer.split("/")[0], each.lead_us) for each in second] for second in strays] == [
        [("agent:ahead", 7_000_000), ("agent:late", -6_500_000)],
        [],
    ]


@pytest.mark.parametrize(("seconds", "early"), [(11, []), (30, []), (44, [34_000_000])])
def test_who_seemed_early_while_no_tick_came_was_not(seconds: int, early: list[int]) -> None:
    sequencer = Sequencer()
    sequencer.admit("device-events", device_event(1, 1))
    assert list(sequencer.release(at(4), at(10)))
    sequencer.admit("device-events", device_event(seconds, 2))  # the next tick comes after half a minute
    (first, *_) = [event.strays for event in sequencer.release(at(34), at(40)) if isinstance(event, TimeReached)]
    assert [each.lead_us for each in first] == early


def test_a_gap_of_decades_is_not_counted_second_by_second() -> None:
    """A machine whose clock had begun in 1970 comes first in a recording, and the others fifty years later."""
    sequencer = admitted(device_event(1.5, seq=1), device_event(12, seq=9))
    assert release(sequencer, 10)[-1] == "T10"
    years_s = 55 * 365 * 86_400
    assert sequencer.admit(TOPIC, device_event(years_s, seq=2)) == "new"
    events = list(islice(sequencer.release(at(years_s + 2)), 10_000))
    assert names(events[:3]) == ["T11", "a9", "T12"]
    assert len(events) == CATCH_UP_US // SECOND_US + 7
    assert names(events[-4:]) == ["a2", *(f"T{years_s + later}" for later in (0, 1, 2))]
    assert release(sequencer, years_s + 3) == [f"T{years_s + 3}"]


def test_a_gap_of_days_is() -> None:
    sequencer = admitted(device_event(1.5, seq=1))
    release(sequencer, 10)
    assert sum(1 for _ in sequencer.release(at(3 * 86_400))) == 3 * 86_400 - 10
