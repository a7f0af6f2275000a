"""One second of probe results as columns: what each train saw, and each pair in sum.

``gather`` is the only place that touches single results, hence its list comprehensions: about 1.5 us per result.
Left out: traceroutes (they carry paths, not samples), trains of which nothing was sent (``not_sent`` and
``target_not_ready`` are no loss), and pairs with an endpoint that is not ready.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from localization.arrays import Floats, Ints
from localization.pairs import PairTable
from schemas.probing import ProbeResults

RTT_FLOOR_US = 0.01
"""Below any network; keeps the logarithm finite where a clock was too coarse."""

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


def gather(pending: Sequence[ProbeResults], pairs: PairTable, usable: Callable[[str, str], bool]) -> Trains | None:
    """The trains of the waiting messages, None if there are none. ``usable`` is asked once for each new pair."""
    both = [
        (message.src, result)
        for message in pending
        for result in message.results
        if result.sent and result.kind != "traceroute"
    ]
    rows = _rows([(src, result.dst) for src, result in both], pairs, usable)
    chosen = np.flatnonzero(pairs.columns.live[rows]) if len(rows) else rows
    if not len(chosen):
        return None
    if len(chosen) < len(both):
        both = [both[i] for i in chosen.tolist()]
    known: dict[Path, int] = {}
    results = [result for _, result in both]
    path = [-1 if r.path is None else known.setdefault(r.path, len(known)) for r in results]
    counts = np.array([len(r.rtt_us) for r in results], np.int64)
    samples = np.fromiter(chain.from_iterable([r.rtt_us for r in results]), np.float64, int(counts.sum()))
    owner = np.repeat(np.arange(len(results)), counts)
    log_rtt = np.log(np.maximum(samples, RTT_FLOOR_US))
    return Trains(
        src=[src for src, _ in both],
        dst=[r.dst for r in results],
        row=rows[chosen],
        t_us=np.array([r.t_us for r in results], np.int64),
        sport=[r.sport or 0 for r in results],
        sent=np.array([r.sent for r in results], np.int64),
        lost=np.array([r.lost for r in results], np.int64),
        path=np.array(path, np.int64),
        paths=list(known),
        rtt_us=_medians(samples, owner, counts),
        rtt_count=counts,
        rtt_log_sum=_sums(log_rtt, owner, len(results)),
        rtt_log_square=_sums(log_rtt**2, owner, len(results)),
    )


def _rows(names: list[tuple[str, str]], pairs: PairTable, usable: Callable[[str, str], bool]) -> Ints:
    known = len(pairs.names)
    rows = np.array([pairs.row(pair) for pair in names], np.int64)
    pairs.grow()
    for row in range(known, len(pairs.names)):
        pairs.columns.live[row] = usable(*pairs.names[row])
    return rows


def _sums(values: Floats, owner: Ints, size: int) -> Floats:
    return np.asarray(np.bincount(owner, values, size), np.float64)


def _medians(samples: Floats, owner: Ints, counts: Ints) -> Floats:
    """Median of each owner's samples, nan where there is none."""
    medians = np.full(len(counts), np.nan)
    some = np.flatnonzero(counts)
    if not len(some):
        return medians
    by_value = samples[np.lexsort((samples, owner))]
    start = (np.cumsum(counts) - counts)[some]
    size = counts[some]
    medians[some] = (by_value[start + (size - 1) // 2] + by_value[start + size // 2]) / 2.0
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
