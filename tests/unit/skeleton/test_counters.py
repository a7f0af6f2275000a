"""Cumulative counters to increments: resets, unread values, clocks that step back."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from schemas.envelope import Clock, Producer
from schemas.telemetry import RnicColumns, RnicCounters
from skeleton.counters import CounterLog, CounterSeries

Cell = int | None


def message(rows: list[tuple[int, Cell, Cell]], seq: int = 0, boot: str = "b") -> RnicCounters:
    columns = RnicColumns(
        rnic="r",
        t_us=tuple(t for t, _, _ in rows),
        tx_bytes=tuple(tx for _, tx, _ in rows),
        rx_bytes=tuple(rx for _, _, rx in rows),
    )
    return RnicCounters(
        v=1,
        t_us=rows[-1][0] if rows else 0,
        producer=Producer(id="a", kind="k", boot=boot, seq=seq),
        clock=Clock(source="ptp", offset_us=0.0, error_us=1.0),
        fabric="f",
        job="j",
        container="c",
        host="h",
        rnics=(columns,),
    )


def series_of(*messages: RnicCounters) -> CounterSeries:
    log = CounterLog()
    for one in messages:
        log.add(one)
    log.settle(("c/r",), 0)
    return log.series["c/r"]


def test_increments_continue_over_messages() -> None:
    series = series_of(message([(1, 10, 5), (2, 30, 5)]), message([(3, 31, 9)], seq=1))
    assert series.t_us.tolist() == [1, 2, 3]
    assert series.tx[1:].tolist() == [20, 1]
    assert series.rx[1:].tolist() == [0, 4]
    assert np.isnan(series.tx[0])


def test_a_decrease_is_a_reset() -> None:
    series = series_of(message([(1, 100, 100), (2, 40, 120), (3, 50, 130)]))
    assert np.isnan(series.tx[1]) and np.isnan(series.rx[1])
    assert series.tx[2] == 10


def test_a_new_boot_is_a_reset_even_if_the_counter_grew() -> None:
    series = series_of(message([(1, 100, 0)]), message([(2, 900, 0), (3, 901, 0)], boot="b2"))
    assert np.isnan(series.tx[1])
    assert series.tx[2] == 1


def test_an_unread_value_is_bridged_not_zero() -> None:
    series = series_of(message([(1, 10, 0), (2, None, 0), (3, 40, 0), (4, 50, None), (5, 60, 0)]))
    assert series.t_us.tolist() == [1, 3, 5]
    assert series.tx[1:].tolist() == [30, 20]


def test_samples_that_do_not_move_forward_are_left_out() -> None:
    series = series_of(
        message([(10, 1, 0), (5, 2, 0), (10, 3, 0), (11, 4, 0)]), message([(9, 5, 0), (12, 6, 0)], seq=1)
    )
    assert series.t_us.tolist() == [10, 11, 12]
    assert series.tx[1:].tolist() == [3, 2]


def test_empty_messages_and_only_unread_values_say_nothing() -> None:
    assert len(series_of(message([]), message([(1, None, None)], seq=1)).t_us) == 0


def test_strangers_and_old_samples_are_forgotten() -> None:
    log = CounterLog()
    log.add(message([(second, second, 0) for second in range(1, 101)]))
    log.settle(None, 0)
    assert set(log.series) == {"c/r"}
    log.settle(("c/r",), 90)
    assert log.series["c/r"].t_us.tolist() == list(range(90, 101))
    log.settle(("other/r",), 90)
    assert log.series == {}


@given(
    st.lists(st.integers(0, 10**9), min_size=1, max_size=40),
    st.lists(st.integers(1, 40), max_size=6, unique=True),
)
@settings(max_examples=60, deadline=None)
def test_cutting_a_stream_into_messages_changes_nothing(steps: list[int], cuts: list[int]) -> None:
    totals = np.cumsum(steps).tolist()
    rows: list[tuple[int, Cell, Cell]] = [(second + 1, total, 0) for second, total in enumerate(totals)]
    edges = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    whole = series_of(message(rows))
    pieces = series_of(*(message(rows[a:b], seq=a) for a, b in pairwise(edges)))
    assert pieces.t_us.tolist() == whole.t_us.tolist()
    assert pieces.tx[1:].tolist() == whole.tx[1:].tolist()
    assert float(whole.tx[1:].astype(float).sum()) == pytest.approx(totals[-1] - totals[0], rel=1e-6)


cells = st.none() | st.integers(0, 50)
polls = st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=5)


def read_together(data: st.DataObject, rnics: int) -> list[RnicCounters]:
    """Messages of a container whose RNICs are read at the same instants, as a rule."""
    made, now = [], 1_000_000
    for seq, (steps, restarted) in enumerate(data.draw(polls)):
        instants = [now := now + data.draw(st.sampled_from([1, 1_000_000])) for _ in range(steps)]
        columns = []
        for rnic in range(rnics):
            odd = data.draw(st.integers(0, 6)) == 0
            own = [at + odd * data.draw(st.integers(-2, 0)) for at in instants]
            counts = data.draw(st.lists(st.tuples(cells, cells), min_size=steps, max_size=steps)) if odd else None
            steady = [(at // 1000 * (rnic + 1), at // 500) for at in instants]
            tx, rx = zip(*(counts or steady), strict=True)
            columns.append(RnicColumns(rnic=f"r{rnic}", t_us=tuple(own), tx_bytes=tx, rx_bytes=rx))
        base = message([(now, 0, 0)], seq, "b1" if restarted else "b0")
        made.append(structs.replace(base, rnics=tuple(columns)))
    return made


@given(st.data(), st.integers(0, 6_000_000))
def test_settling_together_is_settling_one_by_one(data: st.DataObject, before_us: int) -> None:
    rnics = data.draw(st.integers(1, 4))
    together, alone = CounterLog(), CounterLog()
    for one in read_together(data, rnics):
        together.add(one)
        alone.add(one)
        if data.draw(st.booleans()):
            together = pickle.loads(pickle.dumps(together))
            together.settle(None, before_us)
            for series in alone.series.values():
                series.settle()
                series.forget(before_us)
    for name, series in together.series.items():
        other = alone.series[name]
        assert (series.last, len(series.waiting)) == (other.last, len(other.waiting))
        for column, expected in zip((series.t_us, series.tx, series.rx), (other.t_us, other.tx, other.rx), strict=True):
            assert column.dtype == expected.dtype and column.tobytes() == expected.tobytes()
        assert all(map(np.array_equal, np.nan_to_num(series.fresh()), np.nan_to_num(other.fresh())))


def test_rnics_that_are_read_together_are_settled_together() -> None:
    log = CounterLog()
    for seq in range(2):
        columns = tuple(
            RnicColumns(rnic=f"r{n}", t_us=(seq * 2 + 1, seq * 2 + 2), tx_bytes=(n, n + seq), rx_bytes=(0, 5))
            for n in range(3)
        )
        log.add(structs.replace(message([(2 + seq, 0, 0)], seq), rnics=columns))
    log.settle(None, 0)
    first, *others = log.series.values()
    assert first.t_us.tolist() == [1, 2, 3, 4]
    assert all(series.t_us is first.t_us for series in others)
