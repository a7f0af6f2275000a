"""Where can a fault strike? What an injector may choose from: the flows that the jobs really have, when it begins.

An injector draws a component that the jobs' own packets cross at the onset, so that the fault is active; ``touched``
says which endpoints it can hurt. Severity is between 0 and 1, drawn unless the scenario gives it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from skeletonhunter.testbed.effects import DeviceWarning
from skeletonhunter.testbed.fabric import port_node
from skeletonhunter.testbed.intervals import Intervals, always, log_uniform
from skeletonhunter.testbed.members import Member
from skeletonhunter.testbed.physics import Place, Trains
from skeletonhunter.testbed.scenario import ScenarioError
from skeletonhunter.testbed.world import World


@dataclass(frozen=True)
class Site:
    """The world at the onset of a fault that lasts over ``when``."""

    world: World
    rng: np.random.Generator
    when: Intervals
    severity: float

    @property
    def start_s(self) -> float:
        """The onset."""
        return self.when.first_s

    @property
    def end_s(self) -> float:
        """The end."""
        return self.when.last_s

    def trains(self) -> Trains:
        """The jobs' flows at the onset."""
        return self.world.edge_trains(self.start_s)

    def scaled(self, low: float, high: float) -> float:
        """The severity between two bounds, on a logarithmic scale."""
        return float(low * (high / low) ** self.severity)

    def chance(self, probability: float) -> bool:
        """A drawn yes or no."""
        return bool(self.rng.random() < probability)

    def pick(self, items: Iterable[Any]) -> Any:
        """One of the items.

        Raises:
            ScenarioError: there is none.
        """
        listed = list(items)
        if not listed:
            raise ScenarioError("no component of the scenario can have this fault, it carries no traffic at the onset")
        return listed[int(self.rng.integers(len(listed)))]

    def member(self) -> Member:
        """An endpoint that communicates."""
        trains = self.trains()
        member: Member = self.world.members[self.pick(sorted(set(trains.src.tolist())))]
        return member

    def hop(self, kind: Literal["access", "uplink", "any"]) -> int:
        """A hop that flows cross: between RNIC and leaf, between switches, or either."""
        trains = self.trains()
        used = sorted(set(self.world.paths.there[trains.path].ravel().tolist()) - {-1})
        chosen: int = self.pick(hop for hop in used if kind == "any" or self.is_access(hop) == (kind == "access"))
        return chosen

    def is_access(self, hop: int) -> bool:
        """Whether the hop's link ends at an RNIC."""
        fabric = self.world.fabric
        return "rnic" in (
            fabric.kinds[port_node(fabric.port_of(hop))],
            fabric.kinds[port_node(fabric.far_port_of(hop))],
        )

    def touched(self, where: Place) -> tuple[str, ...]:
        """Endpoints of the jobs' flows that cross a place, in ascending order."""
        trains = self.trains()
        hit = where.crossings(trains, self.world.paths) > 0
        numbers = set(trains.src[hit].tolist()) | set(trains.dst[hit].tolist())
        return tuple(sorted(self.world.members[number].endpoint for number in numbers))

    def names(self, members: Iterable[Member]) -> tuple[str, ...]:
        """Their endpoints, in ascending order."""
        return tuple(sorted(member.endpoint for member in members))

    def warn(self, warning: DeviceWarning, chance: float | None = None) -> tuple[DeviceWarning, ...]:
        """The warning, reported some time after its cause at ``at_s``, or nothing: warnings are sometimes missing."""
        probability = self.world.scenario.telemetry.warnings if chance is None else chance
        at_s = warning.at_s + log_uniform(self.rng, 0.2, 4.0)
        if not self.chance(probability) or at_s > self.world.span.seconds:
            return ()
        return (replace(warning, at_s=at_s),)


def lasting(site: Site) -> Intervals:
    """The whole time of the fault."""
    return always(site.start_s, site.end_s)
