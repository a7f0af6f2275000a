"""What does the agent know of its surroundings by now? ``Places``, kept up to date by endpoint maps and probe plans."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.flows.places import Pair, Places
from schemas.maps import Endpoint, EndpointMap
from schemas.probing import ProbePlan


class Surroundings:
    """Takes maps and plans; called, it gives ``Places``. ``tunnels`` and ``ports`` are configured, see ``Places``."""

    def __init__(
        self, host: str, tunnels: Mapping[str, str] | None = None, ports: Mapping[str, str] | None = None
    ) -> None:
        self._host = host
        self._tunnels, self._ports = dict(tunnels or {}), dict(ports or {})
        self._jobs: dict[str, tuple[Endpoint, ...]] = {}
        self._pairs: dict[str, frozenset[Pair]] = {}
        self._version = 0
        self._places: tuple[int, Places] | None = None

    def take_map(self, endpoint_map: EndpointMap) -> None:
        """A new map of a job; an ended job is forgotten."""
        self._jobs.pop(endpoint_map.job, None)
        if endpoint_map.state == "ended":
            self._pairs.pop(endpoint_map.job, None)
        elif any(each.host == self._host for each in endpoint_map.endpoints):
            self._jobs[endpoint_map.job] = endpoint_map.endpoints
        self._version += 1

    def take_plan(self, plan: ProbePlan) -> None:
        """A new plan of a job: the pairs that it probes matter, in both directions."""
        slots = [(slot[0], slot[1]) for group in plan.slots for slot in group]
        self._pairs[plan.job] = frozenset(slots) | {(dst, src) for src, dst in slots}
        self._version += 1

    def __call__(self) -> Places:
        """What is known now. Tables are read in another thread than maps, hence copies, and a version before them."""
        version = self._version
        if self._places is None or self._places[0] != version:
            places = Places(
                host=self._host,
                jobs=dict(self._jobs),
                tunnels=self._tunnels,
                ports=self._ports,
                peers=frozenset().union(*list(self._pairs.values())),
            )
            self._places = version, places
        return self._places[1]
