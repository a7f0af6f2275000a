"""``rnic-bursts``: which bursts did each RNIC send and receive? Bytes sampled every 10 to 100 ms, edges found here.

Every ``burst_message_s`` seconds one message per endpoint tells the bursts that ended since; an empty list says that
there were none, up to the message's ``t_us``: while a burst is going on that is the sample before, because it may
have ended within the last interval. An endpoint whose counters could not be read at all in that time gets no message,
because silence says nothing and an empty list would say "none". The agent may sample less often to save: edges get
blunter, no byte is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from collectors.observing import Now, Observed
from collectors.rnic.bursts import BurstDetector, Sensing
from collectors.rnic.following import Cards, identity
from collectors.rnic.placement import Placement, Placements
from collectors.rnic.port_reading import ByteReader
from collectors.rnic.rhythm import Rhythm
from collectors.rnic.settings import RnicSettings

BYTES_S_PER_GBPS = 125e6
RATES_US = 1_000_000


class _Watched:
    """A port with its detector; ``heard``: whether it was read since the last message."""

    __slots__ = ("detector", "heard", "key", "reader")

    def __init__(self, key: tuple[object, ...], reader: ByteReader, sensing: Sensing) -> None:
        self.key, self.reader = key, reader
        self.detector = BurstDetector(sensing)
        self.heard = False


class RnicBursts:
    """Collector of bursts."""

    name = "rnic-bursts"

    def __init__(self, placements: Placements, cards: Cards, settings: RnicSettings) -> None:
        self.period_s = settings.burst_sample_s
        self._rhythm = Rhythm(settings.burst_sample_s)
        self._placements, self._cards, self._settings = placements, cards, settings
        self._current: tuple[Placement, ...] = ()
        self._generation = -1
        self._watched: dict[str, _Watched] = {}
        self._ports: tuple[_Watched, ...] = ()
        self._flush_us = self._rates_us = self._sampled_us = 0

    def collect(self, now: Now) -> Iterable[Observed]:
        """One sample of every port; messages when they are due."""
        observed: list[Observed] = []
        self.period_s = self._rhythm.next_s(now.t_us)
        placements = tuple(self._placements())
        generation = self._cards.look(now.mono_us)
        if generation != self._generation or placements != self._current:
            observed = self._flush(now, self._sampled_us)
            self._generation, self._current = generation, placements
            self._open()
        t_us, mono_us = now.t_us, now.mono_us
        before_us, self._sampled_us = self._sampled_us, t_us
        for one in self._ports:
            tx, rx = one.reader.read()
            if tx is not None or rx is not None:
                one.heard = True
                one.detector.sample(t_us, mono_us, tx, rx)
            elif one.reader.is_gone:
                self._cards.look_soon(mono_us)
                one.detector.forget()
        if mono_us >= self._rates_us:
            self._read_rates(mono_us)
        if mono_us >= self._flush_us:
            observed += self._flush(now, before_us)
        return observed

    def _open(self) -> None:
        former, self._watched = self._watched, {}
        kept: dict[tuple[object, ...], _Watched] = {one.key: one for one in former.values()}
        self._cards.keep_only(self._current)
        for placement in self._current:
            chosen = self._cards.find(placement)
            if chosen.device is None or not chosen.port:
                continue
            key = (identity(chosen.device), chosen.device.incarnation, chosen.device.name, chosen.port)
            if key not in kept:
                reader = ByteReader(self._cards.sys, chosen.device, chosen.port)
                kept[key] = _Watched(key, reader, self._sensing(reader.line_gbps()))
            self._watched[placement.endpoint] = kept[key]
        used = {id(one): one for one in self._watched.values()}
        for one in kept.values():
            if id(one) not in used:
                one.reader.close()
        self._ports = tuple(used.values())

    def _read_rates(self, mono_us: int) -> None:
        """A port that comes up again may run at another rate."""
        self._rates_us = mono_us + RATES_US
        for one in self._ports:
            one.detector.sensing = self._sensing(one.reader.line_gbps())

    def _sensing(self, line_gbps: float | None) -> Sensing:
        settings = self._settings
        return Sensing(
            quiet_bytes_s=settings.quiet_bytes_s,
            ack_share=settings.ack_share,
            line_bytes_s=(line_gbps or 0.0) * BYTES_S_PER_GBPS,
            longest_us=round(settings.longest_burst_s * 1e6),
        )

    def _flush(self, now: Now, before_us: int) -> list[Observed]:
        settings = self._settings
        self._flush_us = now.mono_us + round((settings.burst_message_s - settings.burst_sample_s / 2) * 1e6)
        bursts = {id(one): _rows(one.detector) for one in self._ports}
        observed = []
        for placement in self._current:
            one = self._watched.get(placement.endpoint)
            if one is None or not one.heard:
                continue
            fields: dict[str, Any] = {
                "endpoint": placement.endpoint,
                "job": placement.job,
                "tenant": placement.tenant,
                "bursts": bursts[id(one)],
            }
            t_us = min(before_us, now.t_us) if one.detector.is_open else now.t_us
            observed.append(Observed("rnic-bursts", f"rnic-bursts.{placement.container}", t_us, fields))
        for one in self._ports:
            one.heard = False
        return observed


def _rows(detector: BurstDetector) -> list[dict[str, object]]:
    return [
        {"start_us": found.start_us, "end_us": found.end_us, "bytes": found.bytes, "direction": found.direction}
        for found in detector.take()
    ]
