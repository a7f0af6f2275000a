"""When was a line written? Time stamps of logs as microseconds since 1970 UTC.

RFC 3164 has neither year nor zone: the zone is an argument (seconds east of UTC), and the year is the one that puts the
line nearest to now, so December's lines read in January are last year's; some write a year before or behind the day.
``dmesg -T`` has a year but no zone. ISO 8601 says it all; without a zone, or with one that is only named (``CET``), it
is local time. What is no date (31 February) is None, and the line goes without a time.
"""

from __future__ import annotations

import re
from calendar import timegm
from datetime import date

from schemas.instants import LATEST_US, SECOND_US

MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}

_RFC3164 = re.compile(r"(?:(\d{4}) )?([A-Z][a-z]{2}) +(\d{1,2}) (?:(\d{4}) )?(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_DMESG = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})")
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?", re.ASCII)
_ISO = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))? ?(Z|UTC|[+-]\d\d:?\d\d)?", re.ASCII
)


def of_fields(day: tuple[int, int, int], clock: tuple[int, int, int], fraction: str, zone_s: int) -> int | None:
    """An instant; None: no such date, or before 1970. A leap second counts as the next one."""
    year, month, number = day
    hour, minute, second = clock
    if hour > 23 or minute > 59 or second > 60:
        return None
    try:
        date(year, month, number)
    except ValueError:
        return None
    seconds = timegm((year, month, number, hour, minute, min(second, 59), 0, 0, 0)) + (second == 60) - zone_s
    t_us = seconds * SECOND_US + int(fraction[:6].ljust(6, "0"))
    return t_us if 0 <= t_us <= LATEST_US else None


def of_any(stamp: str, now_us: int, zone_s: int) -> int | None:
    """An instant as it stands before a host's name: RFC 3164, ISO 8601, with a weekday, or seconds since 1970."""
    if stamp[4:5] == "-":
        return of_iso(stamp, zone_s)
    if stamp[8:9] == "-":
        return of_iso(stamp[4:], zone_s)
    return of_epoch(stamp) if stamp[:10].isdigit() else of_rfc3164(stamp, now_us, zone_s)


def of_rfc3164(text: str, now_us: int, zone_s: int) -> int | None:
    """An instant as syslog writes it; without a year, that which brings it nearest to now."""
    found = _RFC3164.fullmatch(text)
    if found is None or found[2] not in MONTHS:
        return None
    day, clock = (MONTHS[found[2]], int(found[3])), (int(found[5]), int(found[6]), int(found[7]))
    if year := found[1] or found[4]:
        return of_fields((int(year), *day), clock, found[8] or "", zone_s)
    return _nearest(day, clock, found[8] or "", (now_us, zone_s))


def of_epoch(text: str) -> int | None:
    """An instant as seconds since 1970 with a fraction, as journalctl and UCX write it."""
    seconds, _, fraction = text.partition(".")
    t_us = int(seconds) * SECOND_US + int(fraction[:6].ljust(6, "0"))
    return t_us if t_us <= LATEST_US else None


def of_glog(day: str, clock: str, now_us: int, zone_s: int) -> int | None:
    """An instant as glog and PyTorch write it: month and day without a gap (``0916``, ``916``), no year."""
    found = _CLOCK.fullmatch(clock)
    if found is None or not 3 <= len(day) <= 4:
        return None
    hours = int(found[1]), int(found[2]), int(found[3])
    return _nearest((int(day[:-2]), int(day[-2:])), hours, found[4] or "", (now_us, zone_s))


def _nearest(day: tuple[int, int], clock: tuple[int, int, int], fraction: str, where: tuple[int, int]) -> int | None:
    """A month and day in the year that brings them nearest to now; ``where``: now and the zone."""
    now_us, zone_s = where
    year = 1970 + now_us // (SECOND_US * 31_556_952)
    tries = [of_fields((each, *day), clock, fraction, zone_s) for each in (year - 1, year, year + 1)]
    known = [t_us for t_us in tries if t_us is not None]
    return min(known, key=lambda t_us: abs(t_us - now_us)) if known else None


def of_dmesg(text: str, zone_s: int) -> int | None:
    """An instant as ``dmesg -T`` prints it, local time."""
    found = _DMESG.fullmatch(text)
    if found is None or found[1] not in MONTHS:
        return None
    return of_fields(
        (int(found[6]), MONTHS[found[1]], int(found[2])), (int(found[3]), int(found[4]), int(found[5])), "", zone_s
    )


def of_iso(text: str, zone_s: int) -> int | None:
    """An instant in ISO 8601 (RFC 5424, journalctl, containerd); without a zone it is local time."""
    found = _ISO.match(text)
    if found is None:
        return None
    offset = found[8]
    if offset in ("Z", "UTC"):
        zone_s = 0
    elif offset:
        zone_s = (int(offset[1:3]) * 3600 + int(offset[-2:]) * 60) * (-1 if offset[0] == "-" else 1)
    day, clock = (int(found[1]), int(found[2]), int(found[3])), (int(found[4]), int(found[5]), int(found[6]))
    return of_fields(day, clock, found[7] or "", zone_s)
