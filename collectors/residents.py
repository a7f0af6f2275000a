"""Which endpoints live on this host? What the agent knows of the jobs that have some, from maps as they come.

Of each job the map with the highest version counts. A job that has ended, or has no endpoint here any more, is
forgotten. In a sidecar only the endpoints of one container count.
"""

from __future__ import annotations

from collections.abc import Mapping

from collectors.rnic.placement import Placement
from collectors.rnic.settings import RnicSettings
from schemas.maps import Endpoint, EndpointMap


class Residents:
    """Endpoints of ``host`` (and ``container``, where one is given); ``devices``: how each RNIC is found; ``rnic``:
    what RNICs should run at, and the GID index that jobs are pinned to.
    """

    def __init__(
        self,
        host: str,
        container: str = "",
        devices: Mapping[str, str] | None = None,
        rnic: RnicSettings | None = None,
    ) -> None:
        self.host = host
        self.container = container
        self.devices = dict(devices or {})
        self._rnic = rnic or RnicSettings()
        self._maps: dict[str, EndpointMap] = {}
        self._placements: tuple[Placement, ...] = ()

    def placements(self) -> tuple[Placement, ...]:
        """The endpoints that live here and are not gone."""
        return self._placements

    def jobs(self) -> tuple[str, ...]:
        """The jobs that they belong to."""
        return tuple(self._maps)

    def take_map(self, endpoint_map: EndpointMap) -> bool:
        """Takes a map; False: it says nothing new, or nothing about this host."""
        job = endpoint_map.job
        known = self._maps.get(job)
        if known is not None and endpoint_map.version <= known.version:
            return False
        here = endpoint_map.state != "ended" and any(self._is_here(each) for each in endpoint_map.endpoints)
        if not here and known is None:
            return False
        if here:
            self._maps[job] = endpoint_map
        else:
            del self._maps[job]
        self._placements = tuple(
            self._placed(each, known)
            for known in self._maps.values()
            for each in known.endpoints
            if self._is_here(each)
        )
        return True

    def _is_here(self, endpoint: Endpoint) -> bool:
        is_own = endpoint.host == self.host and self.container in ("", endpoint.container)
        return is_own and endpoint.state != "gone"

    def _placed(self, endpoint: Endpoint, of: EndpointMap) -> Placement:
        return Placement(
            job=of.job,
            container=endpoint.container,
            host=endpoint.host,
            rnic=endpoint.rnic,
            device=self.devices.get(endpoint.rnic, ""),
            tenant=of.tenant,
            gid=endpoint.gid,
            gid_index=self._rnic.gid_index,
            gbps=self._rnic.gbps.get(endpoint.rnic),
            mtu=self._rnic.mtu,
        )
