"""Which issue was taken for which? Counts of (true issue, said issue) over faults, and of false alarms.

Rows: the nineteen issues, then ``no fault`` (false alarms). Columns: the nineteen issues, ``no issue`` (an alarm that
names none), ``missed`` (no alarm). A fault counts once, by its first alarm that names the component, else its first
alarm. Faults whose truth has no issue are left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from schemas.truth import ISSUES
from skeletonhunter.scoring.verdicts import MISSED, NO_ISSUE, AlarmVerdict, FaultVerdict

NO_FAULT = "no fault"


class Confusion(Struct, frozen=True):
    """``counts[row][column]``; rows and columns as named."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


def confuse(faults: Iterable[FaultVerdict], alarms: Iterable[AlarmVerdict]) -> Confusion:
    """The confusion matrix of issues."""
    rows, columns = (*ISSUES, NO_FAULT), (*ISSUES, NO_ISSUE, MISSED)
    pairs: list[tuple[str, str]] = [(fault.issue, fault.said) for fault in faults if fault.issue is not None]
    pairs += [(NO_FAULT, alarm.issue or NO_ISSUE) for alarm in alarms if alarm.standing == "false"]
    counts = dict.fromkeys(((row, column) for row in rows for column in columns), 0)
    for pair in pairs:
        counts[pair] += 1
    return Confusion(rows, columns, tuple(tuple(counts[row, column] for column in columns) for row in rows))
