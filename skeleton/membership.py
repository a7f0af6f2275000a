"""Who belongs to the job? The endpoints of an endpoint map in a fixed order, with their rails and hosts.

Endpoints that are gone are left out. Names are sorted, so that index and result do not depend on the order of the map.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.maps import EndpointMap, Parallelism
from skeleton.hints import NO_HINTS, Hints, read_hints


@dataclass(frozen=True, slots=True)
class Membership:
    """Columns by endpoint index; ``version`` of the map that they come from, and what it hints at."""

    version: int
    names: tuple[str, ...]
    rails: tuple[int, ...]
    hosts: tuple[str, ...]
    containers: tuple[str, ...]
    hints: Hints = NO_HINTS
    degrees: Parallelism | None = None

    def by_rail(self) -> dict[int, tuple[int, ...]]:
        """Indices of the endpoints of each rail, rails in ascending order."""
        found: dict[int, list[int]] = {}
        for index, rail in enumerate(self.rails):
            found.setdefault(rail, []).append(index)
        return {rail: tuple(found[rail]) for rail in sorted(found)}

    def same_job(self, other: Membership) -> bool:
        """Whether both describe the same job in the same places, as far as they say."""
        return self.same_endpoints(other) and not self._other_degrees(other)

    def change(self, old: Membership) -> str:
        """What is different from the old map, in words."""
        if not self.same_endpoints(old):
            return "the endpoints changed"
        return "the degrees of parallelism changed" if self._other_degrees(old) else "the job began anew"

    def _other_degrees(self, old: Membership) -> bool:
        return self.degrees is not None and old.degrees is not None and self.degrees != old.degrees

    def same_endpoints(self, other: Membership) -> bool:
        """Whether both name the same endpoints in the same places."""
        return (self.names, self.rails, self.hosts) == (other.names, other.rails, other.hosts)


def read_membership(endpoint_map: EndpointMap) -> Membership:
    """The endpoints of a map that are not gone."""
    present = sorted((e for e in endpoint_map.endpoints if e.state != "gone"), key=lambda e: e.endpoint)
    names = tuple(e.endpoint for e in present)
    return Membership(
        version=endpoint_map.version,
        names=names,
        rails=tuple(e.rail for e in present),
        hosts=tuple(e.host for e in present),
        containers=tuple(e.container for e in present),
        hints=read_hints(endpoint_map, names),
        degrees=endpoint_map.parallelism,
    )
