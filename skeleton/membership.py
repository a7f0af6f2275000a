"""Who belongs to the job? The endpoints of an endpoint map in a fixed order, with their rails and hosts.

Endpoints that are gone are left out. Names are sorted, so that index and result do not depend on the order of the map.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.maps import EndpointMap


@dataclass(frozen=True, slots=True)
class Membership:
    """Columns by endpoint index; ``version`` of the map that they come from."""

    version: int
    names: tuple[str, ...]
    rails: tuple[int, ...]
    hosts: tuple[str, ...]
    containers: tuple[str, ...]

    def by_rail(self) -> dict[int, tuple[int, ...]]:
        """Indices of the endpoints of each rail, rails in ascending order."""
        found: dict[int, list[int]] = {}
        for index, rail in enumerate(self.rails):
            found.setdefault(rail, []).append(index)
        return {rail: tuple(found[rail]) for rail in sorted(found)}

    def same_endpoints(self, other: Membership) -> bool:
        """Whether both name the same endpoints in the same places."""
        return (self.names, self.rails, self.hosts) == (other.names, other.rails, other.hosts)


def read_membership(endpoint_map: EndpointMap) -> Membership:
    """The endpoints of a map that are not gone."""
    present = sorted((e for e in endpoint_map.endpoints if e.state != "gone"), key=lambda e: e.endpoint)
    return Membership(
        version=endpoint_map.version,
        names=tuple(e.endpoint for e in present),
        rails=tuple(e.rail for e in present),
        hosts=tuple(e.host for e in present),
        containers=tuple(e.container for e in present),
    )
