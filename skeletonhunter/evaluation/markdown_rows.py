"""A table as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from skeletonhunter.evaluation.wording import NOTHING


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The lines of a table; a bar in a cell is escaped, an empty cell is ``-``."""
    lines = [list(head), ["---"] * len(head), *([cell or NOTHING for cell in row] for row in rows)]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)
