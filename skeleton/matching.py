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

How blunt the edges are is measured, class by class: every sent burst has a receiver on the rail, so the distance to the
nearest burst received by another endpoint bounds the error. A collective has many receivers of which the nearest says
little about the farthest, so there more is allowed; it costs only bystanders. A few transfers are missed at any such
bound: what an endpoint does in a class counts as explained when nine tenths of its bursts are.
Cost: O(m log m) for the m bursts kept per rail (see ``bursts``), and m x n bits for n endpoints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skeleton.bursts import BurstSeries
from skeleton.recurring import recurring_sets

SAME_SIZE = 0.01
"""Relative difference of bytes up to which two bursts may be the same transfer."""

CLASS_STEP = 0.05
"""Sizes that differ by less belong to one class: the same operation moves a little more in a longer step."""

ALWAYS, MOSTLY = 0.9, 0.75
OFTEN = 0.5
BESIDE = 0.1
LEAST_BURSTS = 3
"""A class of which an endpoint sent fewer bursts says nothing."""

SHARPEST_US, BLUNTEST_US = 200.0, 60_000.0


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


@dataclass(frozen=True, slots=True)
class Matches:
    """All classes; ``explained`` = share of the sent bytes whose receivers are among the partners found.

    ``messages_explained``: the same of messages alone, which are few beside the bytes of collectives.
    ``met``: (n, n) how many messages (bursts sent while the sender received none) of one row another row received.
    ``message_starts``: when each row sent messages, us, ascending. ``messages``: for each class, who sent them, and who
    received them, (messages,) and (messages, n).
    """

    classes: tuple[BurstClass, ...]
    explained: float
    messages_explained: float
    met: NDArray[np.int64]
    message_starts: tuple[NDArray[np.int64], ...]
    messages: tuple[tuple[NDArray[np.int64], NDArray[np.bool_]], ...]

    def explained_by(self, near: NDArray[np.bool_]) -> bool:
        """Whether nine tenths of all messages, and three quarters of each row's, were received by one of the sender's
        neighbours in ``near``, (n, n).
        """
        hits, total = np.zeros(len(near)), np.zeros(len(near))
        for row, met in self.messages:
            np.add.at(hits, row, (met & near[row]).any(axis=1))
            np.add.at(total, row, 1)
        enough = (total >= LEAST_BURSTS).all() and (hits >= MOSTLY * total).all()
        return bool(enough and hits.sum() >= ALWAYS * total.sum())


@dataclass(frozen=True, slots=True)
class _Table:
    """Bursts of a rail in columns: row of the endpoint, start, end, bytes, class of size."""

    row: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    size: NDArray[np.float64]
    kind: NDArray[np.int64]

    def select(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> _Table:
        return _Table(self.row[chosen], self.start[chosen], self.end[chosen], self.size[chosen], self.kind[chosen])


def match_bursts(series: Sequence[BurstSeries], since_us: int) -> Matches | None:
    """Partners among the endpoints of one rail, by their position in ``series``, from bursts since ``since_us``.

    None: not everybody reported bursts.
    """
    if len(series) < 2 or any(len(one.start_us) < LEAST_BURSTS for one in series):
        return None
    table, sent = _gather(series, since_us)
    clock_us = 2.0 * max(one.error_us for one in series)
    classes = []
    met = np.zeros((len(series), len(series)), np.int64)
    starts: list[list[NDArray[np.int64]]] = [[] for _ in series]
    messages = []
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
        shares[found.collective][0] += float(going.size[matched].sum())
        shares[found.collective][1] += float(going.size.sum())
    both = [shares[True][0] + shares[False][0], shares[True][1] + shares[False][1]]
    return Matches(
        tuple(classes), _share(*both), _share(*shares[False]), met, tuple(map(_sorted, starts)), tuple(messages)
    )


def fresh_classes(
    series: Sequence[BurstSeries], since_us: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_], float]]:
    """For each class of the bursts since ``since_us``: of each sent burst the row and size, and which rows received
    such a burst at that time, (bursts, rows); and the share of bursts whose sender received one as well.
    """
    if any(not len(one.start_us) for one in series):
        return
    table, sent = _gather(series, since_us)
    clock_us = 2.0 * max(one.error_us for one in series)
    for kind in np.unique(table.kind[sent]):
        going, coming = table.select(sent & (table.kind == kind)), table.select(~sent & (table.kind == kind))
        tolerance_us = _tolerance_us(going, coming, _nearest(going, coming), clock_us)
        met = _meetings(going, coming, len(series), tolerance_us)
        together = float(met[np.arange(len(met)), going.row].mean())
        yield going.row, going.size, met, together


def _sorted(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _gather(series: Sequence[BurstSeries], since_us: int) -> tuple[_Table, NDArray[np.bool_]]:
    """All bursts between the instants from and up to which everybody's bursts of their class are known;
    which were sent.
    """
    row = np.concatenate([np.full(len(one.start_us), number) for number, one in enumerate(series)])
    start = np.concatenate([one.start_us for one in series])
    end = np.concatenate([one.end_us for one in series])
    size = np.concatenate([one.size for one in series]).astype(np.float64)
    sent = np.concatenate([one.sent for one in series])
    table = _Table(row, start, end, size, _classes(size))
    known = (end <= min(one.heard_us for one in series)) & (start >= since_us)
    complete = np.zeros(int(table.kind.max()) + 1, np.int64)
    np.maximum.at(complete, table.kind, np.concatenate([one.complete_since() for one in series]))
    known &= start >= complete[table.kind]
    return table.select(known), sent[known]


def _classes(size: NDArray[np.float64]) -> NDArray[np.int64]:
    """A number per burst: sizes that form a chain of small steps are one class."""
    order = np.argsort(size, kind="stable")
    ordered = np.maximum(size[order], 1.0)
    steps = np.concatenate([[0], np.cumsum(ordered[1:] > ordered[:-1] * (1.0 + CLASS_STEP))])
    kinds = np.empty(len(size), dtype=np.int64)
    kinds[order] = steps
    return kinds


def _match_class(
    going: _Table, coming: _Table, rows: int, clock_us: float
) -> tuple[BurstClass, NDArray[np.bool_], NDArray[np.bool_]]:
    """What is done in one class, which sent bursts that explains, and who received which, (bursts, rows)."""
    nearest = _nearest(going, coming)
    sharp_us = _tolerance_us(going, coming, nearest, clock_us)
    seen = _meetings(going, coming, rows, sharp_us)
    own = seen[np.arange(len(going.row)), going.row]
    together = float(own.mean()) if len(own) else 0.0
    tolerance_us = _bounded(6.0 * _quantile(nearest, 0.9), sharp_us) if together >= ALWAYS else sharp_us
    met = _meetings(going, coming, rows, tolerance_us)
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


def _tolerance_us(going: _Table, coming: _Table, nearest: NDArray[np.float64], clock_us: float) -> float:
    """How far apart the edges of one transfer may be.

    Where many receive at once the nearest receiver is nearer than edges are sharp. But then senders receive as well,
    and every time: how far that is from what they send, if it is little beside the pause between two bursts, tells
    how sharp edges are.
    """
    own, pauses = [], []
    for row in np.unique(going.row):
        sent, received = np.sort(going.start[going.row == row]), np.sort(coming.start[coming.row == row])
        if len(sent) > 1 and len(received):
            after = np.clip(np.searchsorted(received, sent), 1, max(len(received) - 1, 1))
            near = np.minimum(
                np.abs(received[after - 1] - sent), np.abs(received[np.minimum(after, len(received) - 1)] - sent)
            )
            own.append(near)
            pauses.append(np.diff(sent))
    blur_us = _sharpness(nearest)
    if own:
        apart = np.concatenate(own).astype(np.float64)
        if _quantile(apart, 0.9) <= BESIDE * float(np.median(np.concatenate(pauses))):
            blur_us = max(blur_us, _sharpness(apart))
    return _bounded(blur_us, clock_us)


def _nearest(going: _Table, coming: _Table) -> NDArray[np.float64]:
    """How far each sent burst is from the nearest one received by somebody else, us; those without any are left out."""
    order = np.argsort(coming.start, kind="stable")
    there = coming.select(order)
    place = np.searchsorted(there.start, going.start)
    nearest: NDArray[np.float64] = np.full(len(going.start), np.inf)
    for step in (-3, -2, -1, 0, 1, 2) if len(order) else ():
        other = np.clip(place + step, 0, len(order) - 1)
        apart = np.abs(there.start[other] - going.start).astype(np.float64)
        nearest = np.where(there.row[other] != going.row, np.minimum(nearest, apart), nearest)
    return np.asarray(nearest[np.isfinite(nearest)])


def _sharpness(nearest: NDArray[np.float64]) -> float:
    """How far the edges of one transfer are apart at most; a burst in a hundred, or where most are much closer one in
    five, may have merged with another and is left out.
    """
    return min(1.5 * _quantile(nearest, 0.99), 4.0 * _quantile(nearest, 0.8))


def _quantile(values: NDArray[np.float64], share: float) -> float:
    return float(np.quantile(values, share)) if len(values) else 0.0


def _bounded(measured_us: float, least_us: float) -> float:
    return min(max(measured_us, least_us, SHARPEST_US), BLUNTEST_US)


def _meetings(going: _Table, coming: _Table, rows: int, tolerance_us: float) -> NDArray[np.bool_]:
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
