"""One second of probe results as columns: what each train saw, and each pair in sum, of all jobs judged together.

Messages come packed (``schemas.packing``), so no single result is looked at: what is done in Python is done by message.
Left out: traceroutes (they carry paths, not samples), trains of which nothing was sent (``not_sent`` and
``target_not_ready`` are no loss), and pairs with an endpoint that is not ready.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, compress

import numpy as np

from localization.arrays import Flags, Floats, Ints
from localization.pairs import PairTable
from schemas.packing import NUMBERS, PackedResults, Path, Route

RTT_FLOOR_US = 0.01
"""Below any network; keeps the logarithm finite where a clock was too coarse."""


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


@dataclass(frozen=True, slots=True)
class Readings:
    """One job's trains of a second, lists of equal length; ``numbers`` and ``samples`` as messages have them.

    ``row``: in the job's own table. ``path`` indexes ``paths``, -1 = not known.
    ``kept``: which of the trains that the messages brought are in the lists, None = all.
    """

    src: list[str]
    dst: list[str]
    row: list[int]
    path: list[int]
    paths: tuple[Path, ...]
    numbers: list[bytes]
    samples: list[bytes]
    kept: Flags | None = None


def read_trains(pending: Sequence[PackedResults], pairs: PairTable, usable: Callable[[str, str], bool]) -> Readings:
    """The trains of a job's waiting messages. ``usable`` is asked once for each new pair."""
    src = [message.src for message in pending for _ in message.dst]
    dst = [name for message in pending for name in message.dst]
    routes = [route for message in pending for route in message.routes]
    known = len(pairs.names)
    row = pairs.rows(src, dst)
    pairs.grow()
    for new in range(known, len(pairs.names)):
        pairs.columns.live[new] = usable(*pairs.names[new])
    kept = None
    if not pairs.columns.live[: len(pairs.names)].all():
        kept = pairs.columns.live[np.array(row, np.int64)]
        flags = kept.tolist()
        src, dst, row = list(compress(src, flags)), list(compress(dst, flags)), list(compress(row, flags))
        routes = list(compress(routes, flags))
    path, paths = _number_paths(routes)
    numbers, samples = [message.numbers for message in pending], [message.samples for message in pending]
    return Readings(src, dst, row, path, paths, numbers, samples, kept)


def _number_paths(routes: Sequence[Route | None]) -> tuple[list[int], tuple[Path, ...]]:
    """Numbers of paths in the order of first use, and what they number."""
    known = [route for route in dict.fromkeys(routes) if route is not None]
    numbers: dict[Route | None, int] = {None: -1, **{route: number for number, route in enumerate(known)}}
    found, paths = [numbers[route] for route in routes], [route.links for route in known]
    if len(set(paths)) == len(paths):
        return found, tuple(paths)
    again: dict[Path, int] = {}  # of a path that was forgotten meanwhile there are two
    same = [again.setdefault(path, len(again)) for path in paths]
    return [same[n] if n >= 0 else n for n in found], tuple(again)


def bring_together(readings: Sequence[Readings], begin: Ints) -> tuple[Trains, Ints]:
    """The trains of several jobs, each with some, as columns, and their ports; ``begin``: each one's first row."""
    (t_us, sent, lost, sport, counts), samples = _unpack(readings)
    owner = np.repeat(np.arange(len(counts)), counts)
    log_rtt = np.log(np.maximum(samples, RTT_FLOOR_US))
    sizes = np.array([len(read.row) for read in readings], np.int64)
    path, paths = _ints([read.path for read in readings]), [read.paths for read in readings]
    before = np.array([0, *accumulate(map(len, paths))][:-1], np.int64)
    trains = Trains(
        begin=np.cumsum(sizes) - sizes,
        row=_ints([read.row for read in readings]) + np.repeat(begin, sizes),
        t_us=t_us,
        sent=sent,
        lost=lost,
        path=np.where(path < 0, path, path + np.repeat(before, sizes)),
        paths=[path for own in paths for path in own],
        rtt_us=_medians(samples, counts),
        rtt_count=counts,
        rtt_log_sum=_sums(log_rtt, owner, len(counts)),
        rtt_log_square=_sums(log_rtt**2, owner, len(counts)),
    )
    return trains, sport


def _unpack(readings: Sequence[Readings]) -> tuple[Sequence[Ints], Floats]:
    """The columns of the trains that are kept, in ``PackedResults.numbers``' order, and their samples."""
    numbers = np.frombuffer(b"".join(chain.from_iterable(read.numbers for read in readings)), np.int64)
    samples = np.frombuffer(b"".join(chain.from_iterable(read.samples for read in readings)), np.float64)
    columns = list(np.ascontiguousarray(numbers.reshape(-1, NUMBERS).T))
    if all(read.kept is None for read in readings):
        return columns, samples
    kept = [np.ones(len(read.row), np.bool_) if read.kept is None else read.kept for read in readings]
    chosen = np.concatenate(kept)
    return [column[chosen] for column in columns], samples[np.repeat(chosen, columns[-1])]


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
