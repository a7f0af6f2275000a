"""``rnic-counters``: what has each RNIC of each container sent, received and counted? Once a second, in columns.

A message holds the samples of some seconds of one container (``RnicSettings``): ``tx_bytes`` and ``rx_bytes`` in bytes,
every further counter of the port under its kernel's name, statistics of the network device that tell of priorities,
pauses and lanes (raw ``ethtool -S`` names, at one sample in ten seconds), and ``driver_epoch``, which grows
when the driver was loaded again or the card was reset; all counters begin anew then (see ``meters``).
Samples are taken at whole seconds of the host's clock (see ``rhythm``).

What could not be read is null, and why is told by a device event ``counters_unreadable`` (severity info): absent
functions of a driver are no fault. What the counters say by themselves is told as hints (see ``findings``). A device
that is not there gives nulls; whether it is *missing* is judged by ``RnicState``.
Cost: see ``benchmarks/collector_counters.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from collectors.observing import Now, Observed
from collectors.rnic.bonds import bond_of, read_members
from collectors.rnic.devices import Chosen, Device
from collectors.rnic.finding_reports import FindingWatch
from collectors.rnic.following import Cards, identity
from collectors.rnic.placement import Placement, Placements, by_container
from collectors.rnic.port_reading import PortReader
from collectors.rnic.reports import device_event, rnic_id
from collectors.rnic.rhythm import Rhythm
from collectors.rnic.settings import RnicSettings

TELL_AGAIN_US = 60_000_000
"""Reasons for nulls that change all the time are told once a minute."""

FINDINGS_S = 10.0
MOST_AWAY = 64
"""Readers of cards that are away are kept, in case that they come back, up to this number."""


class Statistics(Protocol):
    """Where statistics of network devices come from, ``ethtool.Ethtool`` in the agent."""

    def read(self, netdev: str) -> dict[str, int]:
        """Chosen statistics by their raw names; empty when there are none."""


class RnicCounters:
    """Collector of counters; ``statistics`` None: network devices are not asked."""

    name = "rnic-counters"

    def __init__(
        self, placements: Placements, cards: Cards, settings: RnicSettings, statistics: Statistics | None = None
    ) -> None:
        self.period_s = settings.counters_s
        self._rhythm = Rhythm(settings.counters_s)
        self._placements, self._settings, self._statistics = placements, settings, statistics
        self._cards, self._generation = cards, -1
        self._current: tuple[Placement, ...] = ()
        self._readers: dict[str, PortReader] = {}
        self._chosen: dict[str, PortReader | str] = {}
        self._away: dict[str, PortReader] = {}
        self._missed: dict[str, list[int]] = {}
        self._findings = FindingWatch()
        self._told: dict[str, tuple[dict[str, str], int]] = {}
        self._first_us = 0
        self._empty = True

    def collect(self, now: Now) -> Iterable[Observed]:
        """One sample of everything; messages when they are due."""
        observed: list[Observed] = []
        self.period_s = self._rhythm.next_s(now.t_us)
        placements = tuple(self._placements())
        generation = self._cards.look(now.mono_us)
        if generation != self._generation or placements != self._current:
            observed += self._flush(now)
            self._generation, self._current = generation, placements
            self._cards.keep_only(placements)
            self._findings.keep_only({one.endpoint for one in placements})
            self._open({one.endpoint: self._cards.find(one) for one in placements})
        self._sample(now)
        observed += self._look_deeper(now)
        if now.mono_us - self._first_us >= (self._settings.message_s - 1.5 * self._settings.counters_s) * 1e6:
            observed += self._flush(now)
        return observed

    def _open(self, chosen: dict[str, Chosen]) -> None:
        """Readers for what is chosen now; those of a former life or name go on in new ones."""
        former = self._away | self._readers
        self._readers, self._chosen = {}, {}
        for endpoint, one in chosen.items():
            if one.device is None or not one.port:
                self._chosen[endpoint] = one.why
                continue
            key = f"{identity(one.device)}/{one.port}"
            if key not in self._readers:
                self._readers[key] = self._reader(one.device, one.port, former.get(key))
            self._chosen[endpoint] = self._readers[key]
        for key, reader in former.items():
            if self._readers.get(key) is not reader:
                reader.close()
        away = [(key, reader) for key, reader in former.items() if key not in self._readers]
        self._away = dict(away[-MOST_AWAY:])

    def _reader(self, device: Device, port: int, former: PortReader | None) -> PortReader:
        if former is not None and former.device == device:
            return former
        reader = PortReader(self._cards.sys, device, port)
        reader.epoch = self._cards.epoch(device)
        if former is not None:
            reader.begin_anew(former)
        return reader

    def _sample(self, now: Now) -> None:
        if self._empty:
            self._first_us, self._empty = now.mono_us, False
        readers = {id(one): one for one in self._chosen.values() if isinstance(one, PortReader)}
        for reader in readers.values():
            reader.take_raw()
        for reader in readers.values():
            if not reader.read_rest(now.t_us, now.mono_us):
                self._cards.look_soon(now.mono_us)
        for endpoint, one in self._chosen.items():
            if isinstance(one, str):
                self._missed.setdefault(endpoint, []).append(now.t_us)

    def _look_deeper(self, now: Now) -> Iterator[Observed]:
        """Statistics of network devices, and what all counters say since the last time: one port after the other,
        because a driver takes milliseconds to answer.
        """
        every_us = (self._settings.ethtool_s or FINDINGS_S) * 1e6
        for place, reader in enumerate(self._readers.values()):
            if not reader.deeper_us:
                reader.deeper_us = now.mono_us + round(every_us * place / len(self._readers))
            if now.mono_us < reader.deeper_us:
                continue
            reader.deeper_us = now.mono_us + round(every_us)
            netdev = reader.device.netdev(reader.port)
            if netdev and self._statistics is not None and self._settings.ethtool_s:
                reader.add_extra(self._read_statistics(self._statistics, reader, netdev))
            for placement in self._current:
                if self._chosen[placement.endpoint] is reader:
                    yield from self._findings.look(now, placement, reader.totals())

    def _read_statistics(self, statistics: Statistics, reader: PortReader, netdev: str) -> dict[str, int]:
        """Those of the network device; of a bond also those of its members, as ``<member>/<name>``."""
        found = statistics.read(netdev)
        if reader.device.kind == "bond":
            sys = str(self._cards.sys)
            bond = bond_of(sys, netdev)
            for member in read_members(sys, bond) or () if bond is not None else ():
                found |= {f"{member.name}/{name}": value for name, value in statistics.read(member.name).items()}
        return found

    def _flush(self, now: Now) -> list[Observed]:
        """All columns as messages, one per container."""
        observed = []
        for (container, host, job, tenant), group in by_container(self._current).items():
            rnics = [fields for one in group if (fields := self._columns(one)) is not None]
            if not rnics:
                continue
            t_us = max(max(_instants(fields)) for fields in rnics)
            fields = {"container": container, "host": host, "job": job, "tenant": tenant, "rnics": rnics}
            observed.append(Observed("rnic-counters", f"rnic-counters.{container}", t_us, fields))
        observed += self._tell_reasons(now)
        for reader in self._readers.values():
            reader.clear()
        self._missed, self._empty = {}, True
        return observed

    def _columns(self, placement: Placement) -> dict[str, object] | None:
        one = self._chosen.get(placement.endpoint)
        if isinstance(one, PortReader):
            return one.fields(placement.rnic) if one.t_us else None
        instants = self._missed.get(placement.endpoint)
        if not instants:
            return None
        nothing: list[None] = [None] * len(instants)
        return {"rnic": placement.rnic, "t_us": instants, "tx_bytes": nothing, "rx_bytes": nothing}

    def _tell_reasons(self, now: Now) -> Iterator[Observed]:
        for one in self._current:
            chosen = self._chosen.get(one.endpoint)
            reasons = chosen.reasons() if isinstance(chosen, PortReader) else {"device": chosen} if chosen else {}
            known, told_us = self._told.get(one.endpoint, ({}, now.mono_us - TELL_AGAIN_US))
            if reasons == known or now.mono_us - told_us < TELL_AGAIN_US:
                continue
            self._told[one.endpoint] = (reasons, now.mono_us)
            text = _sentence(one.rnic, reasons)
            device = rnic_id(one.host, one.rnic)
            yield device_event(now, device, "counters_unreadable", "info", text, endpoint=one.endpoint, reasons=reasons)
        for endpoint in self._told.keys() - {one.endpoint for one in self._current}:
            del self._told[endpoint]


def _sentence(rnic: str, reasons: dict[str, str]) -> str:
    if not reasons:
        return f"{rnic}: all counters can be read again"
    first = sorted(reasons)[0]
    return f"{rnic}: {len(reasons)} counters can't be read, among them {first}: {reasons[first]}"


def _instants(fields: dict[str, object]) -> Sequence[int]:
    instants = fields["t_us"]
    assert isinstance(instants, list)
    return instants
