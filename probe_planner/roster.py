"""Who may be probed now, and why are the others left out?

Only endpoints that are ``ready`` are probed: what is still starting has a half-built network stack, and a probe to it
would raise a false alarm. What is quarantined or disabled by the settings, or withheld by the endpoint map, is not
probed either, and the plan says why. Cost: 0.5 us per endpoint.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from probe_planner.parameters import PlannerParameters
from schemas.maps import Endpoint, EndpointMap
from schemas.probing import Exclusion

WAITING = {"starting": "not ready: its container is starting", "gone": "gone"}


@dataclass(slots=True)
class Roster:
    """``usable``: endpoints that may be probed; ``why_not``: the others' reasons; ``listed``: all, by name."""

    usable: dict[str, Endpoint] = field(default_factory=dict)
    why_not: dict[str, str] = field(default_factory=dict)
    listed: dict[str, Endpoint] = field(default_factory=dict)

    def changed(self, other: Roster) -> list[str]:
        """Endpoints that may be probed in one of both only, or have changed places."""
        mine, theirs = self.usable, other.usable
        found = [name for name, endpoint in theirs.items() if mine.get(name) != endpoint]
        return sorted([*found, *(mine.keys() - theirs.keys())])

    def rnics(self, names: Iterable[str] | None = None) -> dict[str, str]:
        """The physical RNIC of usable endpoints, of all or of those."""
        usable = self.usable
        return {name: f"{(place := usable[name]).host}/{place.rnic}" for name in (usable if names is None else names)}

    def moved(self, other: Roster, names: Collection[str]) -> bool:
        """Whether one of these endpoints is usable in both but somewhere else."""
        return any(
            _place(self.usable[n]) != _place(other.usable[n]) for n in names if n in self.usable and n in other.usable
        )

    def exclusions(self, probed: dict[str, int], why: str) -> tuple[Exclusion, ...]:
        """All endpoints that are not probed; ``why`` is said of those that could be."""
        left = self.listed.keys() - probed.keys()
        return tuple(Exclusion(endpoint=name, why=self.why_not.get(name, why)) for name in sorted(left))


def read_roster(endpoint_map: EndpointMap, parameters: PlannerParameters) -> Roster:
    """The roster of a map."""
    listed = {endpoint.endpoint: endpoint for endpoint in endpoint_map.endpoints}
    barred = {name: "quarantined" for name in parameters.quarantined} | {
        name: "disabled" for name in parameters.disabled
    }
    if barred:
        why_not = {name: why for name, endpoint in listed.items() if (why := _why_not(endpoint, barred))}
    else:
        others = [endpoint for endpoint in listed.values() if endpoint.state != "ready" or endpoint.withheld]
        why_not = {endpoint.endpoint: _why_not(endpoint, barred) for endpoint in others}
    usable = {name: endpoint for name, endpoint in listed.items() if name not in why_not} if why_not else listed
    return Roster(usable, why_not, listed)


def _why_not(endpoint: Endpoint, barred: dict[str, str]) -> str:
    why = WAITING.get(endpoint.state) or endpoint.withheld
    return why or next((f"{barred[n]} by the settings ({n})" for n in _aliases(endpoint) if n in barred), "")


def _aliases(endpoint: Endpoint) -> Iterator[str]:
    yield endpoint.endpoint
    yield f"container:{endpoint.container}"
    yield f"rnic:{endpoint.host}/{endpoint.rnic}"
    yield f"host:{endpoint.host}"


def _place(endpoint: Endpoint) -> tuple[str, str, int, str | None]:
    return endpoint.host, endpoint.rnic, endpoint.rail, endpoint.ip
