"""What do the counters of one port show now, in columns? The reader behind ``RnicCounters``.

Bytes are read first and for all ports together, so that the samples of a host belong to one instant; the rest follows.
A port whose device is gone gives nulls, never zeros. Memory: one number per counter and sample until it is published.
Cost: 1.5 us and the driver's own time per file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from collectors.rnic.attributes import Attribute, names_in
from collectors.rnic.counter_text import Unread
from collectors.rnic.devices import Device
from collectors.rnic.meters import ByteMeter, Meter
from collectors.rnic.port_text import parse_rate
from collectors.rnic.quantities import (
    CEILINGS,
    RECEIVED,
    SAME_AS,
    SENT,
    SOFT_RECEIVED,
    SOFT_SENT,
    Source,
    is_counter,
)
from schemas.telemetry import RNIC_COLUMNS

MOST_COUNTERS = 256
TRIES = 3
"""So often in a row a source is unreadable before another file is asked for the quantity."""

PATIENCE = 1024
"""What has never worked is tried less and less often."""

Column = list[int | None]


class Quantity:
    """Bytes of one direction: the file that is read for them, and what may be published of it."""

    __slots__ = ("_attributes", "_candidates", "_failed", "_patience", "meter", "source")

    def __init__(self, roots: dict[str, str], candidates: Iterable[Source]) -> None:
        self._candidates = [(source, _files(roots, source)) for source in candidates]
        self._candidates = [(source, files) for source, files in self._candidates if files]
        self._attributes: list[Attribute] = []
        self._failed = self._patience = TRIES
        self.source: Source | None = None
        self.meter = ByteMeter(1)

    def read(self) -> int | Unread:
        """The raw sum, and another source when the present one keeps failing."""
        raw = _add_up(self._attributes)
        if type(raw) is int and not (self.source and raw == _ceiling(self.source)):
            self._failed, self._patience = 0, TRIES
            return raw
        self._failed += 1
        if self._failed < self._patience or raw is Unread.GONE:
            return raw
        self._failed, self._patience = 0, min(2 * self._patience, PATIENCE)
        return self._choose(raw)

    def _choose(self, otherwise: int | Unread) -> int | Unread:
        reason = otherwise
        for source, files in self._candidates:
            attributes = [Attribute(file, urgent=True) for file in files]
            raw = _add_up(attributes)
            if type(raw) is int and raw != _ceiling(source):
                if source is not self.source:
                    self.meter.begin_anew()
                    self.meter = _successor(self.meter, source)
                self.close()
                self.source, self._attributes = source, attributes
                return raw
            if reason is Unread.ABSENT:
                reason = raw
            for attribute in attributes:
                attribute.close()
        return reason

    def close(self) -> None:
        """Lets go of the files."""
        for attribute in self._attributes:
            attribute.close()


class ByteReader:
    """The bytes of one port of one life of a device."""

    def __init__(self, sys: Path, device: Device, port: int) -> None:
        self.device, self.port = device, port
        self.roots = _roots(sys, device, port)
        soft = device.kind == "soft"
        self.sent = Quantity(self.roots, (*SENT, SOFT_SENT) if soft else SENT)
        self.received = Quantity(self.roots, (*RECEIVED, SOFT_RECEIVED) if soft else RECEIVED)
        self._rate = Attribute(f"{device.port_folder(port)}/rate") if device.kind == "physical" else None
        self.raw: tuple[int | Unread, int | Unread] = (Unread.ABSENT, Unread.ABSENT)

    @property
    def is_gone(self) -> bool:
        """Whether the device was away at the last reading."""
        return Unread.GONE in self.raw

    def line_gbps(self) -> float | None:
        """What the port can carry now, where its rate is that of one wire: not for functions, bonds, soft devices."""
        if self._rate is None:
            return None
        try:
            rate = parse_rate(self._rate.read().decode("ascii", "replace"))
        except OSError:
            return None
        return None if rate is None else rate.gbps

    def take_raw(self) -> None:
        """Reads both counters, the part that has to be quick."""
        self.raw = (self.sent.read(), self.received.read())

    def read(self) -> tuple[int | None, int | None]:
        """Cumulative bytes sent and received now; a reset shows as a decrease."""
        self.take_raw()
        return self.sent.meter.take(self.raw[0]), self.received.meter.take(self.raw[1])

    def close(self) -> None:
        """Lets go of the files."""
        self.sent.close()
        self.received.close()
        if self._rate is not None:
            self._rate.close()


class PortReader(ByteReader):
    """All counters of one port of one life of a device, in columns."""

    def __init__(self, sys: Path, device: Device, port: int) -> None:
        super().__init__(sys, device, port)
        self.further = _further(self.roots)
        self.extra: dict[str, Meter] = {}
        self.t_us: list[int] = []
        self.tx: Column = []
        self.rx: Column = []
        self.columns: dict[str, Column] = {name: [] for name, _, _ in self.further}
        self.epoch = 0
        self.deeper_us = 0

    def read_rest(self, t_us: int, mono_us: int) -> bool:
        """Takes all further counters and adds one sample; whether the device is still there."""
        fell = False
        for name, attribute, meter in self.further:
            raw = attribute.counter()
            fell = fell or meter.falls(raw)
            self.columns[name].append(meter.take(raw))
        tx, rx = self.raw
        line = self.line_gbps()
        sent, received = self.sent.meter, self.received.meter
        self.t_us.append(t_us)
        self.tx.append(sent.take_bytes(tx, mono_us, line, fell))
        self.rx.append(received.take_bytes(rx, mono_us, line, fell))
        return not self.is_gone

    def add_extra(self, counters: dict[str, int]) -> None:
        """Counters of the network device, at the instant of the newest sample; the other samples have none."""
        for name, raw in counters.items():
            if name in self.columns and name not in self.extra:
                continue
            meter = self.extra.setdefault(name, Meter())
            column = self.columns.setdefault(name, [])
            column.extend([None] * (len(self.t_us) - 1 - len(column)))
            column.append(meter.take(raw))

    def begin_anew(self, reader: PortReader) -> None:
        """Goes on where the reader of the device's former life stopped, so that the reset can be seen."""
        for mine, theirs in ((self.sent, reader.sent), (self.received, reader.received)):
            theirs.meter.begin_anew()
            mine.meter = theirs.meter
            mine.source = theirs.source
        former = {name: meter for name, _, meter in reader.further}
        self.further = [(name, attribute, former.get(name, meter)) for name, attribute, meter in self.further]
        self.extra = reader.extra
        for meter in (*(meter for _, _, meter in self.further), *self.extra.values()):
            meter.begin_anew()

    def totals(self) -> dict[str, int | None]:
        """The newest value of every counter."""
        return {name: column[-1] for name, column in self.columns.items() if column}

    def reasons(self) -> dict[str, str]:
        """What could not be read just now, or not be believed, and why."""
        found = {name: str(meter.reason) for name, _, meter in self.further if meter.reason is not None}
        for name, quantity in (("tx_bytes", self.sent), ("rx_bytes", self.received)):
            if quantity.meter.reason is not None:
                found[name] = str(quantity.meter.reason)
        return found

    def fields(self, rnic: str) -> dict[str, object]:
        """The columns as one RNIC of a message."""
        length = len(self.t_us)
        fields: dict[str, object] = {"rnic": rnic, "t_us": self.t_us, "tx_bytes": self.tx, "rx_bytes": self.rx}
        for name, column in self.columns.items():
            if column:
                column.extend([None] * (length - len(column)))
                fields[name] = column
        fields["driver_epoch"] = [self.epoch] * length
        return fields

    def clear(self) -> None:
        """Begins new columns; the old ones belong to the message."""
        self.t_us, self.tx, self.rx = [], [], []
        self.columns = {name: [] for name in self.columns}

    def close(self) -> None:
        """Lets go of all files."""
        super().close()
        for _, attribute, _ in self.further:
            attribute.close()


def _add_up(attributes: list[Attribute]) -> int | Unread:
    if len(attributes) == 1:
        return attributes[0].counter()
    if not attributes:
        return Unread.ABSENT
    total = 0
    for attribute in attributes:
        raw = attribute.counter()
        if type(raw) is not int:
            return raw
        total += raw
    return total


def _successor(meter: ByteMeter, source: Source) -> ByteMeter:
    """The same meter for another file: what it showed stays comparable, in bytes."""
    meter.change(source.factor, _ceiling(source))
    return meter


def _ceiling(source: Source) -> int:
    if len(source.files) > 1 or not source.files[0].startswith("counters/"):
        return 0
    return CEILINGS.get(source.files[0].rpartition("/")[2], 0)


def _roots(sys: Path, device: Device, port: int) -> dict[str, str]:
    """Where the folders of counters are."""
    below = device.port_folder(port)
    roots = {name: f"{below}/{name}" for name in ("counters", "counters_ext", "hw_counters")}
    roots["device"] = f"{device.folder}/hw_counters"
    netdev = device.netdev(port)
    if netdev:
        roots["statistics"] = f"{sys}/class/net/{netdev}/statistics"
    return roots


def _files(roots: dict[str, str], source: Source) -> list[str]:
    paths = [(roots.get(file.partition("/")[0], ""), file.partition("/")[2]) for file in source.files]
    return [f"{root}/{name}" for root, name in paths if root and os.access(f"{root}/{name}", os.F_OK)]


def _further(roots: dict[str, str]) -> list[tuple[str, Attribute, Meter]]:
    """Every further counter once: ports before the device, short names before their 64-bit twins."""
    found: dict[str, tuple[str, Attribute, Meter]] = {}
    for folder in ("counters", "counters_ext", "hw_counters", "device"):
        for name in names_in(roots[folder]):
            twin = SAME_AS.get(name, name) if folder == "counters_ext" else name
            if name in found or twin in found or not is_counter(twin) or name in RNIC_COLUMNS or name == "driver_epoch":
                continue
            ceiling = CEILINGS.get(name, 0) if folder == "counters" else 0
            found[name] = (name, Attribute(f"{roots[folder]}/{name}"), Meter(1, ceiling))
            if len(found) >= MOST_COUNTERS:
                return list(found.values())
    return list(found.values())
