"""Whose sent bursts are whose received bursts? Partners of each endpoint from the time and size of what both report.

A transfer from A to B is a burst sent by A and a burst received by B with the same start, end and bytes, up to the
errors of their clocks and of their edge detection. Bursts of about one size on one rail make a *class*. For each
burst that A sends, S = the endpoints that received such a burst at that time. What A does in a class is one of two
things:
- a collective: the same partners every time. They are those in half of its sets, as edges may be too blunt to see some;
- messages to few targets in turn: S is then one of few sets that come back again and again, sometimes with a
  bystander that happened to receive the same at the same time. The smallest recurring sets are the targets; a set that
  contains one of them is that one plus bystanders.
Endpoints that always act together can't be told apart by this and are all partners: too many, never too few.

How blunt the edges are is measured, class by class (``sharpness``). A collective has many receivers of which the
nearest says little about the farthest, so there more is allowed; it costs only bystanders. A few transfers are missed
at any such bound: what an endpoint does in a class counts as explained when nine tenths of its bursts are.
Cost: O(m log m) for the m bursts kept per rail (see ``bursts``), and m x n bits for n endpoints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skeleton.bursts import BurstSeries
from skeleton.recurring import recurring_sets
from skeleton.sharpness import bounded, nearest_received, quantile, tolerance_between
from skeleton.transfers import BurstTable, gather_bursts

SAME_SIZE = 0.01
"""Relative difference of bytes up to which two bursts may be the same transfer."""

ALWAYS, MOSTLY = 0.9, 0.75
OFTEN = 0.5
LEAST_BURSTS = 3
"""A class of which an endpoint sent fewer bursts says nothing."""


@dataclass(frozen=True, slots=True)
class Partners:
    """What one endpoint (row) does in one class: ``sets`` of partner rows, each those of a collective or a target."""

    row: int
    size: float
    bursts: int
    sets: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class BurstClass:
    """Bursts of one size. ``together``: share that their sender received as well at the same time (1 = collective)."""

    size: float
    together: float
    tolerance_us: float
    partners: tuple[Partners, ...]

    @property
    def collective(self) -> bool:
        """Whether everybody always sends and receives at once, each with the same partners."""
        return self.together >= ALWAYS and all(len(one.sets) <= 1 for one in self.partners)


class SentBursts(NamedTuple):
    """The bursts that were sent of one class: row and size of each, which rows received such a burst at that time,
    (bursts, rows); and the share of bursts whose sender received one as well.
    """

    row: NDArray[np.int64]
    size: NDArray[np.float64]
    met: NDArray[np.bool_]
    together: float


@dataclass(frozen=True, slots=True)
class Matches:
    """All classes; ``explained`` = share of the sent bytes whose receivers are among the partners found.

    ``messages_explained``: the same of messages alone, which are few beside the bytes of collectives.
    ``met``: (n, n) how many messages (bursts sent while the sender received none) of one row another row received.
    ``message_starts``: when each row sent messages, us, ascending. ``messages``: for each class, who sent them, and who
    received them, (messages,) and (messages, n). ``sent``: all that was sent, by class.
    """

    classes: tuple[BurstClass, ...]
    explained: float
    messages_explained: float
    met: NDArray[np.int64]
    message_starts: tuple[NDArray[np.int64], ...]
    messages: tuple[tuple[NDArray[np.int64], NDArray[np.bool_]], ...]
    sent: tuple[SentBursts, ...]

    def explained_by(self, near: NDArray[np.bool_]) -> bool:
        """Whether nine tenths of all messages, and three quarters of each row's, were received by one of the sender's
        neighbours in ``near``, (n, n).
        """
        hits, total = self._reached(near)
        enough = (total >= LEAST_BURSTS).all() and (hits >= MOSTLY * total).all()
        return bool(enough and hits.sum() >= ALWAYS * total.sum())

    def explained_in_all(self, near: NDArray[np.bool_]) -> bool:
        """Whether nine tenths of all messages were, be they of whom they may."""
        hits, total = self._reached(near)
        return bool((total >= LEAST_BURSTS).all() and hits.sum() >= ALWAYS * total.sum())

    def _reached(self, near: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Messages of each row that a neighbour received, and all of them."""
        hits, total = np.zeros(len(near)), np.zeros(len(near))
        for row, met in self.messages:
            np.add.at(hits, row, (met & near[row]).any(axis=1))
            np.add.at(total, row, 1)
        return hits, total


def match_bursts(series: Sequence[BurstSeries], since_us: int) -> Matches | None:
    """Partners among the endpoints of one rail, by their position in ``series``, from bursts since ``since_us``.

    None: not everybody reported bursts.
    """
    if len(series) < 2 or any(len(one.start_us) < LEAST_BURSTS for one in series):
        return None
    table, sent = gather_bursts(series, since_us)
    clock_us = 2.0 * max(one.error_us for one in series)
    classes = []
    met = np.zeros((len(series), len(series)), np.int64)
    starts: list[list[NDArray[np.int64]]] = [[] for _ in series]
    messages, every = [], []
    shares = {True: [0.0, 0.0], False: [0.0, 0.0]}
    for kind in np.unique(table.kind[sent]):
        going, coming = table.select(sent & (table.kind == kind)), table.select(~sent & (table.kind == kind))
        found, matched, seen = _match_class(going, coming, len(series), clock_us)
        message = ~seen[np.arange(len(seen)), going.row]
        messages.append((going.row[message], seen[message]))
        np.add.at(met, going.row[message], seen[message].astype(np.int64))
        for row in np.unique(going.row[message]):
            starts[row].append(going.start[message & (going.row == row)])
        classes.append(found)
        every.append(SentBursts(going.row, going.size, seen, found.together))
        shares[found.collective][0] += float(going.size[matched].sum())
        shares[found.collective][1] += float(going.size.sum())
    both = [shares[True][0] + shares[False][0], shares[True][1] + shares[False][1]]
    explained = _share(*both), _share(*shares[False])
    return Matches(tuple(classes), *explained, met, tuple(map(_sorted, starts)), tuple(messages), tuple(every))


def fresh_classes(series: Sequence[BurstSeries], since_us: int) -> Iterator[SentBursts]:
    """What was sent since ``since_us``, by class; as ``Matches.sent``, of fewer bursts as well."""
    if any(not len(one.start_us) for one in series):
        return
    table, sent = gather_bursts(series, since_us)
    clock_us = 2.0 * max(one.error_us for one in series)
    for kind in np.unique(table.kind[sent]):
        going, coming = table.select(sent & (table.kind == kind)), table.select(~sent & (table.kind == kind))
        tolerance_us = tolerance_between(going, coming, nearest_received(going, coming), clock_us)
        met = _meetings(going, coming, len(series), tolerance_us)
        yield SentBursts(going.row, going.size, met, float(met[np.arange(len(met)), going.row].mean()))


def _sorted(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _match_class(
    going: BurstTable, coming: BurstTable, rows: int, clock_us: float
) -> tuple[BurstClass, NDArray[np.bool_], NDArray[np.bool_]]:
    """What is done in one class, which sent bursts that explains, and who received which, (bursts, rows)."""
    nearest = nearest_received(going, coming)
    sharp_us = tolerance_between(going, coming, nearest, clock_us)
    seen = _meetings(going, coming, rows, sharp_us)
    own = seen[np.arange(len(going.row)), going.row]
    together = float(own.mean()) if len(own) else 0.0
    tolerance_us = bounded(6.0 * quantile(nearest, 0.9), sharp_us) if together >= ALWAYS else sharp_us
    met = _meetings(going, coming, rows, tolerance_us) if tolerance_us != sharp_us else seen.copy()
    met[np.arange(len(met)), going.row] = False
    partners = []
    matched = np.zeros(len(met), dtype=bool)
    for row in np.unique(going.row):
        mine = np.nonzero(going.row == row)[0]
        if len(mine) >= LEAST_BURSTS:
            sets = recurring_sets(met[mine], OFTEN if together >= ALWAYS else ALWAYS)
            partners.append(Partners(int(row), float(np.median(going.size[mine])), len(mine), sets))
            hit = np.zeros(len(mine), dtype=bool)
            for found in sets:
                hit |= met[mine][:, list(found)].mean(axis=1) >= OFTEN
            matched[mine] = True if hit.mean() >= ALWAYS else hit
    size = float(np.median(going.size)) if len(own) else 0.0
    return BurstClass(size, together, tolerance_us, tuple(partners)), matched, seen


def _meetings(going: BurstTable, coming: BurstTable, rows: int, tolerance_us: float) -> NDArray[np.bool_]:
    """Which rows received a burst like each sent one, shape (bursts, rows)."""
    met = np.zeros((len(going.row), rows), dtype=bool)
    there = coming.select(np.argsort(coming.start, kind="stable"))
    first = np.searchsorted(there.start, going.start - tolerance_us)
    count = np.searchsorted(there.start, going.start + tolerance_us, side="right") - first
    burst = np.repeat(np.arange(len(going.row)), count)
    place = np.arange(len(burst)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    alike = np.abs(there.end[place] - going.end[burst]) <= tolerance_us
    alike &= np.abs(there.size[place] - going.size[burst]) <= SAME_SIZE * going.size[burst]
    met[burst[alike], there.row[place[alike]]] = True
    return met
