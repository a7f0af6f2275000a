"""What is pending is due by number or by age, and remembers how far reading came."""

from __future__ import annotations

import polars as pl

from skeletonhunter.sinks.pending import Pending


def test_nothing_is_never_due() -> None:
    pending = Pending()
    pending.add({"t": pl.DataFrame({"a": []})})
    pending.pass_by({}, 5.0)
    assert not pending.is_due(rows=1, age_s=0.0, now_s=100.0)


def test_positions_alone_are_due_by_age_so_that_offsets_move_past_what_has_no_row() -> None:
    pending = Pending()
    pending.pass_by({("incidents", 0): 7}, 5.0)
    pending.pass_by({("incidents", 0): 9, ("incidents", 1): 1}, 5.5)
    assert not pending.is_due(rows=1, age_s=1.0, now_s=5.9)
    assert pending.is_due(rows=1, age_s=1.0, now_s=6.0)
    assert pending.positions == {("incidents", 0): 9, ("incidents", 1): 1}
    assert pending.merged() == {}


def test_enough_rows_are_due_at_once() -> None:
    pending = Pending()
    pending.pass_by({("incidents", 0): 7}, 5.0)
    pending.add({"t": pl.DataFrame({"a": [1, 2]})})
    pending.add({"t": pl.DataFrame({"a": [3]}), "u": pl.DataFrame({"b": [1]})})
    assert pending.is_due(rows=4, age_s=1.0, now_s=5.0)
    assert pending.merged()["t"]["a"].to_list() == [1, 2, 3]
