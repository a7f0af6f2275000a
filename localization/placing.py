"""Which suspects do many routes cross? As ``localization.suspects.suspects_of_path`` says, for many routes at once.

What an endpoint adds to a route, and what a link adds when it is entered at a node, is the same for all routes, so it
is looked up once. Suspects get their numbers in the order in which they are met. Cost: about 3 us a route.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from localization.suspects import Suspect, SuspectTable, access_only, first_node, suspects_of_end, suspects_of_link
from localization.topology import Topology


class Part(NamedTuple):
    """Numbers of the suspects that a part of a route adds, and the node where it ends, if that is known."""

    numbers: list[int]
    node: str | None


@dataclass(slots=True)
class Placing:
    """What parts add, while the maps are as they are."""

    topology: Topology
    table: SuspectTable
    ends: dict[str, Part] = field(default_factory=dict)
    links: dict[tuple[str, str | None], Part] = field(default_factory=dict)

    def row(self, src: str, dst: str, path: tuple[str, ...] | None) -> list[int]:
        """Numbers of the suspects that a route crosses, each once; none if an endpoint of it has left."""
        if self.topology.has_left(src) or self.topology.has_left(dst):
            return []
        numbers, node = self._end(src)
        found = numbers + self._end(dst).numbers
        if path is None:
            found += self._numbers(access_only(self.topology, src, dst))
            return list(dict.fromkeys(found))
        node = node or first_node(self.topology, path)
        for link in path:
            known = self.links.get((link, node)) or self._link(link, node)
            found += known.numbers
            node = known.node
        return list(dict.fromkeys(found))

    def _end(self, endpoint: str) -> Part:
        known = self.ends.get(endpoint)
        if known is None:
            numbers = self._numbers(suspects_of_end(self.topology, endpoint))
            known = self.ends[endpoint] = Part(numbers, self.topology.node_of(endpoint))
        return known

    def _link(self, link: str, node: str | None) -> Part:
        suspects, after = suspects_of_link(self.topology, link, node)
        known = self.links[link, node] = Part(self._numbers(suspects), after)
        return known

    def _numbers(self, suspects: Iterable[Suspect]) -> list[int]:
        return [self.table.number(suspect) for suspect in suspects]
