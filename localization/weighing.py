"""What does every suspect gain, were it added to the faults? All of them, all modes, all first seconds at once.

The gain of a suspect in a mode from second s on is the sum of what its trains say in the seconds s, s + 1, ... The sums
of lossy trains are products of a sparse matrix (suspects in each second x lossy trains) with what each train says;
what trains without a loss say is added second by second, from the last to the first.

Nothing is worked out twice: what a train says is kept until something else is explained of it, what a suspect gains
until that holds for one of its trains. Cost: modes x (suspects of all trains to be looked at + seconds x suspects).
"""

from __future__ import annotations

import numpy as np

from localization.arrays import Flags, Floats, Ints
from localization.samples import Gains, LastGains, Said, Sample

BACKGROUND_RANGE = (0.5, 20.0)
LARGE = 400_000
"""Trains times suspects from which on suspects are ranked by every third mode; the best are fitted in all of them."""
AT_ONCE = 1024
"""Suspects that are looked at together: their sums stay in the cache of the processor."""


def worth_trying(sample: Sample, least: float) -> Ints:
    """Suspects on which more than one pair, in more than one second (if there are several), lost packets, and which
    these could speak against with ``least`` nats if nothing else explained any of them.
    """
    size, width = sample.against.shape[1], sample.members.shape[1]
    flat = sample.members.ravel() + 1
    several = np.ones(size, np.bool_)
    for column in (sample.pair, sample.second)[: 2 if len(sample.against) > 1 else 1]:
        keys = np.unique(np.repeat(column, width) * (size + 1) + flat) % (size + 1)
        several &= np.bincount(keys, minlength=size + 1)[1:] > 1
    said = sample.modes.say(sample.lost, sample.sent - sample.lost, sample.base * BACKGROUND_RANGE[0])
    most = most_by_suspect(sample.members, said, size)
    return np.flatnonzero(several & (most + np.maximum(sample.prior, 0.0) >= least))


def most_by_suspect(members: Ints, said: Floats, size: int) -> Floats:
    """The most that lossy trains could say against each of ``size`` suspects in any mode, if only what speaks against
    it counted, nats."""
    from scipy.sparse import csr_array  # see ``samples.Rows.cells``

    rows, columns = np.nonzero(members >= 0)
    shape = size, len(members)
    crossed = csr_array((np.ones(len(rows)), (members[rows, columns], rows)), shape=shape)
    return np.asarray((crossed @ np.maximum(said, 0.0)).max(axis=1, initial=0.0), np.float64)


def gains(sample: Sample, p: Floats, tried: Ints) -> Gains:
    """Gains of the suspects ``tried`` over what ``p`` explains already; the others have none.

    Of suspects whose trains ``p`` explains as it did when these were tried last, what was found then still holds.
    ``since`` and ``by_mode`` of the result hold until the next call.
    """
    last, size = sample.index.last, sample.against.shape[1]
    if last is None or last.tried is not tried or last.modes is not sample.modes:
        found = Gains(
            np.zeros(size), np.zeros((size, sample.modes.size), np.int64), np.zeros((size, sample.modes.size))
        )
        _weigh(sample, p, tried, found)
    else:
        found, touched = last.found, np.zeros(size + 1, np.bool_)
        touched[sample.members[p != last.p]] = True
        _weigh(sample, p, tried[touched[tried]], found)
    if len(tried) > 1:
        sample.index.last = LastGains(tried, sample.modes, p, found)
    return Gains(found.best.copy(), found.since, found.by_mode)


def _weigh(sample: Sample, p: Floats, tried: Ints, into: Gains) -> None:
    """Gains of some suspects, from the lossy trains that cross them."""
    size = sample.against.shape[1]
    chosen = sample.modes.every(3 if sample.members.size > LARGE and len(tried) < size else 1)
    into.by_mode[tried] = -np.inf
    said = _said(sample, p, chosen) if len(tried) else np.zeros((0, 0))
    for low in range(0, len(tried), AT_ONCE):
        some, columns = tried[low : low + AT_ONCE], np.flatnonzero(chosen)
        best, first = _best_begin(sample, said, some, columns)
        into.by_mode[np.ix_(some, columns)] = best + sample.modes.prior[columns]
        into.since[np.ix_(some, columns)] = first
    into.best[tried] = into.by_mode[tried].max(axis=1)


def _best_begin(sample: Sample, said: Floats, tried: Ints, columns: Ints) -> tuple[Floats, Ints]:
    """The greatest sum over the seconds from one on to the last, and the first such second, suspects x modes."""
    seconds, size = sample.against.shape[:2]
    cells = sample.index.cells(sample.members, sample.second, (seconds, size))
    wanted = (np.arange(seconds)[:, None] * size + tried).ravel()
    sums = (cells[wanted] @ said).reshape(seconds, len(tried), len(columns))
    total, best = np.zeros(sums.shape[1:]), np.full(sums.shape[1:], -np.inf)
    first = np.zeros(sums.shape[1:], np.int64)
    for second in range(seconds - 1, -1, -1):
        clean = sample.against[second, tried]
        sums[second] += clean if len(columns) == clean.shape[1] else clean[:, columns]
        total += sums[second]
        better = total >= best
        np.copyto(best, total, where=better)
        np.copyto(first, second, where=better)
    return best, first


def _said(sample: Sample, p: Floats, chosen: Flags) -> Floats:
    """What each lossy train says over ``p``, trains x chosen modes; kept of trains that are explained as before."""
    modes, known = sample.modes.only(chosen), sample.index.said.get(int(chosen.sum()))
    if known is None:
        said = modes.say(sample.lost, sample.sent - sample.lost, p)
        sample.index.said[int(chosen.sum())] = Said(p, said)
        return said
    changed = np.flatnonzero(p != known.p)
    lost, sent = sample.lost[changed], sample.sent[changed]
    known.said[changed] = modes.say(lost, sent - lost, p[changed])
    known.p = p
    return known.said
