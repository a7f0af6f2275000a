"""Tables that lie on one sheet: nothing is lost, nothing is shared, whatever grows, shrinks, comes and goes."""

from __future__ import annotations

import pickle
import random

import numpy as np

from localization.pairs import PairTable
from localization.sheet import Sheet


def table(job: str, pairs: int) -> PairTable:
    made = PairTable(2)
    extend(made, job, pairs)
    return made


def extend(of: PairTable, job: str, pairs: int) -> None:
    for number in range(len(of.names), len(of.names) + pairs):
        of.row((job, str(number)))
    of.grow()


def mark(of: PairTable, value: float) -> None:
    of.columns.rtt_mean[:] = value
    of.columns.loss_score[:] = value
    of.columns.short_past[:] = value


def has(of: PairTable, value: float) -> bool:
    columns = of.columns
    return all((column[: len(of.names)] == value).all() for column in (columns.rtt_mean, columns.short_past))


def test_what_is_written_on_the_sheet_is_the_tables_and_the_other_way_round() -> None:
    sheet, tables = Sheet(), [table("a", 3), table("b", 70)]
    mark(tables[0], 1.0)
    mark(tables[1], 2.0)
    columns, begin = sheet.lay(tables)
    assert columns.rtt_mean[begin[0]] == 1.0
    assert columns.loss_score[begin[1]].tolist() == [2.0, 2.0]
    columns.rtt_mean[begin[0] : begin[0] + tables[0].columns.size] = 5.0
    tables[1].columns.rtt_mean[69] = 6.0
    assert tables[0].columns.rtt_mean[2] == 5.0
    assert columns.rtt_mean[begin[1] + 69] == 6.0
    assert sheet.lay(tables) == (columns, begin)


def test_a_table_alone_and_an_empty_one_are_left_where_they_are() -> None:
    sheet, alone, empty = Sheet(), table("a", 3), PairTable(2)
    own = alone.columns
    assert sheet.lay([alone]) == (own, [0])
    columns, begin = sheet.lay([empty, alone, table("b", 1)])
    assert columns.size >= 128
    assert begin[1] != begin[2]
    assert empty.columns.size == 0


def test_tables_that_grow_shrink_are_pickled_come_and_go_keep_what_is_theirs() -> None:
    draw, sheet, tables = random.Random(3), Sheet(), {name: table(name, 5) for name in "abc"}
    marks = dict.fromkeys(tables, 0.0)
    for step in range(400):
        name = draw.choice("abcdefgh")
        tables.setdefault(name, table(name, 2))
        what = draw.choice(["mark", "grow", "forget", "pickle", "leave"])
        if what == "grow":
            extend(tables[name], name, draw.choice([1, 90]))
        if what == "forget":
            tables[name].columns.seen_us[: len(tables[name].names)] = np.arange(len(tables[name].names))
            tables[name].forget(len(tables[name].names) // 2, set())
        if what == "pickle":
            tables[name] = pickle.loads(pickle.dumps(tables[name]))
        if what == "leave" and len(tables) > 2:
            del tables[name]
            marks.pop(name, None)
            continue
        marks[name] = float(step)
        mark(tables[name], marks[name])
        columns, begin = sheet.lay(list(tables.values()))
        for (own, known), first in zip(tables.items(), begin, strict=True):
            assert has(known, marks[own])
            assert np.shares_memory(known.columns.rtt_mean, columns.rtt_mean)
            assert columns.rtt_mean[first] == marks[own]
    assert columns.size <= 4 * sum(known.columns.size for known in tables.values())
