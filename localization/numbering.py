"""Which route is which? Numbers for (source, destination, path or source port), a whole second of trains at once.

Names and paths are looked up in dictionaries, pairs of numbers in a table of places: about 0.3 us a train, a quarter
of what a dictionary of tuples takes. Numbers are given in the order of first use, so they follow from the stream alone.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence, Sized
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from operator import eq
from typing import TypeVar

import numpy as np

from localization.arrays import Ints

Known = TypeVar("Known", bound=Hashable)
Path = tuple[str, ...]
PORTS = 65_536
"""Tags below are source ports (0 = not needed), from here on paths."""
TAG = (1 << 32) - 1
"""The part of a route's key that is its tag."""
SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio, odd: the upper bits of a product with it are spread evenly, also of keys that lie close
together (Knuth, The Art of Computer Programming 3, 6.4)."""


def _ints() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(slots=True)
class KeyPlaces:
    """Where the number of a key stands: ``table``, 1 + number (0 = free), at least half of it free.

    A key's place follows from its bits; while another key has it, the next place is looked at. The places follow from
    the keys, so a pickle leaves them out. ``held``: how many keys have one.
    """

    table: Ints = field(default_factory=_ints)
    held: int = 0

    def __reduce__(self) -> tuple[type[KeyPlaces], tuple[()]]:
        return KeyPlaces, ()

    def find(self, known: Ints, keys: Ints) -> Ints:
        """The number of each key among those ``known``; -1: it is none of them."""
        self._hold(known)
        found, left, place = np.full(len(keys), -1, np.int64), np.arange(len(keys)), self._first(keys)
        while len(left):
            number = self.table[place] - 1
            same = known[number] == keys[left]
            same &= number >= 0
            found[left[same]] = number[same]
            onward = np.flatnonzero((number >= 0) & ~same)
            left, place = left[onward], self._next(place[onward])
        return found

    def _hold(self, known: Ints) -> None:
        """Gives places to the keys that came since."""
        if 2 * len(known) > len(self.table):
            self.table, self.held = np.zeros(1 << (4 * len(known)).bit_length(), np.int64), 0
        left = np.arange(self.held, len(known))
        place, self.held = self._first(known[left]), len(known)
        while len(left):
            free = self.table[place] == 0
            self.table[place[free]] = left[free] + 1
            others = np.flatnonzero(self.table[place] != left + 1)
            left, place = left[others], self._next(place[others])

    def _first(self, keys: Ints) -> Ints:
        bits = max(1, len(self.table).bit_length() - 1)
        return (keys.astype(np.uint64) * SPREAD >> np.uint64(64 - bits)).astype(np.int64)

    def _next(self, place: Ints) -> Ints:
        return (place + 1) & (len(self.table) - 1)


@dataclass(slots=True)
class KeyNumbers:
    """Numbers of 64-bit keys: ``keys`` in the order of their numbers."""

    keys: Ints = field(default_factory=_ints)
    places: KeyPlaces = field(default_factory=KeyPlaces)

    def of(self, keys: Ints) -> tuple[Ints, Ints]:
        """The number of each key, and the positions of those that were never seen, in the order of their numbers."""
        numbers = self.places.find(self.keys, keys) if len(self.keys) else np.full(len(keys), -1, np.int64)
        unknown = np.flatnonzero(numbers < 0)
        if not len(unknown):
            return numbers, unknown
        _, first, place = np.unique(keys[unknown], return_index=True, return_inverse=True)
        order, own = np.argsort(first, kind="stable"), np.empty(len(first), np.int64)
        own[order] = np.arange(len(self.keys), len(self.keys) + len(order))
        numbers[unknown] = own[place]
        new = unknown[first[order]]
        self.keys = np.concatenate([self.keys, keys[new]])
        return numbers, new


@dataclass(slots=True)
class RouteNumbers:
    """Numbers of routes. ``ends``, ``paths``: numbers of endpoints and of paths by themselves.

    A pair's trains mostly take the path that they took before, so that one is compared first: ``newest``, the last
    route by pair (-1 = not known), and ``listed``, paths in the order of their numbers. Both follow from the rest, or
    are found out again.
    """

    ends: dict[str, int] = field(default_factory=dict)
    paths: dict[Path, int] = field(default_factory=dict)
    pairs: KeyNumbers = field(default_factory=KeyNumbers)
    routes: KeyNumbers = field(default_factory=KeyNumbers)
    newest: Ints = field(default_factory=_ints)
    listed: list[Path] = field(default_factory=list)

    def pairs_of(self, src: Sequence[Sequence[str]], dst: Sequence[Sequence[str]]) -> Ints:
        """The number of each train's source and destination, which are given by message."""
        pairs, _ = self.pairs.of(numbers_of(self.ends, src) << 32 | numbers_of(self.ends, dst))
        self.newest = np.append(self.newest, np.full(len(self.pairs.keys) - len(self.newest), -1))
        return pairs

    def of(self, pairs: Ints, tags: Ints) -> tuple[Ints, Ints]:
        """The route of each train, and the positions of the trains whose routes are new, in their order.

        ``tags``: source port, or ``PORTS`` + the path's number.
        """
        keys, found = pairs << 32 | tags, self.newest[pairs]
        others = np.flatnonzero((found < 0) | (np.append(self.routes.keys, -1)[found] != keys))
        found[others], new = self.routes.of(keys[others])
        self.newest[pairs] = found
        return found, others[new]

    def newest_tags(self, pairs: Ints) -> Ints:
        """The tag of the last route of each pair, 0 = not known."""
        return np.append(self.routes.keys, 0)[self.newest[pairs]] & TAG

    def tags_of(self, paths: Sequence[Path], likely: Ints) -> Ints:
        """The tag of each path. ``likely``: tags that they may have."""
        numbers = np.maximum(likely - PORTS, 0)
        known = map(self.listed.__getitem__, numbers.tolist()) if self.listed else repeat(None)
        others = np.flatnonzero(~np.fromiter(map(eq, paths, known), np.bool_, len(paths)))
        numbers[others] = numbers_of(self.paths, [[paths[at] for at in others.tolist()]])
        self.listed += islice(self.paths, len(self.listed), None) if len(self.paths) > len(self.listed) else ()
        return numbers + PORTS


def numbers_of(known: dict[Known, int], names: Sequence[Collection[Known]]) -> Ints:
    """The number of each name of some lists, new ones in the order in which they come."""
    try:
        return integers(map(known.__getitem__, chain.from_iterable(names)), names)
    except KeyError:
        for name in chain.from_iterable(names):
            known.setdefault(name, len(known))
    return integers(map(known.__getitem__, chain.from_iterable(names)), names)


def integers(values: Iterable[int], shape: Sequence[Sized]) -> Ints:
    """An array of as many integers as some lists are long together."""
    return np.fromiter(values, np.int64, sum(len(part) for part in shape))
