"""What does chrony know of the clock? ``chronyc -c tracking``: one line of 14 fields, separated by commas; seconds.

System time (field 5) is what the clock has to gain: positive = slow (seen with chrony 4.3 and a source that was made
to differ), so the clock is off by its negative. Bound: root dispersion + root delay / 2 (RFC 5905), both as of now; it
grows with the skew that chrony estimates (ppm). Not synchronised: leap status ``Not synchronised``, or no reference. A
reference ``7F7F0101`` is the host's own clock (``local``), which is no reference. Hardware clocks (PHC refclocks)
count as ``ptp``.
"""

from __future__ import annotations

import math

from collectors.clocks.estimates import Estimate, Teller

COMMAND = ("chronyc", "-c", "tracking")
NO_REFERENCE = frozenset({"00000000", "7F7F0101"})
FIELDS = 14


def parse_tracking(text: str, mono_us: int) -> Estimate:
    """Reads the answer.

    Raises:
        ValueError: it is no such line.
    """
    lines = [line for line in text.splitlines() if line.count(",") >= FIELDS - 1]
    fields = lines[-1].split(",") if lines else []
    if len(fields) < FIELDS:
        raise ValueError(f"chronyc tracking: expected {FIELDS} fields separated by commas, got {text[:80]!r}")
    name, leap = fields[1], fields[13].strip()
    offset, skew, delay, dispersion = (_number(fields[at]) for at in (4, 9, 10, 11))
    teller: Teller = "ptp" if name.upper().startswith(("PHC", "PTP")) else "chrony"
    return Estimate(
        teller=teller,
        at_us=mono_us,
        synced=leap.lower() != "not synchronised" and fields[0].upper() not in NO_REFERENCE,
        offset_us=-offset * 1e6 if offset else 0.0,
        error_us=(abs(delay) / 2 + abs(dispersion)) * 1e6,
        skew_ppm=abs(skew),
    )


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError as error:
        raise ValueError(f"chronyc tracking: expected a number, got {text[:40]!r}") from error
    if not math.isfinite(found) or abs(found) > 1e9:
        raise ValueError(f"chronyc tracking: {text[:40]!r} is out of range")
    return found
