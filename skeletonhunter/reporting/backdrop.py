"""What surrounds an incident? The measurements, maps, paths and skeletons that its pictures are drawn from.

Filled message by message, from a recording as it is replayed or from rows of ClickHouse; nothing here judges. Seconds
count from ``start_us``. Memory goes with the probe results kept, about 100 bytes each.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.envelope import Value
from schemas.instants import SECOND_US
from schemas.maps import Endpoint, EndpointMap, FabricMap
from schemas.probing import ProbeResults
from schemas.skeletons import SkeletonUpdate
from schemas.telemetry import SwitchQueues
from skeletonhunter.evaluation.series import Pair, SeriesCollector

Path = tuple[str, ...]


@dataclass(slots=True)
class Backdrop:
    """``paths``: every path seen of a pair, newest last; ``depths``: deepest queue (bytes) by port and second."""

    start_us: int
    series: SeriesCollector
    fabrics: dict[str, FabricMap] = field(default_factory=dict)
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    paths: dict[Pair, dict[Path, None]] = field(default_factory=dict)
    depths: dict[str, dict[int, int]] = field(default_factory=dict)
    skeletons: dict[str, SkeletonUpdate] = field(default_factory=dict)

    def observe(self, _topic: str, _key: str, _arrival_us: int, value: Value) -> None:
        """Takes a message in; topics that no picture needs change nothing."""
        self.take(value)

    def take(self, value: Value) -> None:
        """As ``observe``, of the value alone."""
        match value:
            case FabricMap():
                known = self.fabrics.get(value.fabric)
                if known is None or known.version <= value.version:
                    self.fabrics[value.fabric] = value
            case EndpointMap():
                self.endpoints.update((endpoint.endpoint, endpoint) for endpoint in value.endpoints)
            case SkeletonUpdate():
                self.skeletons[value.job] = value
            case ProbeResults():
                for result in value.results:
                    if result.path:
                        seen = self.paths.setdefault((value.src, result.dst), {})
                        seen.pop(result.path, None)
                        seen[result.path] = None
            case SwitchQueues():
                self._take_queues(value)
            case _:
                pass
        self.series.observe(value)

    def _take_queues(self, value: SwitchQueues) -> None:
        for port in value.ports:
            series = self.depths.setdefault(f"{value.switch}/{port.port}", {})
            for t_us, depth in zip(port.t_us, port.depth_bytes, strict=True):
                if depth is not None:
                    second = (t_us - self.start_us) // SECOND_US
                    series[second] = max(depth, series.get(second, 0))


def backdrop_from(start_us: int) -> Backdrop:
    """An empty one whose seconds count from ``start_us``."""
    return Backdrop(start_us, SeriesCollector(start_us))
