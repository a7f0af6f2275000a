"""Which links does a flow cross? Paths of many flows at once, over a ``Wiring``.

``walk`` follows choices hop by hop: at each node the flow takes choice modulo the number of next hops. With a hash the
choice is that of the flow (``hashed``); to list what a pair's flows can take at all, it runs through all residues
(``possible``). With one salt for all nodes a flow has one hash, so only residues of that hash exist (two layers of
equal width are not chosen independently: hash polarization); with a salt per node, and where paths are only traced,
every combination is possible; more than ``MOST_WAYS`` are not listed.

Rows of links are padded with -1. Cost: about 0.1 us per hop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import lcm

import numpy as np

from probe_planner.hashing import FlowHash, Ints
from probe_planner.wiring import FAR, Wiring
from schemas.maps import Ecmp

MOST_WAYS = 64

Choose = Callable[[Ints, Ints, Ints], Ints]
"""(row, node (-1 = the RNIC itself), number of next hops) -> which of them"""


def walk(wiring: Wiring, source: Ints, target: Ints, choose: Choose) -> Ints:
    """Link numbers of paths from RNIC to RNIC (rows of ``wiring``), shape (rows, longest); all -1: there is no way."""
    rows = np.arange(len(source))
    classes = wiring.class_of[target]
    links = np.full((len(source), wiring.longest), -1, dtype=np.int64)
    node, links[:, 0] = _leave(wiring, source, classes, choose, rows)
    lost = node < 0
    going = np.flatnonzero(~lost)
    for hop in range(1, wiring.longest):
        arrived = wiring.distance[node[going], classes[going]] == 0
        last = going[arrived]
        links[last, hop] = _arrive(wiring, node[last], target[last], choose, last)
        going = going[~arrived]
        if not len(going):
            break
        count = wiring.choices[node[going], classes[going]]
        edge = wiring.next_edge[node[going], choose(going, node[going], count), classes[going]]
        links[going, hop] = wiring.edge_link[edge]
        node[going] = wiring.edge_head[edge]
    links[lost] = -1
    return links


def _leave(wiring: Wiring, source: Ints, classes: Ints, choose: Choose, rows: Ints) -> tuple[Ints, Ints]:
    """First switch and link: one of the RNIC's cables whose switch is nearest; -1 = no way."""
    switch = wiring.cable_switch[source]
    far = np.where(switch >= 0, wiring.distance[switch, classes[:, None]], -1)
    far = np.where(far < 0, FAR, far)
    nearest = far.min(axis=1)
    chosen = _nth(far == nearest[:, None], choose, rows, np.full(len(rows), -1))
    node = np.where(nearest < FAR, switch[rows, chosen], -1)
    return node, wiring.cable_link[source, chosen]


def _arrive(wiring: Wiring, node: Ints, target: Ints, choose: Choose, rows: Ints) -> Ints:
    fits = wiring.cable_switch[target] == node[:, None]
    return wiring.cable_link[target, _nth(fits, choose, rows, node)]


def _nth(fits: np.ndarray, choose: Choose, rows: Ints, node: Ints) -> Ints:
    """Column of the chosen one among those that fit."""
    if fits.shape[1] == 1:
        return np.zeros(len(fits), dtype=np.int64)
    wanted = choose(rows, node, np.maximum(fits.sum(axis=1), 1))
    chosen: Ints = np.argmax(fits & (np.cumsum(fits, axis=1) == wanted[:, None] + 1), axis=1)
    return chosen


@dataclass(frozen=True, slots=True)
class Flows:
    """Directed pairs of RNICs (rows of ``wiring``) and, where the map knows it, their hash.

    ``salt_of``: index of the salt of each node, the last entry that of the RNICs; None: paths can't be computed.
    """

    wiring: Wiring
    source: Ints
    target: Ints
    hash: FlowHash | None
    salt_of: Ints | None

    def hashed(self, pair: Ints, port: Ints) -> Ints:
        """Links of flows: rows of pairs and of ports.

        Raises:
            ValueError: the map says nothing of a hash.
        """
        if self.hash is None or self.salt_of is None:
            raise ValueError("paths of this fabric can't be computed, only traced")
        known, salt_of = self.hash, self.salt_of
        if not salt_of.any():
            whole = known.at(pair, port, 0)
            return walk(self.wiring, self.source[pair], self.target[pair], lambda row, _, count: whole[row] % count)
        by_salt = {salt: known.at(pair, port, salt) for salt in np.unique(salt_of).tolist()}

        def choose(row: Ints, node: Ints, count: Ints) -> Ints:
            salt = salt_of[node]
            value = np.zeros(len(row), dtype=np.int64)
            for each in np.unique(salt).tolist():
                value[salt == each] = by_salt[each][row[salt == each]]
            return value % count

        return walk(self.wiring, self.source[pair], self.target[pair], choose)

    def possible(self) -> Ints:
        """All paths of each pair: link numbers, shape (pairs, ways, longest); a way may be repeated."""
        one_hash = self.salt_of is not None and not self.salt_of.any()
        ways = self._ways(one_hash)
        pair = np.repeat(np.arange(len(self.source)), ways)
        rest = np.broadcast_to(np.arange(ways), (len(self.source), ways)).ravel()

        def choose(row: Ints, _: Ints, count: Ints) -> Ints:
            chosen = rest[row] % count
            if not one_hash:
                rest[row] //= count
            return chosen

        links = walk(self.wiring, self.source[pair], self.target[pair], choose)
        return links.reshape(len(self.source), ways, self.wiring.longest)

    def _ways(self, one_hash: bool) -> int:
        """How many choices have to be gone through to see every path of every pair."""
        product = np.ones(len(self.source), dtype=np.int64)
        counts: set[int] = set()

        def note(row: Ints, _: Ints, count: Ints) -> Ints:
            counts.update(np.unique(count).tolist())
            np.multiply.at(product, row, count)
            return np.zeros(len(row), dtype=np.int64)

        walk(self.wiring, self.source, self.target, note)
        return min(lcm(*counts) if one_hash else int(product.max(initial=1)), MOST_WAYS)


def flow_hash(
    ecmp: Ecmp, wiring: Wiring, addresses: list[str], ends: tuple[Ints, Ints], ports: tuple[int, int]
) -> tuple[FlowHash | None, Ints | None]:
    """The hash of directed pairs (``ends``: indices into ``addresses``) as the map describes it, and salts by node.

    ``ports``: first one and how many.
    """
    if ecmp.method != "hash" or ecmp.function not in (None, "crc32"):
        return None, None
    if isinstance(ecmp.salt, dict):
        salts = [str(ecmp.salt.get(name, "")) for name in wiring.switches]
        distinct = {salt: number for number, salt in enumerate(dict.fromkeys([*salts, ""]))}
        salt_of = np.array([distinct[salt] for salt in [*salts, ""]], dtype=np.int64)
        return FlowHash(addresses, ends, ports, list(distinct)), salt_of
    salt = "" if ecmp.salt is None else str(ecmp.salt)
    return FlowHash(addresses, ends, ports, [salt]), np.zeros(len(wiring.switches) + 1, dtype=np.int64)
