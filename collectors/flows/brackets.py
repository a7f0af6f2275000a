"""Where do nested brackets end? The two cuts that Open vSwitch's own notation needs. Cost: linear in the text."""

from __future__ import annotations

import re

_BRACKET = re.compile(r"[(){}]")
_CUT = re.compile(r"[(){},]")


def inside(text: str, start: int) -> tuple[str, int]:
    """What stands between the bracket at ``start`` and its partner, and the place behind that.

    Without a partner the rest of the text counts: an output that was cut off is no reason to fail.
    """
    depth = 0
    for found in _BRACKET.finditer(text, start):
        depth += 1 if found.group() in "({" else -1
        if depth <= 0:
            return text[start + 1 : found.start()], found.end()
    return text[start + 1 :], len(text)


def parts(text: str) -> list[str]:
    """The text cut at its commas, those inside brackets left alone; empty parts are left out."""
    found: list[str] = []
    depth, begin = 0, 0
    for mark in _CUT.finditer(text):
        sign = mark.group()
        if sign == ",":
            if depth == 0:
                found.append(text[begin : mark.start()])
                begin = mark.end()
        else:
            depth = depth + 1 if sign in "({" else max(0, depth - 1)
    found.append(text[begin:])
    return [stripped for each in found if (stripped := each.strip())]


def argument(text: str, name: str) -> str | None:
    """What stands in the brackets of the first ``name(...)``, None: there is none."""
    start = text.find(f"{name}(")
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start = text.find(f"{name}(", start + 1)
    return None if start < 0 else inside(text, start + len(name))[0]
