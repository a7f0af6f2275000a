"""What does chrony know of the clock? ``chronyc -c tracking``: one line of 14 fields, separated by commas; seconds.
Without ``-c`` it prints the same as ``Name : value``, the system time as ``0.000023 seconds slow of NTP time``.

System time (field 5) is what the clock has to gain: positive = slow (seen with chrony 4.3 and a source that was made
to differ), so the clock is off by its negative. Bound: root dispersion + root delay / 2 (RFC 5905), both as of now; it
grows with the skew that chrony estimates (ppm). Not synchronised: leap status ``Not synchronised``, or no reference. A
reference ``7F7F0101`` is the host's own clock (``local``), which is no reference. Hardware clocks (PHC refclocks)
count as ``ptp``.
"""

from __future__ import annotations

import math
import re

from collectors.clocks.estimates import Estimate, Teller

COMMAND = ("chronyc", "-c", "tracking")
NO_REFERENCE = frozenset({"00000000", "7F7F0101"})
FIELDS = 14
WANTED = (0, 1, 4, 9, 10, 11, 13)
"""Reference and its name, system time, skew, root delay, root dispersion, leap status."""

_NAMED = re.compile(r"(?m)^(Reference ID|System time|Skew|Root delay|Root dispersion|Leap status) *: *(.*?)\s*$")
_GAIN = re.compile(r"(\S{1,32}) seconds (slow|fast)\b")


def parse_tracking(text: str, mono_us: int) -> Estimate:
    """Reads the answer.

    Raises:
        ValueError: it is no such line.
    """
    reference, name, *numbers, leap = _told(text)
    offset, skew, delay, dispersion = (_number(each) for each in numbers)
    teller: Teller = "ptp" if name.upper().startswith(("PHC", "PTP")) else "chrony"
    return Estimate(
        teller=teller,
        at_us=mono_us,
        synced=leap.strip().lower() != "not synchronised" and reference.upper() not in NO_REFERENCE,
        offset_us=-offset * 1e6 if offset else 0.0,
        error_us=(abs(delay) / 2 + abs(dispersion)) * 1e6,
        skew_ppm=abs(skew),
    )


def _told(text: str) -> list[str]:
    """The fields that count, in the order of ``WANTED``, out of either form."""
    lines = [line for line in text.splitlines() if line.count(",") >= FIELDS - 1]
    if lines:
        fields = lines[-1].split(",")
        return [fields[at] for at in WANTED]
    named = dict(_NAMED.findall(text))
    gain = _GAIN.match(named.get("System time", ""))
    if gain is None or len(named) < len(WANTED) - 1:
        raise ValueError(f"chronyc tracking: expected {FIELDS} fields separated by commas, got {text[:80]!r}")
    reference, _, name = named["Reference ID"].partition(" ")
    rest = [named[each].partition(" ")[0] for each in ("Skew", "Root delay", "Root dispersion")]
    return [reference, name.strip("()"), ("-" if gain[2] == "fast" else "") + gain[1], *rest, named["Leap status"]]


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError as error:
        raise ValueError(f"chronyc tracking: expected a number, got {text[:40]!r}") from error
    if not math.isfinite(found) or abs(found) > 1e9:
        raise ValueError(f"chronyc tracking: {text[:40]!r} is out of range")
    return found
