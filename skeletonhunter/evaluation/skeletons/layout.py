"""In which order and place are a job's endpoints drawn? By rail, stage and replica, as far as the skeleton knows them.

Stage = place in the endpoint's pipeline; without pipelines the number of its group on the rail. Replica = number of its
pipeline on the rail; without, its place in the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from schemas.skeletons import SkeletonUpdate


class Spot(NamedTuple):
    """Where an endpoint stands."""

    rail: int
    stage: int
    replica: int


def spots_of(update: SkeletonUpdate, rails: Mapping[str, int]) -> dict[str, Spot]:
    """The spot of every endpoint, in drawing order."""
    spots: dict[str, Spot] = {}
    chains = [group for group in update.groups if group.kind == "pp"]
    counts: dict[int | None, int] = {}
    for chain in chains:
        number = counts[chain.rail] = counts.get(chain.rail, -1) + 1
        for stage, name in enumerate(chain.members):
            if name in rails:
                spots.setdefault(name, Spot(rails[name], stage, number))
    places: dict[int | None, int] = {}
    for group in (each for each in update.groups if each.kind in ("dp", "unknown")):
        number = places[group.rail] = places.get(group.rail, -1) + 1
        for place, name in enumerate(group.members):
            if name in rails:
                spots.setdefault(name, Spot(rails[name], number, place))
    alone: dict[int, int] = {}
    for name in sorted(set(rails) - set(spots)):
        place = alone[rails[name]] = alone.get(rails[name], -1) + 1
        spots[name] = Spot(rails[name], 0, place)
    return dict(sorted(spots.items(), key=lambda item: (item[1], item[0])))


def groups_of(update: SkeletonUpdate) -> dict[str, int]:
    """The number of each endpoint's data-parallel (or unresolved) group; experts only where there is no other."""
    found: dict[str, int] = {}
    wanted = ("dp", "unknown") if any(group.kind in ("dp", "unknown") for group in update.groups) else ("ep",)
    for number, group in enumerate(each for each in update.groups if each.kind in wanted):
        found.update(dict.fromkeys(group.members, number))
    return found
