"""Which lines belong together that a terminal or a mail has cut? Those of drivers, which are long.

A line of a driver that means nothing by itself, and one to three lines behind it that have no frame of their own, are
put together if the whole means something: with a blank between, or without, as terminals cut words. Nothing else is
joined.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product

from collectors.events.classifying import classify
from collectors.events.framing import parse_line
from collectors.events.rules import NIC_DRIVERS, PCI

MOST_PARTS = 3
_DRIVER = re.compile(f"(?:{NIC_DRIVERS}|pci|pcieport) {PCI}")
_HEADED = re.compile(
    r"\s*(?:\[ {0,12}\+?\d|\[[A-Z][a-z]{2}[ \d]|<\d|(?:\d{4} )?[A-Z][a-z]{2} {1,2}\d{1,2} |(?:[A-Z][a-z]{2} )?"
    r"\d{4}-\d\d-\d\d|\d{10}\.\d|\d{1,2},\d+,\d+,|[a-z0-9]{3,8} *:[a-z]{3,6} *:"
    r"|[a-z0-9_]{3,32} [0-9a-f]{4,8}:[0-9a-f]{2}:|kernel:)"
)


def join_wrapped(lines: Sequence[str]) -> list[str]:
    """The lines, those that were wrapped put together again."""
    joined: list[str] = []
    place = 0
    while place < len(lines):
        whole, parts = _together(lines[place : place + 1 + MOST_PARTS])
        joined.append(whole)
        place += parts
    return joined


def _together(lines: Sequence[str]) -> tuple[str, int]:
    """The first line, or the whole that it begins, and of how many lines that is."""
    first, following = lines[0], lines[1:]
    if not following or _HEADED.match(following[0]) or not _DRIVER.search(first) or _is_known(first):
        return first, 1
    for number in range(1, len(following) + 1):
        if _HEADED.match(following[number - 1]) or _is_known(following[number - 1]):
            break
        for glues in product(("", " "), repeat=number):
            whole = first.rstrip() + "".join(
                glue + part.strip() for glue, part in zip(glues, following[:number], strict=True)
            )
            if _is_known(whole):
                return whole, number + 1
    return first, 1


def _is_known(text: str) -> bool:
    notice = classify(parse_line(text, 0))
    return notice is not None and notice.code != "unknown"
