"""How are inputs varied? Bytes changed, dropped, doubled, moved or put in, and pieces of JSON made strange."""

from __future__ import annotations

import random
import re

PIECES = tuple(
    piece.encode("utf-8", "surrogatepass")
    for piece in (
        *("", "0", "-1", "1e999", "NaN", "9007199254740993", "18446744073709551616", "-0.0", "1.5", "true", "null"),
        *('""', "[]", "{}", "[[]]", '{"a":1}', '"x"', '"\\ud800"', '"\\u0000"', "\udcff", "é", "\x00", "\n", "\r\n"),
        *("{", "}", "[", "]", ",", ":", '"', "\\", "/", "..", "=", "'", "#", " "),
        *("[" * 40, '{"a":' * 40, "9" * 400, '"' + "x" * 600 + '"'),
    )
)
_VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null')


def mutated(raw: bytes, other: bytes, draw: random.Random) -> bytes:
    """A variation of ``raw``; pieces may come from ``other``."""
    text = bytearray(raw)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        _CHANGES[int(draw.random() * len(_CHANGES))](text, other, draw)
    return bytes(text)


def _spot(text: bytearray, draw: random.Random) -> int:
    return int(draw.random() * (len(text) + 1))


def _byte(text: bytearray, _other: bytes, draw: random.Random) -> None:
    place = _spot(text, draw)
    text[place : place + 1] = bytes([int(draw.random() * 256)])


def _drop(text: bytearray, _other: bytes, draw: random.Random) -> None:
    place = _spot(text, draw)
    del text[place : place + int(draw.random() ** 3 * len(text)) + 1]


def _double(text: bytearray, _other: bytes, draw: random.Random) -> None:
    place = _spot(text, draw)
    text[place:place] = text[place : place + int(draw.random() * 60)]


def _put(text: bytearray, _other: bytes, draw: random.Random) -> None:
    place = _spot(text, draw)
    text[place:place] = draw.choice(PIECES)


def _splice(text: bytearray, other: bytes, draw: random.Random) -> None:
    place, source = _spot(text, draw), int(draw.random() * (len(other) + 1))
    text[place : place + int(draw.random() * 40)] = other[source : source + int(draw.random() * 80)]


def _value(text: bytearray, other: bytes, draw: random.Random) -> None:
    """A value of JSON becomes another one, so that the whole stays JSON."""
    found = _VALUE.search(text, _spot(text, draw))
    if found is None:
        return
    theirs = _VALUE.search(other, int(draw.random() * (len(other) + 1)))
    text[found.start() : found.end()] = theirs[0] if theirs and draw.random() < 0.5 else draw.choice(PIECES)


_CHANGES = (_byte, _drop, _double, _put, _splice, _value, _value, _value)
