"""What did runtimes, launchers and the journal put around a line of a program? Their labels and frames, taken away.

Labels that nothing else looks like are taken away always: Ray's (``(Worker pid=7, ip=10.0.0.1)``), mpirun's
(``[1,3]<stderr>:``, of PRRTE with its job's name), kubectl's (``[pod/p/c]``), torchrun's (``[rank3]:``,
``[default3]:``), compose's (``web-1  |``). Those that a line may begin with itself (pdsh's ``node01:``, slurm's
``12:``, MPICH's ``[3]``, a time of day, grep's file and number) are only if a time follows. Frames of runtimes: CRI
(time, stream, flag), kubectl's time, Docker's JSON, the journal's (``journalctl -o json``), and JSON that shippers of
logs make of a line. What ``pdsh`` labels is of another host: its seconds since boot are not ours.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from collectors.events.instants import of_dmesg, of_iso
from schemas.instants import LATEST_US

MOST_LABELS = 4
_PLAIN = re.compile(
    r"(?:\[\d{1,2}m)?\((?:[^()]{0,96}(?:\([^()]{0,48}\))? )?pid=\d{1,10}(?:, ip=[\d.a-f:]{2,45})?\)(?:\[0m)? ?"
    r"|\(raylet(?:, ip=[\d.a-f:]{2,45})?\) "
    r"|\[(?:[\w.@-]{1,96}@)?\d{1,10},\d{1,10}\]<std(?:out|err|diag)>: ?"
    r"|\[pod/[^\]/\s]{1,253}(?:/[^\]\s]{1,253})?\] "
    r"|\[(?:(?:local_)?rank|default|worker|trainer)\d{1,6}\]: ?"
    r"|[\w.-]{1,96}[-_]\d{1,4} {1,32}\| "
)
_TIMED = re.compile(
    r"(?:(?P<host>(?!kernel:)[A-Za-z][\w.-]{0,252}): {1,4}| {0,8}\d{1,6}: |\[\d{1,6}\] ?"
    r"|\d\d:\d\d:\d\d | {0,4}\| |(?!kernel:)[\w./~-]{1,255}:(?:\d{1,9}:)?)"
    r"(?=\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d|\[[ +]{0,12}\d{1,10}[.,]\d{6}"
    r"|\[[A-Z][a-z]{2}[ \d]|\[?[IWEF]\d{3,4} \d\d:\d\d:|\[rank\d|<\d{1,3}>|\[?\d{10}\.\d|\d{1,3},\d{1,19},\d{1,17},"
    r"|[a-z]{3,8} {0,4}:[a-z]{3,6} *: )"
)
_MPI_TIME = re.compile(r"(?P<time>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})(?=\[\d|<std)")
_STREAM = re.compile(r"<std(?:out|err|diag)>: ?")
_CRI = re.compile(r"(\d{4}-\d\d-\d\dT[\d:]{8}(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) std(?:out|err) [FP] (.*)", re.S)
_KUBECTL = re.compile(r"(\d{4}-\d\d-\d\dT[\d:]{8}\.\d{7,9}(?:Z|[+-]\d\d:\d\d)) (.*)", re.S)


class Around(Struct, frozen=True, kw_only=True):
    """A line without what was around it, and what that said. ``remote``: it was brought from another host."""

    text: str
    t_us: int | None = None
    host: str | None = None
    program: str | None = None
    priority: int | None = None
    remote: bool = False


class _DockerLine(Struct):
    """A line of Docker's json-file."""

    log: str
    time: str = ""


class _JournalLine(Struct):
    """An entry of ``journalctl -o json``: all values are texts; a message that is no text is a list of bytes."""

    message: str | list[int] | None = msgspec.field(name="MESSAGE")
    realtime: str = msgspec.field(name="__REALTIME_TIMESTAMP", default="")
    host: str | None = msgspec.field(name="_HOSTNAME", default=None)
    program: str | None = msgspec.field(name="SYSLOG_IDENTIFIER", default=None)
    priority: str = msgspec.field(name="PRIORITY", default="")


class _Host(Struct):
    """The host as Elastic's schema names it."""

    name: str | None = None


class _ShippedLine(Struct):
    """A line as Beats, Logstash and Vector pass it on."""

    message: str
    elastic_time: str = msgspec.field(name="@timestamp", default="")
    timestamp: str = ""
    host: _Host | str | None = None


def unwrap(text: str, zone_s: int) -> Around:
    """The program's own line."""
    outer = _without_labels(text, zone_s)
    inner = _of_journal(outer.text) or _of_runtime(outer.text) or _of_shipper(outer.text)
    if inner is None:
        return outer
    bare = _without_labels(inner.text, zone_s)
    return Around(
        text=bare.text,
        t_us=bare.t_us if bare.t_us is not None else inner.t_us,
        host=inner.host or bare.host or outer.host,
        program=inner.program,
        priority=inner.priority,
        remote=outer.remote or bare.remote,
    )


def bare(text: str) -> str:
    """A line without its labels."""
    return _without_labels(text, 0).text


def _without_labels(text: str, zone_s: int) -> Around:
    host: str | None = None
    t_us: int | None = None
    for _ in range(MOST_LABELS):
        if found := _MPI_TIME.match(text):
            t_us = of_dmesg(found["time"], zone_s)
        elif not (found := _PLAIN.match(text) or _STREAM.match(text)):
            found = _TIMED.match(text)
            host = found["host"] or host if found else host
        if not found:
            break
        text = text[found.end() :]
    return Around(text=text, t_us=t_us, host=host, remote=host is not None)


def _of_runtime(text: str) -> Around | None:
    """A line in a container runtime's log file, or as kubectl prints it; None: it is none."""
    if found := _CRI.match(text) or _KUBECTL.match(text):
        return Around(text=found[2], t_us=of_iso(found[1], 0))
    if not text.startswith('{"log":'):
        return None
    try:
        line = msgspec.json.decode(text, type=_DockerLine)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return Around(text=line.log, t_us=of_iso(line.time, 0))


def _of_journal(text: str) -> Around | None:
    """An entry of the journal as JSON; None: it is none."""
    if not text.startswith("{") or '"MESSAGE"' not in text:
        return None
    try:
        line = msgspec.json.decode(text, type=_JournalLine)
    except (msgspec.MsgspecError, RecursionError):
        return None
    words = line.message or ""
    if isinstance(words, list):
        words = bytes(number for number in words if 0 <= number < 256).decode(errors="replace")
    priority = int(line.priority) if line.priority in set("01234567") else None
    return Around(text=words, t_us=_realtime(line.realtime), host=line.host, program=line.program, priority=priority)


def _of_shipper(text: str) -> Around | None:
    """A line that was shipped as JSON; None: it is none, or says no time."""
    if not text.startswith("{") or '"message"' not in text or 'timestamp"' not in text:
        return None
    try:
        line = msgspec.json.decode(text, type=_ShippedLine)
    except (msgspec.MsgspecError, RecursionError):
        return None
    t_us = of_iso(line.elastic_time or line.timestamp, 0)
    host = line.host.name if isinstance(line.host, _Host) else line.host
    return Around(text=line.message, t_us=t_us, host=host) if t_us is not None else None


def _realtime(text: str) -> int | None:
    """The journal's microseconds since 1970."""
    t_us = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None
    return t_us if t_us is not None and t_us <= LATEST_US else None
