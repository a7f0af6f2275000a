"""Which issue was taken for which, as Markdown: the mistakes in order of number, and the whole matrix."""

from __future__ import annotations

from schemas.truth import ISSUES
from skeletonhunter.evaluation.markdown_rows import table
from skeletonhunter.scoring.confusion import Confusion


def confusions(confusion: Confusion) -> str:
    """All that was said and is not true, the most frequent first."""
    cells = [
        (count, row, column)
        for row, counts in zip(confusion.rows, confusion.counts, strict=True)
        for column, count in zip(confusion.columns, counts, strict=True)
        if count and row != column
    ]
    if not cells:
        return "None.\n"
    rows = [[row, column, str(count)] for count, row, column in sorted(cells, key=lambda c: (-c[0], c[1], c[2]))]
    return table(["true issue", "said", "faults"], rows)


def matrix(confusion: Confusion) -> str:
    """Rows: what was true; columns: what was said, by the number of the issue; zeros are left blank."""
    head = ["true \\ said", *(_number(column) for column in confusion.columns)]
    rows = [
        [f"{_number(row)} {row}" if row in ISSUES else row, *(str(count) if count else " " for count in counts)]
        for row, counts in zip(confusion.rows, confusion.counts, strict=True)
    ]
    note = (
        "Columns are the paper's numbers of the issues, as before the names of the rows. A fault counts once, by the "
        "first alarm that names its component, else the first alarm; the last row counts false alarms.\n\n"
    )
    return note + table(head, rows)


def _number(issue: str) -> str:
    """The paper's number of an issue; anything else as it is."""
    return str(ISSUES.index(issue) + 1) if issue in ISSUES else issue
