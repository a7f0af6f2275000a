"""How much may one message cost its readers? Bounds that are checked on the bytes, before anything is parsed.

JSON grows when it is parsed: two bytes (``[]``) become an object of 64 bytes, one wide character makes a whole text
four times as large. So beside the number of bytes two things are bounded: ``elements`` (commas and opening brackets,
never fewer than half the values that parsing makes) and the length of the longest text. Both are counted in C, and a
message with no more bytes than the smaller bound is not looked at. Depth needs no bound of its own: orjson stops at
1024 levels, types are a few levels deep, and free-form fields are held to ``schemas.envelope.NESTING``.
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta, Struct

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)


class MessageLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """Of one message: at most ``elements`` commas and opening brackets, no text of more than ``text_bytes``.

    The defaults hold the maps and plans of 160,000 endpoints; parsing the worst message that passes takes some 250 MB.
    """

    elements: Annotated[int, Meta(ge=1000)] = 2_000_000
    text_bytes: Annotated[int, Meta(ge=1024)] = 65_536


def excess(raw: bytes, limits: MessageLimits) -> str | None:
    """What of ``raw`` is beyond the limits, in words; None = nothing."""
    if len(raw) > limits.elements:
        elements = raw.count(b",") + raw.count(b"[") + raw.count(b"{")
        if elements > limits.elements:
            return f"{elements} elements, expected at most {limits.elements}"
    if len(raw) > limits.text_bytes:
        longest = _longest_text(raw)
        if longest > limits.text_bytes:
            return f"a text of {longest} bytes, expected at most {limits.text_bytes}"
    return None


def _longest_text(raw: bytes) -> int:
    """Bytes of the longest text as it is written; of what is no JSON any number."""
    if b"\\" not in raw:
        return max(map(len, raw.split(b'"')[1::2]), default=0)
    longest = at = 0
    while (text := _TEXT.search(raw, at)) is not None:
        longest = max(longest, text.end() - text.start() - 1)
        at = text.end() + 1
    return longest
