"""Parts of the agent that read logs: files that grow (syslog, ovs-vswitchd.log, a job's log), and a syslog socket.

A file is followed through rotation: another inode, or a file shorter than what was read, is read from its beginning. A
line that has no end yet waits for it. Lines that are older than ``OLDEST_S`` are not told: a log that is found for the
first time is read from its end, but a copied one would bring last year's faults back. No line is of the future: a
clock or zone that is wrong must not carry the pipeline's time along; and what a switch sends is of now, if its clock
says something that is more than ``MOST_SKEW_S`` old. Of a line that was written over (a progress
bar), each version is a line, as other words may follow on it. Bound: ``MOST_BYTES`` a reading; more than that is
skipped and told.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from collectors.events.classifying import Source, classify
from collectors.events.devices import Devices
from collectors.events.framing import LONGEST, parse_line
from collectors.events.job_times import JobTimes
from collectors.events.kernel_log import instant
from collectors.events.layers import Layers
from collectors.events.notices import Notice, Subject
from collectors.events.relative_times import RelativeTimes
from collectors.events.telling import Teller
from collectors.events.wrapping import join_wrapped
from collectors.flows.matching import Net, address
from collectors.observing import Now, Observed
from schemas.instants import SECOND_US

MOST_BYTES = 1_000_000
MOST_DATAGRAMS = 1_000
OLDEST_S = 3_600
MOST_REPEATED = 20
"""A line that syslog counted is told so many times at most (flaps are counted by what is told); each says how often."""

HEAD_BYTES = 8_192
MOST_SKEW_S = 5


class Followed:
    """What is known of a log, or of all that a socket hears, from its lines so far."""

    def __init__(self) -> None:
        self.times, self.layers = RelativeTimes(), Layers()


def notices_of(
    lines: Iterable[str],
    now: Now,
    source: Source,
    zone_s: int,
    whose: str | None = None,
    followed: Followed | None = None,
) -> Iterator[tuple[Notice, int]]:
    """Notices of log lines with their instants. ``whose``: container or switch that the log belongs to; ``followed``:
    what the lines before have said, if there were any.
    """
    followed = followed or Followed()
    for text in lines:
        line = followed.times.step(parse_line(text, now.t_us, zone_s))
        notice = classify(line, source)
        if notice is None:
            continue
        t_us = min(instant(line, now), now.t_us)
        if source == "switch" and t_us < now.t_us - MOST_SKEW_S * SECOND_US:
            t_us = now.t_us
        if t_us < now.t_us - OLDEST_S * SECOND_US:
            continue
        notice = followed.layers.step(_named(notice, whose or (line.host if source == "switch" else None)), t_us)
        if line.times > 1:
            notice = replace(notice, values={**notice.values, "times": line.times})
        if source == "job" and whose is not None:
            notice = replace(notice, values={**notice.values, "container": whose})
        for _ in range(min(line.times, MOST_REPEATED)):
            yield notice, t_us


def _named(notice: Notice, whose: str | None) -> Notice:
    """The notice with the name of the switch or container that its log belongs to."""
    kind, name = notice.subject.kind, notice.subject.name
    if whose is None or kind not in ("port", "switch", "container"):
        return notice
    subject = Subject(kind, f"{whose}/{name}" if kind == "port" else whose)
    return replace(notice, subject=subject)


class LogFile:
    """Follows one file. ``whose``: what kind of log it is, and of which switch or container; ``links``: see
    ``Teller``.
    """

    def __init__(
        self,
        path: Path,
        devices: Callable[[], Devices],
        whose: tuple[Source, str | None] = ("host", None),
        zone_s: Callable[[], int] = lambda: 0,
        links: bool = True,
    ) -> None:
        self.name, self.period_s = f"log {path}", 1.0
        self._path, self._zone_s = path, zone_s
        self._source, self._whose = whose
        self._teller = Teller(f"log/{path.name}", devices, links)
        self._place: tuple[int, int] | None = None
        self._rest = b""
        self._times, self._followed = JobTimes(), Followed()

    def collect(self, now: Now) -> Iterator[Observed]:
        """Reads what was written since.

        Raises:
            OSError: the file is not there or not readable.
        """
        zone_s = self._zone_s()
        data, skipped = self._read(now, zone_s)
        lines = [line.decode(errors="replace") for line in data]
        if self._source == "job":
            self._times.take(lines, now.t_us, zone_s)
        else:
            lines = join_wrapped(lines)
        found: list[tuple[Notice, int | None]] = [
            (self._times.judge(notice, t_us), t_us)
            for notice, t_us in notices_of(lines, now, self._source, zone_s, self._whose, self._followed)
        ]
        if skipped:
            text = f"{skipped} bytes of {self._path.name} were skipped, as too much came at once"
            found.append((Notice(code="unknown", severity="info", subject=Subject("host"), text=text), None))
        yield from self._teller.tell(found, now)

    def _read(self, now: Now, zone_s: int) -> tuple[list[bytes], int]:
        """Whole new lines, and how many bytes were skipped."""
        with self._path.open("rb") as file:
            status = os.fstat(file.fileno())
            if self._place is None:
                self._place = status.st_ino, status.st_size
                if status.st_size:
                    head = file.read(HEAD_BYTES).decode(errors="replace")
                    self._times.begin_late(head.splitlines(), now.t_us, zone_s)
            inode, offset = self._place
            if inode != status.st_ino or status.st_size < offset:
                offset, self._rest = 0, b""
                self._times.exchanged()
            skipped = max(0, status.st_size - offset - MOST_BYTES)
            if skipped:
                self._rest = b""
            file.seek(offset + skipped)
            data = file.read(MOST_BYTES)
            self._place = status.st_ino, file.tell()
        *lines, rest = (self._rest + data).split(b"\n")
        rest = rest[rest.rfind(b"\r", 0, -1) + 1 :] if len(rest) > LONGEST else rest
        self._rest = rest if len(rest) <= LONGEST else b""
        return [part for line in lines for part in _overwritten(line)], skipped


def _overwritten(line: bytes) -> list[bytes]:
    """What was written one over the other in a line."""
    line = line.rstrip(b"\r")
    return line.split(b"\r") if b"\r" in line else [line]


def _sender(text: str) -> Net | str:
    """An address however it is spelt: a socket for IPv6 gives those of IPv4 as ``::ffff:192.0.2.1``, and local ones
    with their device (``fe80::1%eth0``).
    """
    return address(text.partition("%")[0]) or text


class SyslogSocket:
    """Listens for syslog datagrams (UDP), of switches say. ``switches``: name by sender's address; others are left out.

    The receive time is the event's where the line has none; a switch's own clock is not the host's.
    """

    name = "syslog-socket"

    def __init__(
        self,
        address: tuple[str, int],
        switches: dict[str, str],
        devices: Callable[[], Devices],
        zone_s: Callable[[], int] = lambda: 0,
    ) -> None:
        self._wanted = address
        self._socket: socket.socket | None = None
        self._switches, self._zone_s = {_sender(text): name for text, name in switches.items()}, zone_s
        self._teller, self._followed = Teller("syslog", devices), Followed()

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, port = self._open().getsockname()[:2]
        return str(host), int(port)

    def _open(self) -> socket.socket:
        if self._socket is None:
            family = socket.AF_INET6 if ":" in self._wanted[0] else socket.AF_INET
            opened = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
            try:
                opened.bind(self._wanted)
            except OSError:
                opened.close()
                raise
            self._socket = opened
        return self._socket

    def fileno(self) -> int:
        """What to wait for; opened at the first call.

        Raises:
            OSError: the address is taken, or not this host's.
        """
        return self._open().fileno()

    def receive(self, now: Now) -> Iterator[Observed]:
        """Takes what has come."""
        yield from self._teller.tell(self._notices(now), now)

    def close(self, now: Now) -> tuple[Observed, ...]:  # noqa: ARG002 - as the agent calls it
        """Gives the socket back."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        return ()

    def _notices(self, now: Now) -> Iterator[tuple[Notice, int | None]]:
        receiving = self._open()
        for _ in range(MOST_DATAGRAMS):
            try:
                data, sender = receiving.recvfrom(LONGEST)
            except BlockingIOError:
                return
            switch = self._switches.get(_sender(str(sender[0])))
            if switch is not None:
                line = data.decode(errors="replace")
                yield from notices_of([line], now, "switch", self._zone_s(), switch, self._followed)
