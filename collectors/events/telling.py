"""How do notices become facts for ``device-events``, and how many at most?

Severity of a port that goes down: an RNIC's is an ``error``, another network device's a ``warning`` (field case N15:
"eth0 warn, ib1 critical"). No two notices are taken for one because they carry the same time: six flaps within a
second are six. The link of an RNIC may be watched elsewhere (its own state, sysfs); then ``links`` is false, and what
a log says of it is told as ``carrier``, ``info``: evidence, but no second ``port_down`` for one cause, as flaps are
counted by those. Bound: ``MOST`` facts a minute for each device and code; what comes beyond is counted and told once,
when the minute is over, with ``values.left_out``. Memory: one entry for each device and code of the last minute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from collectors.events.devices import Devices
from collectors.events.notices import Notice, Subject
from collectors.observing import Now, Observed
from schemas.instants import SECOND_US

MOST = 120
MINUTE_US = 60 * SECOND_US
LINKLESS = ("host:", "container:")
"""A link that is told of one of these is of a card that nobody knows: it must not accuse the host."""


def _device(notice: Notice, devices: Devices) -> str | None:
    """The component that a notice is about; a card that is no RNIC is known by its network device, if that is told."""
    device = devices.component(notice.subject)
    netdev = notice.values.get("netdev")
    if device == f"host:{devices.host}" and notice.subject.kind == "pci" and isinstance(netdev, str):
        return devices.component(Subject("netdev", netdev))
    return device


class Teller:
    """Makes facts of one source. ``stream``: who tells, after ``device-events/``; ``devices``: asked for each batch."""

    def __init__(self, stream: str, devices: Callable[[], Devices], links: bool = True) -> None:
        self._stream, self._devices, self._links = f"device-events/{stream}", devices, links
        self._began_us = 0
        self._told: dict[tuple[str, str], int] = {}

    def tell(self, notices: Iterable[tuple[Notice, int | None]], now: Now) -> Iterator[Observed]:
        """Facts of notices with their instants (None: now)."""
        if not self._began_us <= now.mono_us < self._began_us + MINUTE_US:
            yield from self._left_out(now)
            self._began_us, self._told = now.mono_us, {}
        devices: Devices | None = None
        for notice, t_us in notices:
            devices = devices or self._devices()
            device = _device(notice, devices)
            if device is None:
                continue
            key = device, notice.code
            self._told[key] = self._told.get(key, 0) + 1
            if self._told[key] <= MOST:
                yield self._fact(device, notice, now.t_us if t_us is None else t_us)

    def _fact(self, device: str, notice: Notice, t_us: int) -> Observed:
        severity, code = notice.severity, notice.code
        if code in ("port_down", "port_up") and device.startswith(LINKLESS if self._links else (*LINKLESS, "rnic:")):
            severity, code = "info", "carrier"
        elif code == "port_down" and device.startswith((f"port:{self._devices().host}/", "rnic:")):
            severity = "error" if device.startswith("rnic:") or "/ib" in device else "warning"
        fields = {
            "device": device,
            "event": code,
            "severity": severity,
            "text": notice.text,
            "values": dict(notice.values),
        }
        return Observed("device-events", self._stream, t_us, fields)

    def _left_out(self, now: Now) -> Iterator[Observed]:
        for (device, code), number in self._told.items():
            if number > MOST:
                text = f"{number - MOST} further {code} of {device} within a minute were left out"
                fields = {
                    "device": device,
                    "event": code,
                    "severity": "info",
                    "text": text,
                    "values": {"left_out": number - MOST},
                }
                yield Observed("device-events", self._stream, now.t_us, fields)
