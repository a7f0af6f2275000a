"""What does a line say, and when, where and by which program was it written? The frames that logs put around text.

Known frames, tried in this order: a record of ``/dev/kmsg`` (``6,1234,5678901,-;text``), RFC 5424 (``<13>1 2026-...``),
RFC 3164 (``<13>Aug 17 06:18:01 host prog[7]: text``, also without the number, or with a year, as newer SONiC has it
first), in place of its date ISO 8601 (rsyslog), a weekday with date and zone or seconds since 1970 (journalctl), Open
vSwitch's own (``2026-...Z|00035|module|ERR|text``), ``dmesg -T`` (``[Sun Dec  1 14:54:40 2024] ...``), ``dmesg -H``
(``[Dec 1 11:55]``, and ``[  +0.032073]`` since the line before, see ``relative_times``), those of switches' vendors
(``switch_frames``), of jobs a date in brackets or with a blank in it, UCX's (``[1732892080.123]``), and glog's (``[E916
08:53:53.86 file:685]``). Runtimes, launchers and the journal have frames of their own around these (``launching``),
``dmesg -x`` puts ``kern  :err   :`` before them. SONiC's files have a severity before the program. What is left may
begin with ``kernel:`` and the kernel's ``[  66.816635]``, seconds since boot. A bare line is text alone.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from collectors.events.instants import of_any, of_dmesg, of_epoch, of_glog, of_iso, of_rfc3164
from collectors.events.launching import bare, unwrap
from collectors.events.notices import TEXT, Line
from collectors.events.switch_frames import of_switch
from collectors.plain_text import plain
from schemas.instants import SECOND_US

LONGEST = 16_384
_KMSG = re.compile(r"(\d{1,5}),(\d{1,19}),(\d{1,17}),([^;,]{0,64})(?:,[^;]{0,256})?;(.*)", re.S)
_PRIORITY = re.compile(r"(?:\d{1,5} (?=<\d{1,3}>1 ))?<(\d{1,3})>")
"""Behind the length of the message, as TCP carries it."""

_RFC5424 = re.compile(
    r"1 (\S{1,64}) (\S{1,255}) (\S{1,48}) (\S{1,128}) (\S{1,32}) (-|(?:\[(?:[^\]\\]|\\.)*\])+) ?(.*)", re.S
)
_RFC3164 = re.compile(
    r"((?:\d{4} )?[A-Z][a-z]{2} {1,2}\d{1,2} (?:\d{4} )?\d\d:\d\d:\d\d(?:\.\d{1,6})?"
    r"|\d{4}-\d\d-\d\dT[\d:.,]{8,18}(?:Z|[+-]\d\d:?\d\d)?"
    r"|[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? (?:[A-Z]{2,5}|[+-]\d\d(?:\d\d)?)|\d{10}\.\d{1,9})"
    r" {1,2}(\S{1,255}) (.*)",
    re.S,
)
_HOSTLESS = re.compile(
    r"[a-z0-9_]{2,24} [0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b|infiniband \w{1,32}: |NETDEV WATCHDOG"
)
_EPOCH = re.compile(r"\[(\d{10}\.\d{1,9})\] ?(.*)", re.S)
_LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
_FACILITY = re.compile(rf"[a-z0-9]{{3,8}} *:({'|'.join(_LEVELS)}) *: ?")
_DMESG = re.compile(
    r"\[([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})(?: < {0,12}\d{1,10}\.\d{1,6}>)?\] ?(.*)", re.S
)
_CTIME = re.compile(r"([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}):? (.*)", re.S)
_MINUTE = re.compile(r"\[([A-Z][a-z]{2})([ \d]\d) (\d\d:\d\d)\] ?(.*)", re.S)
_AFTER = re.compile(r"\[ {0,12}\+(\d{1,10})[.,](\d{6})\] ?(.*)", re.S)
"""``dmesg -H``: the minute where another one begins, else the time since the line before."""

_JOB = re.compile(
    r"\[?(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|UTC| ?[+-]\d\d:?\d\d)?)\]?:?\s+(.*)",
    re.S,
)
_GLOG = re.compile(
    r"((?:.{0,400}?\[rank\d{1,6}\]: ?(?=\[))?\[?[IWEF](\d{1,2}\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,9})?) .*)", re.S
)
"""Also behind a progress bar, which ends without a line break."""

_VLLM = re.compile(r"((?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d)-(\d\d) (\d\d:\d\d:\d\d) .*)", re.S)

_REPEATED = re.compile(r"message repeated (\d{1,9}) times: \[ ?(.*?)\]?", re.S)
_DMESG_ISO = re.compile(r"(\d{4}-\d\d-\d\dT[\d:]{8},\d{6}[+-]\d\d:\d\d) (.*)", re.S)
_OVS = re.compile(r"(?:(\d{4}-\d\d-\d\d[T ][\d:]{8}(?:\.\d{1,6})?Z?)|ovs)\|\d+\|([^|]{1,64})\|([A-Z]{2,5})\|(.*)", re.S)
_RETURN = "#015"
"""What rsyslog makes of a carriage return."""

_PROGRAM = re.compile(r"([A-Za-z0-9_./@-]{1,64})(?:\[(\d{1,10})\])?: ?(.*)", re.S)
_HOST_KERNEL = re.compile(r"(\S{1,255}) (kernel: .*)", re.S)
_SINCE_BOOT = re.compile(
    r"\[ {0,12}(\d{1,10})\.(\d{1,6})(?: < {0,12}\d{1,10}\.\d{1,6}>)?\] ?(?:\[ {0,8}[TC]\d+\] ?)?(.*)", re.S
)
_SONIC = re.compile(
    r"(EMERG|ALERT|CRIT|ERR|WARNING|NOTICE|INFO|DEBUG) ([A-Za-z0-9_./@#-]{1,64}(?:\[\d{1,10}\])?: .*)", re.S
)
_SONIC_LEVELS = {
    name: level for level, name in enumerate(("EMERG", "ALERT", "CRIT", "ERR", "WARNING", "NOTICE", "INFO", "DEBUG"))
}
_OVS_LEVELS = {"EMER": 0, "ERR": 3, "WARN": 4, "INFO": 6, "DBG": 7}


def parse_line(text: str, now_us: int, zone_s: int = 0) -> Line:
    """Takes a line out of its frame. ``now_us`` decides about the year, ``zone_s`` about times without a zone."""
    around = unwrap(plain(text)[:LONGEST], zone_s)
    inside = plain(around.text)[:LONGEST]
    if around.program is not None:
        priority = around.priority
        return _inner(
            inside, Line(text=inside, t_us=around.t_us, host=around.host, program=around.program, priority=priority)
        )
    line = _parse(inside, now_us, zone_s)
    return replace(
        line,
        t_us=line.t_us if line.t_us is not None else around.t_us,
        host=line.host or around.host,
        since_boot_us=None if around.remote else line.since_boot_us,
    )


def _parse(text: str, now_us: int, zone_s: int) -> Line:
    priority, text = _priority(text.rstrip("\r\n\0 "))
    where = now_us, zone_s
    if priority is not None and (structured := _RFC5424.fullmatch(text)):
        return _of_5424(structured, priority, zone_s)
    if line := _of_kernel(text, priority, where):
        return line
    if own := of_switch(text, now_us, zone_s):
        line = Line(text=own[2], t_us=own[0], host=own[1], priority=priority)
        named = _PROGRAM.match(own[2]) is not None and "/" not in own[2].partition(":")[0]
        return _inner(own[2], line) if named else _line(own[2], (own[0], own[1], None, priority), None)
    if found := _RFC3164.fullmatch(text):
        host, rest = _host_of(found[2], found[3])
        return _inner(rest, Line(text=rest, t_us=of_any(found[1], now_us, zone_s), host=host, priority=priority))
    if found := _JOB.fullmatch(text):
        rest, t_us = found[2], of_iso(found[1], zone_s)
        if rest.startswith("kernel:") or _HOST_KERNEL.fullmatch(rest):
            return _inner(rest, Line(text=rest, t_us=t_us, priority=priority))
        return _line(bare(rest), (t_us, None, None, priority), None)
    return _of_library(text, priority, where) or _inner(text, Line(text=text, priority=priority))


def _host_of(word: str, rest: str) -> tuple[str | None, str]:
    """Which host a time is followed by, and what follows; there is none where a driver or a program stands already."""
    if word.endswith(":"):
        return (word[:-1], rest) if rest.startswith("%") else (None, f"{word} {rest}")
    return (None, f"{word} {rest}") if _HOSTLESS.match(f"{word} {rest}") else (word, rest)


def _of_kernel(text: str, priority: int | None, where: tuple[int, int]) -> Line | None:
    """A line that ``dmesg`` printed with a time that people read; ``where``: now and the zone."""
    now_us, zone_s = where
    if found := _AFTER.fullmatch(text):
        after_us = int(found[1]) * SECOND_US + int(found[2])
        return replace(_line(found[3], (None, None, "kernel", priority), None), after_us=after_us)
    if found := _DMESG_ISO.fullmatch(text):
        t_us, rest = of_iso(found[1], zone_s), found[2]
    elif found := _DMESG.fullmatch(text):
        t_us, rest = of_dmesg(found[1], zone_s), found[2]
    elif found := _CTIME.fullmatch(text):
        t_us = of_dmesg(found[1], zone_s)
        return _inner(found[2], Line(text=found[2], t_us=t_us, priority=priority))
    elif found := _MINUTE.fullmatch(text):
        t_us, rest = of_rfc3164(f"{found[1]} {found[2].strip()} {found[3]}:00", now_us, zone_s), found[4]
    else:
        return None
    return _inner(rest, Line(text=rest, t_us=t_us, program="kernel", priority=priority))


def _priority(text: str) -> tuple[int | None, str]:
    """What stands before all else: syslog's number, or ``dmesg -x``'s words."""
    if found := _FACILITY.match(text):
        return _LEVELS.index(found[1]), text[found.end() :]
    if found := _PRIORITY.match(text):
        return int(found[1]) & 7, text[found.end() :]
    return None, text


def _of_library(text: str, priority: int | None, where: tuple[int, int]) -> Line | None:
    """A line of UCX, vLLM, or in glog's words; ``where``: now and the zone."""
    if found := _EPOCH.fullmatch(text):
        return _line(found[2], (of_epoch(found[1]), None, None, priority), None)
    if found := _GLOG.fullmatch(text):
        return _line(found[1], (of_glog(found[2], found[3], *where), None, None, priority), None)
    if found := _VLLM.fullmatch(text):
        return _line(found[1], (of_glog(found[2] + found[3], found[4], *where), None, None, priority), None)
    return None


def parse_kmsg(record: str) -> Line | None:
    """A record of /dev/kmsg; its continuation lines (`` SUBSYSTEM=...``) are left out. None: it is none."""
    found = _KMSG.match(record[:LONGEST])
    if found is None:
        return None
    text = found[5].partition("\n")[0].rstrip()
    return Line(text=_unescape(text), program="kernel", priority=int(found[1]) & 7, since_boot_us=int(found[3]))


def _of_5424(found: re.Match[str], priority: int, zone_s: int) -> Line:
    host, program = (None if word == "-" else word for word in (found[2], found[3]))
    t_us = None if found[1] == "-" else of_iso(found[1], zone_s)
    text = found[7].removeprefix("\ufeff")
    line = _inner(text, Line(text=text, t_us=t_us, host=host, program=program, priority=priority))
    if found[5] == "-" or found[5] in text:
        return line
    return replace(line, text=f"{found[5]}: {line.text or found[6]}"[:TEXT])


def _inner(text: str, outer: Line) -> Line:
    """What remains: a host before ``kernel:``, a program, Open vSwitch's fields, seconds since boot."""
    host, program, priority, t_us = outer.host, outer.program, outer.priority, outer.t_us
    if host is None and (found := _HOST_KERNEL.fullmatch(text)):
        host, program, text = found[1], None, found[2]
    if found := _OVS.fullmatch(text):
        stamp = of_iso(found[1].rstrip("Z") + "Z", 0) if found[1] else None
        return _line(found[4], (stamp or t_us, host, "ovs-vswitchd", _OVS_LEVELS.get(found[3], priority)), None)
    if host is not None and program is None and (found := _SONIC.fullmatch(text)):
        priority, text = _SONIC_LEVELS[found[1]], found[2]
    framed = outer.t_us is not None or host is not None or text.startswith("kernel:")
    if program is None and framed and (found := _PROGRAM.fullmatch(text)):
        program, text = found[1].rpartition("/")[2], found[3]
        if found := _OVS.fullmatch(text):
            return _line(found[4], (t_us, host, program, _OVS_LEVELS.get(found[3], priority)), None)
    since: int | None = None
    if found := _SINCE_BOOT.fullmatch(text):
        since, text = int(found[1]) * SECOND_US + int(found[2].ljust(6, "0")), found[3]
        program = program or "kernel"
    return _line(text, (t_us, host, program, priority), since)


def _line(text: str, frame: tuple[int | None, str | None, str | None, int | None], since: int | None) -> Line:
    """The line itself; of one that syslog counted in place of repeating it, its text and how often it came."""
    t_us, host, program, priority = frame
    text, times = text.strip().removesuffix(_RETURN), 1
    if repeated := _REPEATED.fullmatch(text):
        times, text = max(1, int(repeated[1])), repeated[2].strip().removesuffix(_RETURN)
        if found := _SINCE_BOOT.fullmatch(text):
            text = found[3].strip()
    return Line(
        text=text[:TEXT],
        t_us=t_us,
        host=host,
        program=program,
        priority=priority,
        since_boot_us=since,
        times=times,
    )


def _unescape(text: str) -> str:
    """kmsg writes control characters as ``\\x0a``."""
    return re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)
