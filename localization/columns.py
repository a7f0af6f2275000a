"""One second of probe results as columns: what each train saw, and each pair in sum, of all jobs judged together.

``read_trains`` is the only place that touches single results, hence its list comprehensions: about 1 us per result,
most of it for bringing them from memory.
Left out: traceroutes (they carry paths, not samples), trains of which nothing was sent (``not_sent`` and
``target_not_ready`` are no loss), and pairs with an endpoint that is not ready.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, compress

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
    """Trains of one second, columns of length n: those of each job in event order, one job after another, ``begin`` its
    first. ``row``: of the pair, in the columns of all jobs. ``path`` indexes ``paths``, -1 = not known.

    ``rtt_us``: median of the samples, nan = none. ``rtt_count``, ``rtt_log_sum``, ``rtt_log_square``: number, sum and
    sum of squares of ln RTT of them.
    """

    begin: Ints
    row: Ints
    t_us: Ints
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

    ``job``: number of the pair's job, ``first``: by job, its first pair here; every job has one.
    ``sent``, ``lost``: of trains that were not lost as a whole. ``lossy_us``: first train with a loss (or the first).
    ``log_rtt``: mean ln RTT, nan = no sample. ``samples``, ``log_square``: their number and the sum of (ln RTT)^2.
    ``hops``: links of the last known path, 0 = not known.
    """

    job: Ints
    first: Ints
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
class Readings:
    """One job's trains of a second, lists of equal length; ``samples`` holds ``count`` of each, one after another.

    ``row``: in the job's own table. ``path`` indexes ``paths``, -1 = not known.
    """

    src: list[str] = field(default_factory=list)
    dst: list[str] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    t_us: list[int] = field(default_factory=list)
    sport: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    path: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    samples: list[float] = field(default_factory=list)
    paths: dict[Path | None, int] = field(default_factory=lambda: {None: -1})

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
        number = self.paths.setdefault
        self.path += [number(r.path, len(self.paths) - 1) for r in results]
        rtts = [r.rtt_us for r in results]
        self.count += [len(rtt) for rtt in rtts]
        self.samples += chain.from_iterable(rtts)

    def only(self, chosen: Flags) -> Readings:
        """Those of the chosen trains."""
        flags = chosen.tolist()
        kept = Readings(samples=list(compress(self.samples, np.repeat(chosen, self.count).tolist())))
        for name in ("src", "dst", "row", "t_us", "sport", "sent", "lost", "count"):
            setattr(kept, name, list(compress(getattr(self, name), flags)))
        names = list(self.paths)
        kept.path = [kept.paths.setdefault(names[n + 1], len(kept.paths) - 1) for n in compress(self.path, flags)]
        return kept

    def known_paths(self) -> tuple[Path, ...]:
        """What ``path`` indexes."""
        return tuple(path for path in self.paths if path is not None)


def read_trains(pending: Sequence[ProbeResults], pairs: PairTable, usable: Callable[[str, str], bool]) -> Readings:
    """The trains of a job's waiting messages. ``usable`` is asked once for each new pair."""
    read, known = Readings(), len(pairs.names)
    for low in range(0, len(pending), AT_ONCE):
        read.read(pending[low : low + AT_ONCE], pairs)
    pairs.grow()
    for row in range(known, len(pairs.names)):
        pairs.columns.live[row] = usable(*pairs.names[row])
    if pairs.columns.live[: len(pairs.names)].all():
        return read
    return read.only(pairs.columns.live[np.array(read.row, np.int64)])


def bring_together(readings: Sequence[Readings], begin: Ints) -> Trains:
    """The trains of several jobs, each with some, as columns; ``begin``: the first row of each."""
    sizes = np.array([len(read.row) for read in readings], np.int64)
    counts, samples = _ints([read.count for read in readings]), _floats([read.samples for read in readings])
    owner = np.repeat(np.arange(len(counts)), counts)
    log_rtt = np.log(np.maximum(samples, RTT_FLOOR_US))
    path, paths = _ints([read.path for read in readings]), [read.known_paths() for read in readings]
    before = np.array([0, *accumulate(map(len, paths))][:-1], np.int64)
    return Trains(
        begin=np.cumsum(sizes) - sizes,
        row=_ints([read.row for read in readings]) + np.repeat(begin, sizes),
        t_us=_ints([read.t_us for read in readings]),
        sent=_ints([read.sent for read in readings]),
        lost=_ints([read.lost for read in readings]),
        path=np.where(path < 0, path, path + np.repeat(before, sizes)),
        paths=[path for own in paths for path in own],
        rtt_us=_medians(samples, counts),
        rtt_count=counts,
        rtt_log_sum=_sums(log_rtt, owner, len(counts)),
        rtt_log_square=_sums(log_rtt**2, owner, len(counts)),
    )


def medians_or_none(trains: Trains) -> list[float | None]:
    """``rtt_us`` with None for nan."""
    rtt = trains.rtt_us.astype(object)
    rtt[np.isnan(trains.rtt_us)] = None
    found: list[float | None] = rtt.tolist()
    return found


def _ints(lists: Sequence[list[int]]) -> Ints:
    """One array of all; by ``array``, which takes a list of Python's numbers in half of NumPy's time."""
    joined = array("q")
    for each in lists:
        joined.fromlist(each)
    return np.frombuffer(joined, np.int64)


def _floats(lists: Sequence[list[float]]) -> Floats:
    joined = array("d")
    for each in lists:
        joined.fromlist(each)
    return np.frombuffer(joined, np.float64)


def _sums(values: Floats, owner: Ints, size: int) -> Floats:
    return np.asarray(np.bincount(owner, values, size), np.float64)


def _medians(samples: Floats, counts: Ints) -> Floats:
    """Median of each train's samples, nan where there is none. Trains mostly have the same number of them."""
    medians, start = np.full(len(counts), np.nan), np.cumsum(counts) - counts
    for size in (np.flatnonzero(np.bincount(counts)[1:]) + 1).tolist():
        same = np.flatnonzero(counts == size)
        ordered = np.sort(samples[start[same][:, None] + np.arange(size)[None, :]], axis=1)
        medians[same] = (ordered[:, (size - 1) // 2] + ordered[:, size // 2]) / 2.0
    return medians


def sum_pairs(trains: Trains, begin: Ints) -> PairSums:
    """Trains summed by pair; ``begin``: the first row of each job. Cost: one sort."""
    order = np.lexsort((trains.t_us, trains.row))
    sorted_row = trains.row[order]
    start = np.flatnonzero(np.concatenate(([True], sorted_row[1:] != sorted_row[:-1])))
    row = sorted_row[start]
    alive = trains.lost < trains.sent
    t_us, lost = trains.t_us[order], trains.lost[order]
    lengths = np.array([0, *(len(path) for path in trains.paths)], np.int64)
    count = np.add.reduceat(trains.rtt_count[order], start)
    total = np.add.reduceat(trains.rtt_log_sum[order], start)
    return PairSums(
        job=np.searchsorted(begin, row, side="right") - 1,
        first=np.searchsorted(row, begin),
        row=row,
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
