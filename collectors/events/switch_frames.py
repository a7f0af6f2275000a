"""What stands before a line of a switch, where its vendor has a form of its own? Date, sequence number, host.

``%May 16 11:04:37:748 2025 H3C IFNET/3/...`` (H3C; also without ``%`` and thousandths), ``Oct  1 2026 10:21:03+06:00 SW
%%01...`` and ``2018-7-23 01:00:34.270.1 SW %%01...`` (Huawei), ``117: SW: *May  9 12:49:27.098 UTC: %LINK-...`` (IOS: a
number, a host, a mark of a clock that is not set), ``94307: SW LC/0/2/CPU0:Jul  7 20:16:14.834 : ifmgr[214]: %...``
(IOS XR), ``: 2017 Mar  4 15:26:19 CST: %...`` and ``2024 Jan 15 14:23:45 +00:00 SW %...`` (NX-OS), and of anybody
``Mar  5 11:14:48.561 UTC SW ...``. A zone that is only named is the local one, but for UTC. The year is the one nearest
to now where it is not written.
"""

from __future__ import annotations

import re

from collectors.events.instants import of_iso, of_rfc3164

_NUMBERED = r"(?:\d{1,10}: )?(?:: )?"
_ZONE = r"(?: ?(?P<zone>UTC|GMT|Z|[+-]\d\d:?\d\d(?: DST)?)| [A-Z]{2,5})?"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.:]\d{1,6})?"
_DAY = r"[A-Z][a-z]{2} {1,2}\d{1,2}"
_ZONES = "UTC|GMT|CES?T|MES?Z|E[SD]T|C[SD]T|M[SD]T|P[SD]T|JST|KST|IST|BST|MSK|SGT|HKT|AE[SD]T"
_FORMS = tuple(
    re.compile(form, re.S)
    for form in (
        rf"[%*]?(?P<day>{_DAY}) (?P<clock>{_CLOCK}) (?P<year>(?:19|20)\d\d) (?P<host>\S{{1,255}}) (?P<rest>.*)",
        rf"(?P<day>{_DAY}) (?P<year>\d{{4}}) (?P<clock>{_CLOCK}){_ZONE} (?P<host>\S{{1,255}}) (?P<rest>%%.*)",
        rf"(?P<year>\d{{4}}) (?P<day>{_DAY}) (?P<clock>{_CLOCK}) (?P<zone>[+-]\d\d:\d\d) (?P<host>\S{{1,255}}) "
        r"(?P<rest>%.*)",
        rf"{_NUMBERED}(?:(?P<host>[\w.-]{{1,255}}): )?[*.]?(?:(?P<year>\d{{4}}) )?(?P<day>{_DAY}) "
        rf"(?:(?P<after>\d{{4}}) )?(?P<clock>{_CLOCK}){_ZONE}: (?P<rest>%.*)",
        rf"(?P<day>{_DAY}) (?P<clock>{_CLOCK}) (?P<zone>{_ZONES}) (?P<host>\S{{1,255}}) (?P<rest>.*)",
        rf"{_NUMBERED}(?:(?P<host>[\w.-]{{1,255}}) )?[\w/]{{3,32}}/CPU\d:(?:(?P<year>\d{{4}}) )?(?P<day>{_DAY}) "
        rf"(?P<clock>{_CLOCK}){_ZONE} ?: (?P<rest>[\w-]{{1,64}}\[\d{{1,10}}\] ?: .*)",
    )
)
_SHORT_ISO = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d)(?P<fraction>\.\d{1,9})?"
    r"(?:\.\d{1,3})? (?P<host>\S{1,255}) (?P<rest>%%.*)",
    re.S,
)


def of_switch(text: str, now_us: int, zone_s: int) -> tuple[int | None, str | None, str] | None:
    """(instant, host, the rest) of a line in one of these forms; None: it is in none of them."""
    if found := _SHORT_ISO.fullmatch(text):
        day = f"{found['year']}-{int(found['month']):02}-{int(found['day']):02}"
        return of_iso(f"{day} {found['clock']}{found['fraction'] or ''}", zone_s), found["host"], found["rest"]
    for form in _FORMS:
        if found := form.fullmatch(text):
            return _instant(found, now_us, zone_s), found["host"], found["rest"]
    return None


def _instant(found: re.Match[str], now_us: int, zone_s: int) -> int | None:
    groups = found.groupdict()
    year, zone = groups.get("year") or groups.get("after"), groups.get("zone")
    hour, minute, seconds = found["clock"].split(":", 2)
    stamp = f"{year + ' ' if year else ''}{found['day']} {hour}:{minute}:{seconds.replace(':', '.')}"
    return of_rfc3164(stamp, now_us, zone_s if zone is None else _seconds_east(zone, zone_s))


def _seconds_east(zone: str, zone_s: int) -> int:
    if zone in ("UTC", "GMT", "Z"):
        return 0
    if not zone.startswith(("+", "-")):
        return zone_s
    digits = zone[1:].removesuffix(" DST").replace(":", "")
    return (int(digits[:2]) * 3600 + int(digits[2:]) * 60) * (-1 if zone[0] == "-" else 1)
