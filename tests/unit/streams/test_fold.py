"""One stage at work on one partition: ticks, keys, snapshots."""

from __future__ import annotations

from streams.fold import StageFold
from tests.toys import ECHO, PARAMETERS, at, device_event, tick

HOLD_S = PARAMETERS.time.lateness_s + PARAMETERS.time.slack_s


def fold_with(*offsets_s: float, key: str = "f") -> StageFold:
    fold = StageFold(ECHO, PARAMETERS)
    for seq, offset_s in enumerate(offsets_s):
        fold.admit("device-events", key, device_event(offset_s, seq=seq))
    return fold


def seconds_said(fold: StageFold, offset_s: float, final: bool = False) -> list[int]:
    return [(emission.value.t_us - at(0)) // 1_000_000 for emission in fold.advance(tick(offset_s, final))]


def test_a_tick_releases_whole_seconds_behind_the_lateness_bound_and_the_slack() -> None:
    fold = fold_with(1)
    assert seconds_said(fold, 1 + HOLD_S - 0.000001) == []
    assert seconds_said(fold, 1 + HOLD_S) == [1]
    assert seconds_said(fold, 3.7 + HOLD_S) == [2, 3]


def test_the_final_tick_releases_its_own_second() -> None:
    assert seconds_said(fold_with(1, 2.5, 60), 2.5, final=True) == [1, 2, 3]


def test_ticks_that_run_backwards_or_come_twice_change_nothing() -> None:
    fold = fold_with(1)
    assert seconds_said(fold, 10) == [1, 2, 3, 4]
    assert seconds_said(fold, 10) == []
    assert seconds_said(fold, 9) == []


def test_keys_speak_in_alphabetical_order_each_in_its_own_time() -> None:
    fold = fold_with(2, key="y")
    fold.admit("device-events", "x", device_event(1, seq=7))
    assert [emission.key for emission in fold.advance(tick(2, final=True))] == ["x", "x", "y"]


def test_changed_names_the_keys_that_moved() -> None:
    fold = fold_with(1)
    assert fold.changed == set()
    fold.advance(tick(1, final=True))
    assert fold.changed == {"f"}


def test_counts_add_up_over_keys() -> None:
    fold = fold_with(1)
    fold.admit("device-events", "g", device_event(1, seq=1))
    fold.admit("device-events", "g", device_event(1, seq=1))
    fold.advance(tick(1, final=True))
    fold.admit("device-events", "f", device_event(0.5, seq=3))
    assert (fold.counts().new, fold.counts().duplicate, fold.counts().late) == (2, 1, 1)


def test_a_restored_key_goes_on_where_the_snapshot_was_taken() -> None:
    fold = fold_with(1, 2, 9)
    fold.advance(tick(2 + HOLD_S))
    heir = StageFold(ECHO, PARAMETERS)
    heir.restore("f", fold.snapshot("f"))
    for seq, offset_s in enumerate((1, 2, 9)):
        heir.admit("device-events", "f", device_event(offset_s, seq=seq))
    assert heir.advance(tick(9, final=True)) == fold.advance(tick(9, final=True))
