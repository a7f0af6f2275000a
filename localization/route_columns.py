"""What of a route table is written down: columns, and each name and path once. The rest follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from localization.arrays import Flags, Floats, Ints
from localization.cases import ends_between
from localization.narrowing import Narrow, by_number, narrow, wide
from localization.numbering import PORTS, TAG, KeyNumbers, RouteNumbers
from localization.suspects import SuspectTable

if TYPE_CHECKING:
    from localization.routes import Route, RouteTable

_NAMES = msgspec.msgpack.Decoder(list[str])
_PATHS = msgspec.msgpack.Decoder(list[tuple[str, ...]])


@dataclass(frozen=True, slots=True)
class RouteColumns:
    """A route table. ``names``: endpoints in the order of their numbers, ``paths``: links of paths, in MessagePack;
    ``pairs``, ``routes``: keys of ``RouteNumbers``. All others as in the table.
    """

    suspects: SuspectTable
    names: bytes
    paths: bytes
    pairs: Ints
    routes: Ints
    ends: Narrow
    pair: Narrow
    members: Narrow
    stray: Narrow
    hop: Flags
    prior: Floats

    @staticmethod
    def of(table: RouteTable) -> RouteColumns:
        """The columns of a table."""
        encode, numbers = msgspec.msgpack.encode, table.numbers
        return RouteColumns(
            table.suspects,
            encode(list(numbers.ends)),
            encode(list(numbers.paths)),
            numbers.pairs.keys,
            numbers.routes.keys,
            narrow(table.ends),
            narrow(table.pair),
            narrow(table.members),
            narrow(table.stray),
            table.hop,
            table.prior,
        )

    def into(self, table: RouteTable) -> None:
        """Fills a table that holds nothing yet."""
        names, paths = _NAMES.decode(self.names), _PATHS.decode(self.paths)
        table.suspects = self.suspects
        table.numbers = RouteNumbers(
            by_number(names), by_number(paths), KeyNumbers(self.pairs), KeyNumbers(self.routes)
        )
        table.ends, table.pair, table.stray = wide(self.ends), wide(self.pair), wide(self.stray)
        table.members, table.hop, table.prior = wide(self.members), self.hop, self.prior
        table.routes = self._routes(names, paths)
        numbers = table.pair.tolist()
        table.pair_index = {
            ends_between(src, dst): number for (src, dst, _, _), number in zip(table.routes, numbers, strict=True)
        }

    def _routes(self, names: list[str], paths: list[tuple[str, ...]]) -> list[Route]:
        tags = self.routes & TAG
        traced = np.where(tags < PORTS, len(paths), tags - PORTS).tolist()
        ports = np.where(tags < PORTS, tags, 0).tolist()
        ways: list[tuple[str, ...] | None] = [*paths, None]
        ends = self.ends.tolist()
        return [
            (names[src], names[dst], ways[way], port) for (src, dst), way, port in zip(ends, traced, ports, strict=True)
        ]
