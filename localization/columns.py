"""One second of probe results as columns: what each train saw, and each pair in sum.

``gather`` is the only place that touches single results, hence its list comprehensions: about 1 us per result, most of
it for bringing them from memory.
Left out: traceroutes (they carry paths, not samples), trains of which nothing was sent (``not_sent`` and
``target_not_ready`` are no loss), and pairs with an endpoint that is not ready.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress

import numpy as np

from localization.arrays import Flags, Floats, Ints
from localization.pairs import PairTable
from schemas.probing import ProbeResult, ProbeResults

RTT_FLOOR_US = 0.01
"""Below any network; keeps the logarithm finite where a clock was too coarse."""

AT_ONCE = 32
"""Messages whose results are read together: few enough that they stay in the cache while each field is taken."""

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trains:
    """Trains of one second, columns of length n, in event order. ``path`` indexes ``paths``, -1 = not known.

    ``rtt_us``: median of the samples, nan = none. ``rtt_count``, ``rtt_log_sum``, ``rtt_log_square``: number, sum and
    sum of squares of ln RTT of them.
    """

    src: list[str]
    dst: list[str]
    row: Ints
    t_us: Ints
    sport: list[int]
    sent: Ints
    lost: Ints
    path: Ints
    paths: list[Path]
    rtt_us: Floats
    rtt_count: Ints
    rtt_log_sum: Floats
    rtt_log_square: Floats


@dataclass(frozen=True, slots=True)
class PairSums:
    """The same by pair, columns of length m, by ``row``; ``order`` and ``start`` give each pair's trains by time.

    ``sent``, ``lost``: of trains that were not lost as a whole. ``lossy_us``: first train with a loss (or the first).
    ``log_rtt``: mean ln RTT, nan = no sample. ``samples``, ``log_square``: their number and the sum of (ln RTT)^2.
    ``hops``: links of the last known path, 0 = not known.
    """

    row: Ints
    order: Ints
    start: Ints
    first_us: Ints
    lossy_us: Ints
    sent: Ints
    lost: Ints
    log_rtt: Floats
    samples: Ints
    log_square: Floats
    hops: Ints


@dataclass(slots=True)
class _Results:
    """Fields of single results, lists of equal length; ``samples`` holds ``count`` of each, one after another."""

    src: list[str] = field(default_factory=list)
    dst: list[str] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    t_us: list[int] = field(default_factory=list)
    sport: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    path: list[Path | None] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    samples: list[float] = field(default_factory=list)

    def read(self, messages: Sequence[ProbeResults], pairs: PairTable) -> None:
        """Adds the trains of some messages."""
        results: list[ProbeResult] = []
        for message in messages:
            trains = [r for r in message.results if r.sent and r.kind != "traceroute"]
            targets = [r.dst for r in trains]
            results += trains
            self.src += [message.src] * len(trains)
            self.dst += targets
            self.row += pairs.rows(message.src, targets)
        self.t_us += [r.t_us for r in results]
        self.sport += [r.sport or 0 for r in results]
        self.sent += [r.sent for r in results]
        self.lost += [r.lost for r in results]
        self.path += [r.path for r in results]
        rtts = [r.rtt_us for r in results]
        self.count += [len(rtt) for rtt in rtts]
        self.samples += chain.from_iterable(rtts)

    def only(self, chosen: Flags) -> _Results:
        """Those of the chosen trains."""
        kept = _Results(samples=list(compress(self.samples, np.repeat(chosen, self.count).tolist())))
        flags = chosen.tolist()
        for name in ("src", "dst", "row", "t_us", "sport", "sent", "lost", "path", "count"):
            setattr(kept, name, list(compress(getattr(self, name), flags)))
        return kept


def gather(pending: Sequence[ProbeResults], pairs: PairTable, usable: Callable[[str, str], bool]) -> Trains | None:
    """The trains of the waiting messages, None if there are none. ``usable`` is asked once for each new pair."""
    read, known = _Results(), len(pairs.names)
    for low in range(0, len(pending), AT_ONCE):
        read.read(pending[low : low + AT_ONCE], pairs)
    pairs.grow()
    for row in range(known, len(pairs.names)):
        pairs.columns.live[row] = usable(*pairs.names[row])
    chosen = pairs.columns.live[np.array(read.row, np.int64)]
    if not chosen.any():
        return None
    return _trains(read if chosen.all() else read.only(chosen))


def _trains(read: _Results) -> Trains:
    known: dict[Path, int] = {}
    path = [-1 if each is None else known.setdefault(each, len(known)) for each in read.path]
    counts, samples = np.array(read.count, np.int64), np.array(read.samples, np.float64)
    owner = np.repeat(np.arange(len(counts)), counts)
    log_rtt = np.log(np.maximum(samples, RTT_FLOOR_US))
    return Trains(
        src=read.src,
        dst=read.dst,
        row=np.array(read.row, np.int64),
        t_us=np.array(read.t_us, np.int64),
        sport=read.sport,
        sent=np.array(read.sent, np.int64),
        lost=np.array(read.lost, np.int64),
        path=np.array(path, np.int64),
        paths=list(known),
        rtt_us=_medians(samples, counts),
        rtt_count=counts,
        rtt_log_sum=_sums(log_rtt, owner, len(counts)),
        rtt_log_square=_sums(log_rtt**2, owner, len(counts)),
    )


def _sums(values: Floats, owner: Ints, size: int) -> Floats:
    return np.asarray(np.bincount(owner, values, size), np.float64)


def _medians(samples: Floats, counts: Ints) -> Floats:
    """Median of each train's samples, nan where there is none. Trains mostly have the same number of them."""
    medians, start = np.full(len(counts), np.nan), np.cumsum(counts) - counts
    for size in np.unique(counts[counts > 0]).tolist():
        same = np.flatnonzero(counts == size)
        ordered = np.sort(samples[start[same][:, None] + np.arange(size)[None, :]], axis=1)
        medians[same] = (ordered[:, (size - 1) // 2] + ordered[:, size // 2]) / 2.0
    return medians


def sum_pairs(trains: Trains) -> PairSums:
    """Trains summed by pair. Cost: one sort."""
    order = np.lexsort((trains.t_us, trains.row))
    sorted_row = trains.row[order]
    start = np.flatnonzero(np.concatenate(([True], sorted_row[1:] != sorted_row[:-1])))
    alive = trains.lost < trains.sent
    t_us, lost = trains.t_us[order], trains.lost[order]
    lengths = np.array([0, *(len(path) for path in trains.paths)], np.int64)
    count = np.add.reduceat(trains.rtt_count[order], start)
    total = np.add.reduceat(trains.rtt_log_sum[order], start)
    return PairSums(
        row=sorted_row[start],
        order=order,
        start=start,
        first_us=t_us[start],
        lossy_us=_first_lossy(t_us, lost, start),
        sent=np.add.reduceat((trains.sent * alive)[order], start),
        lost=np.add.reduceat((trains.lost * alive)[order], start),
        log_rtt=np.where(count > 0, total / np.maximum(count, 1), np.nan),
        samples=count,
        log_square=np.add.reduceat(trains.rtt_log_square[order], start),
        hops=np.maximum.reduceat(lengths[trains.path + 1][order], start),
    )


def _first_lossy(t_us: Ints, lost: Ints, start: Ints) -> Ints:
    never = np.iinfo(np.int64).max
    earliest = np.minimum.reduceat(np.where(lost > 0, t_us, never), start)
    return np.where(earliest == never, t_us[start], earliest)
