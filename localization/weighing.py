"""What does every suspect gain, were it added to the faults? All of them, all modes, all first seconds at once.

The gain of a suspect in a mode from second s on is the sum of what its trains say in the seconds s, s + 1, ... The sums
of lossy trains are products of a sparse matrix (suspects in each second x lossy trains) with what each train says;
what trains without a loss say is added second by second, from the last to the first.

Nothing is worked out twice: what a train says is kept until something else is explained of it, what a suspect gains
until that holds for one of its trains. What it can gain at most is what it gained before and what its trains say more
since then; while that is too little it is not looked at. Cost: modes x (suspects of the trains to be looked at +
seconds x suspects).
"""

from __future__ import annotations

import numpy as np

from localization.arrays import Floats, Ints
from localization.modes import most_more
from localization.routes import sum_by_suspect
from localization.samples import Gains, LastGains, Sample

BACKGROUND_RANGE = (0.5, 20.0)
LARGE = 400_000
"""Trains times suspects from which on suspects are ranked by every third mode; the best are fitted in all of them."""
AT_ONCE = 1024
"""Suspects that are looked at together, so that memory is bounded."""
SLACK = 1e-5
"""Nats by which a bound may be wrong for rounding."""


def worth_trying(sample: Sample, least: float) -> Ints:
    """Suspects on which more than one pair, in more than one second (if there are several), lost packets, and which
    these could speak against with ``least`` nats if nothing else explained any of them.
    """
    size = sample.against.shape[1]
    order, starts = sample.index.by_suspect(sample.members)
    met = np.flatnonzero(starts[1:] > starts[:-1])
    several = np.zeros(size, np.bool_)
    several[met] = True
    for column in (sample.pair, sample.second)[: 2 if len(sample.against) > 1 else 1]:
        values = column[order]
        several[met] &= np.minimum.reduceat(values, starts[met]) < np.maximum.reduceat(values, starts[met])
    said = sample.modes.say(sample.lost, sample.sent - sample.lost, sample.base * BACKGROUND_RANGE[0])
    most = most_by_suspect(sample.members, said, size)
    return np.flatnonzero(several & (most + np.maximum(sample.prior, 0.0) >= least))


def most_by_suspect(members: Ints, said: Floats, size: int) -> Floats:
    """The most that lossy trains could say against each of ``size`` suspects in any mode, if only what speaks against
    it counted, nats."""
    from scipy.sparse import csr_array  # see ``samples.Rows.cells``

    rows, columns = np.nonzero(members >= 0)
    crossed = members[rows, columns]
    met = np.flatnonzero(np.bincount(crossed, minlength=size))
    own = np.zeros(size, np.int64)
    own[met] = np.arange(len(met))
    matrix = csr_array((np.ones(len(rows)), (own[crossed], rows)), shape=(len(met), len(members)))
    most = np.zeros(size)
    most[met] = (matrix @ np.maximum(said, 0.0)).max(axis=1, initial=0.0)
    return most


def gains(sample: Sample, p: Floats, tried: Ints, least: float = -np.inf) -> Gains:
    """Gains of the suspects ``tried`` over what ``p`` explains already; the others have none.

    Of suspects whose trains ``p`` explains as it did when these were tried last, what was found then still holds. Of
    those that can't be worth ``least`` nats, prior included, only that is known: they have some gain that is too small.
    ``since`` and ``by_mode`` of the result hold until the next call.
    """
    last, size = sample.index.last, sample.against.shape[1]
    if len(tried) == 1:
        found = no_gains(size, sample.modes.size)
        _weigh_one(sample, p, int(tried[0]), found)
        return found
    if last is None or last.tried is not tried or last.modes is not sample.modes:
        last = sample.index.last = _begin(sample, p, tried)
    else:
        _follow(sample, p, last)
    wanted = tried[last.stale[tried] & (last.bound[tried] + sample.prior[tried] >= least - SLACK)]
    _weigh(sample, last, wanted)
    return Gains(last.bound.copy(), last.found.since, last.found.by_mode)


def no_gains(size: int, modes: int) -> Gains:
    """Of suspects that were not tried."""
    return Gains(np.zeros(size), np.zeros((size, modes), np.int64), np.zeros((size, modes)))


def _begin(sample: Sample, p: Floats, tried: Ints) -> LastGains:
    """What is known before anything was weighed: any gain is possible."""
    size = sample.against.shape[1]
    chosen = sample.modes.every(3 if sample.members.size > LARGE and len(tried) < size else 1)
    bound, stale = np.zeros(size), np.zeros(size + 1, np.bool_)
    bound[tried], stale[tried] = np.inf, True
    columns, trains = np.flatnonzero(chosen), len(sample.lost)
    against = sample.against if chosen.all() else sample.against.take(columns, axis=2)
    said, late, found = np.zeros((trains, len(columns))), np.ones(trains, np.bool_), no_gains(size, sample.modes.size)
    return LastGains(tried, sample.modes, columns, against, p, said, late, found, bound, stale)


def _follow(sample: Sample, p: Floats, last: LastGains) -> None:
    """Something else is explained now: what suspects gain by it at most is what their trains can say more."""
    changed = np.flatnonzero(p != last.p)
    lost, sent, members = sample.lost[changed], sample.sent[changed], sample.members[changed]
    more = most_more(lost, sent - lost, (last.p[changed], p[changed]))
    last.late[changed], last.p = True, p
    last.bound[last.tried] += sum_by_suspect(members, more, len(last.bound))[last.tried]
    last.stale[members] = True
    last.stale[-1] = False


def _say_anew(sample: Sample, last: LastGains, tried: Ints) -> None:
    """Works out what trains that cross some suspects say now, if anything else is explained of them."""
    late = np.zeros(len(last.late), np.bool_)
    for suspect in tried.tolist():
        late[sample.index.of(sample.members, suspect)] = True
    rows = np.flatnonzero(late & last.late)
    modes = sample.modes.only(np.isin(np.arange(sample.modes.size), last.columns))
    last.said[rows] = modes.say(sample.lost[rows], (sample.sent - sample.lost)[rows], last.p[rows])
    last.late[rows] = False


def _weigh(sample: Sample, last: LastGains, tried: Ints) -> None:
    """Gains of some suspects, from the lossy trains that cross them."""
    seconds, size = sample.against.shape[:2]
    cells = sample.index.cells(sample.members, sample.second, (seconds, size))
    _say_anew(sample, last, tried)
    last.found.by_mode[tried] = -np.inf
    for low in range(0, len(tried), AT_ONCE):
        some, columns = tried[low : low + AT_ONCE], last.columns
        wanted = (np.arange(seconds)[:, None] * size + some).ravel()
        sums = (cells[wanted] @ last.said).reshape(seconds, len(some), len(columns))
        best, first = _best_begin(sums, last.against[:, some])
        last.found.by_mode[np.ix_(some, columns)] = best + sample.modes.prior[columns]
        last.found.since[np.ix_(some, columns)] = first
    last.bound[tried] = last.found.by_mode[tried].max(axis=1)
    last.stale[tried] = False


def _weigh_one(sample: Sample, p: Floats, suspect: int, into: Gains) -> None:
    """The same of one suspect, in all modes."""
    rows = sample.index.of(sample.members, suspect)
    said = sample.modes.say(sample.lost[rows], (sample.sent - sample.lost)[rows], p[rows])
    by_mode = [np.bincount(sample.second[rows], column, len(sample.against)) for column in said.T]
    sums = np.asarray(np.stack(by_mode, axis=1)[:, None], np.float64)
    best, first = _best_begin(sums, sample.against[:, [suspect]])
    into.by_mode[suspect], into.since[suspect] = best[0] + sample.modes.prior, first[0]
    into.best[suspect] = into.by_mode[suspect].max()


def _best_begin(sums: Floats, clean: Floats) -> tuple[Floats, Ints]:
    """The greatest sum over the seconds from one on to the last, and the first such second, suspects x modes.

    ``sums``: of what lossy trains say, and ``clean`` of the others, seconds x suspects x modes.
    """
    sums += clean
    total, best = np.zeros(sums.shape[1:]), np.full(sums.shape[1:], -np.inf)
    first = np.zeros(sums.shape[1:], np.int64)
    for second in range(len(sums) - 1, -1, -1):
        total += sums[second]
        better = total >= best
        np.copyto(best, total, where=better)
        np.copyto(first, second, where=better)
    return best, first
