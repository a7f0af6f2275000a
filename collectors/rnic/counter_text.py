"""What number does a text give that should be a counter? Pure, total: any bytes give a number or a reason.

A counter is a whole number from 0 to 2**64 - 1. Kernels write plain digits; drivers without the function write words
("N/A (no PMA)"), tools group digits (1,234), print hexadecimal (0x1f) or exponents (1.8527668e+07). What is rounded,
negative or foreign is no counter. Nothing here raises. Cost: 0.2 us for plain digits, 2 us for the rest.
"""

from __future__ import annotations

import errno
import re
from decimal import Decimal
from enum import StrEnum

LARGEST = 2**64 - 1
EXACT = 2**53
"""Up to here a number that went through a floating-point exposition is still exact."""

GROUPED = re.compile(rb"[0-9]{1,3}(?:,[0-9]{3})+")
HEXADECIMAL = re.compile(rb"0[xX][0-9a-fA-F]{1,16}")
EXPONENT = re.compile(rb"[0-9](?:\.[0-9]{1,17})?[eE]\+?[0-9]{1,2}")
NEGATIVE = re.compile(rb"-[0-9][0-9,]*")


class Unread(StrEnum):
    """Why there is no number; the words stand in events and reports."""

    ABSENT = "no such counter"
    UNSUPPORTED = "not supported by the driver"
    EMPTY = "empty"
    TEXT = "text that is no number"
    ROUNDED = "a rounded number"
    NEGATIVE = "negative"
    TOO_LARGE = "more than 64 bits"
    DENIED = "permission denied"
    FAILED = "input/output error"
    GONE = "the device is gone"
    CEILING = "at its ceiling, so it may stand still"
    TOO_FAST = "faster than the port: an error of unit, wrap or reset"


def parse_counter(text: bytes) -> int | Unread:
    """The number in ``text``, or why there is none."""
    text = text.strip(b" \t\r\n\0")
    if text.isdigit():
        if len(text) < 20:
            return int(text)
        return _bounded(text, 10)
    if not text:
        return Unread.EMPTY
    if text[:3].upper() == b"N/A":
        return Unread.UNSUPPORTED
    return _unusual(text)


def _unusual(text: bytes) -> int | Unread:
    """Grouped, hexadecimal and exponent forms."""
    if GROUPED.fullmatch(text):
        return _bounded(text.replace(b",", b""), 10)
    if HEXADECIMAL.fullmatch(text):
        return _bounded(text, 16)
    if EXPONENT.fullmatch(text):
        number = Decimal(text.decode("ascii"))
        return int(number) if number < EXACT and number == number.to_integral_value() else Unread.ROUNDED
    return Unread.NEGATIVE if NEGATIVE.fullmatch(text) else Unread.TEXT


def _bounded(digits: bytes, base: int) -> int | Unread:
    if len(digits) > 40:
        digits = digits.lstrip(b"0") or b"0"
        if len(digits) > 40:
            return Unread.TOO_LARGE
    number = int(digits, base)
    return number if number <= LARGEST else Unread.TOO_LARGE


REASONS = {
    errno.ENOENT: Unread.ABSENT,
    errno.ENODEV: Unread.GONE,
    errno.ENXIO: Unread.GONE,
    errno.EACCES: Unread.DENIED,
    errno.EPERM: Unread.DENIED,
    errno.EINVAL: Unread.UNSUPPORTED,
    errno.EOPNOTSUPP: Unread.UNSUPPORTED,
    errno.ENOSYS: Unread.UNSUPPORTED,
    errno.ENOTTY: Unread.UNSUPPORTED,
}


def reason_of(error: OSError) -> Unread:
    """What a failed reading means."""
    return REASONS.get(error.errno or 0, Unread.FAILED)
