"""Which endpoints probe, and how regularly? A row for each, in columns, so that all of a second are heard at once.

A gap is the time between two seconds in which an endpoint probed, in seconds; its usual one is a mean that decays over
60 of them. Cost: some numpy calls and one look-up by name of each endpoint a second. Memory: 150 bytes an endpoint.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple

import msgspec
import numpy as np

from localization.arrays import Floats, Ints
from localization.narrowing import by_number
from localization.numbering import numbers_of
from localization.producers import FORGET_US
from schemas.instants import SECOND_US
from skeleton.regularity import LEARNED

REMEMBERED = 60


class Source(NamedTuple):
    """When an endpoint last probed, and its usual gap, seconds (decayed mean). ``away``: its last long silence, us."""

    last_us: int
    gap_s: float = 1.0
    windows: int = 1
    away: tuple[int, int] | None = None

    def is_late(self, t_us: int) -> bool:
        """Whether it used to probe regularly and has not for two seconds and four usual gaps."""
        return self.windows >= 2 * LEARNED and (t_us - self.last_us) / SECOND_US >= max(2.0, 4.0 * self.gap_s)


_NAMES = msgspec.msgpack.Decoder(list[str])


def _ints() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(slots=True, eq=False)
class Sources(Mapping[str, Source]):
    """Endpoints as probers: who probed in which second. Columns: see ``Source``; ``away`` is n x 2, 0 = never."""

    rows: dict[str, int] = field(default_factory=dict)
    last_us: Ints = field(default_factory=_ints)
    gap_s: Floats = field(default_factory=lambda: np.zeros(0))
    windows: Ints = field(default_factory=_ints)
    away: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))

    def __getstate__(self) -> tuple[bytes, Ints, Floats, Ints, Ints]:
        return msgspec.msgpack.encode(list(self.rows)), self.last_us, self.gap_s, self.windows, self.away

    def __setstate__(self, state: tuple[bytes, Ints, Floats, Ints, Ints]) -> None:
        names, self.last_us, self.gap_s, self.windows, self.away = state
        self.rows = by_number(_NAMES.decode(names))

    def __getitem__(self, endpoint: str) -> Source:
        row = self.rows[endpoint]
        since_us, until_us = self.away[row].tolist()
        away = (since_us, until_us) if until_us else None
        return Source(int(self.last_us[row]), float(self.gap_s[row]), int(self.windows[row]), away)

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def hear(self, endpoints: Collection[str], t_us: int) -> None:
        """Endpoints, each once, that probed in the second that ends at ``t_us``."""
        rows = self._rows(endpoints, t_us - SECOND_US)
        last_us, usual_s, windows = self.last_us[rows], self.gap_s[rows], self.windows[rows]
        silent_s = (t_us - SECOND_US - last_us) / SECOND_US
        late = (windows >= 2 * LEARNED) & (silent_s >= np.maximum(2.0, 4.0 * usual_s))
        self.away[rows[late]] = np.stack([last_us[late], np.full(np.count_nonzero(late), t_us)], axis=1)
        gap_s = np.where(late, usual_s, (t_us - last_us) / SECOND_US)
        self.gap_s[rows] = usual_s + (gap_s - usual_s) / np.clip(windows, 1, REMEMBERED)
        self.windows[rows] = windows + 1
        self.last_us[rows] = t_us

    def _rows(self, endpoints: Collection[str], before_us: int) -> Ints:
        """The rows of endpoints; new ones get rows as if they had been heard at ``before_us`` for the first time."""
        rows = numbers_of(self.rows, [endpoints])
        more = len(self.rows) - len(self.last_us)
        if more:
            self.last_us = np.append(self.last_us, np.full(more, before_us))
            self.gap_s = np.append(self.gap_s, np.ones(more))
            self.windows = np.append(self.windows, np.zeros(more, np.int64))
            self.away = np.append(self.away, np.zeros((more, 2), np.int64), axis=0)
        return rows

    def is_silent(self, endpoint: str, t_us: int) -> bool:
        """Whether an endpoint that used to probe regularly has stopped."""
        source = self.get(endpoint)
        return source is not None and source.is_late(t_us)

    def unheard(self, before_us: int) -> list[str]:
        """Endpoints that did not probe after an instant, sorted."""
        return sorted(compress(self.rows, (self.last_us <= before_us).tolist()))

    def back_us(self, endpoint: str, since_us: int) -> int | None:
        """When an endpoint probed again after a silence that was not over at ``since_us``; None: there was none."""
        source = self.get(endpoint)
        if source is None or source.away is None or source.away[1] <= since_us:
            return None
        return source.away[1]

    def forget(self, t_us: int) -> None:
        """Drops endpoints that stopped long ago."""
        kept = t_us - self.last_us < FORGET_US
        if not kept.all():
            self.rows = by_number(list(compress(self.rows, kept.tolist())))
            self.last_us, self.gap_s = self.last_us[kept], self.gap_s[kept]
            self.windows, self.away = self.windows[kept], self.away[kept]
