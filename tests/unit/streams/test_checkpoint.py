"""A state that was being written when the worker died must be readable: cut the writing off after every row."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from localization import judging
from schemas.instants import SECOND_US
from streams import shapes
from streams.barrier import Moment
from streams.checkpoint import CHUNK_BYTES, Checkpoint, DamagedError, Mark, Pace, partition_of
from streams.parameters import Parameters
from streams.shapes import shape_of

RANDOM = random.Random(4)
BIG = [RANDOM.randbytes(int(2.5 * CHUNK_BYTES)) for _ in range(3)]
"""Bytes that do not compress, so they are cut into pieces."""


def mark(t_us: int) -> Mark:
    return Mark(Moment(t_us, False), {"raw": t_us}, {0: {"derived": t_us}})


def states(number: int) -> dict[str, bytes]:
    return {"big": BIG[number], "small": b"state %d" % number}


def test_what_was_written_is_read() -> None:
    rows = kept({}, Checkpoint("s", 3).rows(iter(states(0).items()), mark(7)))
    assert Checkpoint("s", 3).read(rows) == (mark(7), states(0))
    assert Checkpoint("s", 4).read(rows) == (None, {})
    assert Checkpoint("t", 3).read(rows) == (None, {})
    assert {partition_of(name) for name in rows} == {3}


def test_no_row_is_too_large_for_kafka() -> None:
    rows = kept({}, Checkpoint("s", 0).rows(iter(states(0).items()), mark(7)))
    assert max(len(row) for row in rows.values()) <= CHUNK_BYTES + 1000


@pytest.mark.parametrize("reborn", [False, True], ids=["same worker", "another worker"])
def test_a_crash_after_any_row_leaves_each_key_in_a_state_that_it_had(reborn: bool) -> None:
    table: dict[bytes, bytes] = {}
    writer = Checkpoint("s", 0)
    kept(table, writer.rows(iter(states(0).items()), mark(10)))
    for number in (1, 2):
        if reborn:
            writer = Checkpoint("s", 0)
            writer.read(table)
        before, after = states(number - 1), states(number)
        for name, row in writer.rows(iter(after.items()), mark(10 + number)):
            assert row is not None
            table[name] = row
            found, snapshots = Checkpoint("s", 0).read(table)
            assert found in (mark(10 + number - 1), mark(10 + number))
            for key, snapshot in snapshots.items():
                assert snapshot in (before[key], after[key])
        assert Checkpoint("s", 0).read(table) == (mark(10 + number), after)


def test_the_mark_comes_last() -> None:
    names = [name for name, _ in Checkpoint("s", 0).rows(iter(states(0).items()), mark(1))]
    assert names[-1] == b"s|0|mark"


def test_pieces_of_two_writers_are_found_out() -> None:
    table = kept({}, Checkpoint("s", 0).rows(iter(states(0).items()), mark(1)))
    other = kept({}, Checkpoint("s", 0).rows(iter(states(1).items()), mark(1)))
    piece = next(name for name in table if b"piece" in name)
    with pytest.raises(DamagedError, match="partition 0: the state of key 'big' is damaged"):
        Checkpoint("s", 0).read(table | {piece: other[piece]})


def test_a_state_of_another_shape_is_not_taken_up() -> None:
    rows = kept({}, Checkpoint("s", 0, "old").rows(iter(states(0).items()), replace(mark(7), shape="old")))
    assert Checkpoint("s", 0, "old").read(rows) == (replace(mark(7), shape="old"), states(0))
    with pytest.raises(DamagedError, match="another version or other parameters"):
        Checkpoint("s", 0, "new").read(rows)


def kept(table: dict[bytes, bytes], rows: Iterator[tuple[bytes, bytes | None]]) -> dict[bytes, bytes]:
    """The table after those rows."""
    for name, row in rows:
        if row is None:
            table.pop(name, None)
        else:
            table[name] = row
    return table


@pytest.mark.parametrize("reborn", [False, True], ids=["same worker", "another worker"])
def test_nothing_is_left_of_a_key_that_is_no_more(reborn: bool) -> None:
    writer = Checkpoint("s", 0)
    table = kept({}, writer.rows(iter(states(0).items()), mark(1)))
    kept(table, writer.rows(iter(states(1).items()), mark(2)))
    if reborn:
        writer = Checkpoint("s", 0)
        writer.read(table)
    assert len(table) == 9, "six pieces in two places, two parts, the mark"
    kept(table, writer.rows(iter([("big", None), ("never there", None)]), mark(3)))
    assert Checkpoint("s", 0).read(table) == (mark(3), {"small": states(1)["small"]})
    assert len(table) == 2


def test_nothing_is_left_of_states_that_were_refused() -> None:
    table = kept({}, Checkpoint("s", 0, "old").rows(iter(states(0).items()), replace(mark(7), shape="old")))
    heir = Checkpoint("s", 0, "new")
    with pytest.raises(DamagedError):
        heir.read(table)
    kept(table, heir.rows(iter([("other", b"state")]), replace(mark(8), shape="new")))
    assert Checkpoint("s", 0, "new").read(table) == (replace(mark(8), shape="new"), {"other": b"state"})
    assert len(table) == 2


def test_other_parameters_and_other_fields_are_another_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = Parameters()
    other = replace(usual, localization=replace(usual.localization, quiet_s=16.0))
    assert shape_of(usual) == shape_of(Parameters())
    assert shape_of(other) != shape_of(usual)
    before = shape_of(usual)

    @dataclass
    class Finding:
        """What a version of tomorrow remembers."""

        added: int

    Finding.__module__ = judging.__name__
    monkeypatch.setattr(judging, "Finding", Finding)
    shapes._classes.cache_clear()
    assert shape_of(usual) != before
    monkeypatch.undo()
    shapes._classes.cache_clear()
    assert shape_of(usual) == before


def test_a_state_whose_changelog_was_cut_off_is_not_taken_up() -> None:
    rows = kept({}, Checkpoint("s", 0).rows(iter(states(0).items()), mark(7)))
    with pytest.raises(DamagedError, match="the changelog began at offset 0 and begins at 40 now"):
        Checkpoint("s", 0, begins=40).read(rows)
    begun = replace(mark(7), begins=40)
    assert Checkpoint("s", 0, begins=40).read(kept({}, Checkpoint("s", 0).rows(iter(()), begun))) == (begun, {})


@pytest.mark.parametrize("row", [b"", b"\x00", b"\xc1" * 40, b"\x92\x01\x02"])
@pytest.mark.parametrize("what", ["mark", "part/small", "part/big"])
def test_a_row_that_is_no_row_of_ours_makes_the_state_unreadable_not_the_worker(what: str, row: bytes) -> None:
    rows = kept({}, Checkpoint("s", 3).rows(iter(states(0).items()), mark(7)))
    name = f"s|3|{what}".encode()
    assert name in rows
    rows[name] = row
    with pytest.raises(DamagedError, match=r"s, partition 3: .* damaged"):
        Checkpoint("s", 3).read(rows)


@pytest.mark.parametrize(
    ("row_s", "due_s"),
    [(0.0, 10), (0.04, 10), (0.2, 30), (3.0, 60)],
    ids=["nothing", "less than a fiftieth", "two rows of 0.3 s", "more than once a minute allows"],
)
def test_states_that_take_long_to_write_are_written_more_rarely(row_s: float, due_s: int) -> None:
    """At most a fiftieth of the processor goes into them, but a minute is the longest that is read again."""
    spent = [0.0]

    def rows() -> Iterator[tuple[bytes, bytes | None]]:
        for name in (b"part", b"mark"):
            spent[0] += row_s * 1.5
            yield name, b""

    pace = Pace(10 * SECOND_US, lambda: spent[0])
    for _ in pace.timed(rows()):
        spent[0] += 100.0  # whoever keeps the rows does not count
    pace.last_us = 0
    assert next(second for second in range(200) if pace.is_due(second * SECOND_US)) == due_s
