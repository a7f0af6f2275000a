"""What a recording says about itself: the fabric, the endpoints, how long pairs were probed, the training steps.

``FactsCollector`` is fed the recording's messages in any order and never looks at truth or incidents. Units: instants
in us, ``pair_hours`` in hours (per probed pair the time from its first to its last result, added up).
Cost: O(1) per result; memory O(pairs + steps).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Struct

from schemas.envelope import Value
from schemas.maps import Endpoint, EndpointMap, FabricMap, Link
from schemas.probing import ProbeResults
from schemas.telemetry import JobProgress

HOUR_US = 3_600_000_000

FACT_TOPICS = ("endpoint-map", "fabric-map", "probe-results", "job-progress")
"""Topics that a collector wants to see; a recording may lack any of them."""


class Seat(Struct, frozen=True):
    """Where an endpoint sits, or once sat before it was migrated."""

    endpoint: str
    job: str
    container: str
    host: str
    rnic: str


class FinishedStep(Struct, frozen=True):
    """A training step of a job: it ended at ``end_us`` and took ``step_s``."""

    job: str
    end_us: int
    step_s: float


class RecordingFacts(Struct, frozen=True):
    """All that scoring needs of a recording, beside truth. ``rnics``: ids ``<host>/<rnic>`` of RNIC nodes."""

    name: str
    start_us: int
    end_us: int
    links: tuple[Link, ...] = ()
    rnics: frozenset[str] = frozenset()
    seats: tuple[Seat, ...] = ()
    pair_hours: float = 0.0
    steps: tuple[FinishedStep, ...] = ()


@dataclass(slots=True)
class FactsCollector:
    """Gathers facts message by message."""

    name: str
    start_us: int
    end_us: int
    fabrics: dict[str, FabricMap] = field(default_factory=dict)
    seats: dict[tuple[str, str, str], Seat] = field(default_factory=dict)
    probed: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    steps: dict[tuple[str, int], FinishedStep] = field(default_factory=dict)

    def observe(self, value: Value) -> None:
        """Takes one message in; messages of other topics change nothing."""
        match value:
            case ProbeResults():
                self._observe_probes(value)
            case EndpointMap():
                self._observe_endpoints(value.job, value.endpoints)
            case FabricMap():
                known = self.fabrics.get(value.fabric)
                if known is None or known.version <= value.version:
                    self.fabrics[value.fabric] = value
            case JobProgress():
                step = FinishedStep(value.job, value.t_us, value.step_s)
                self.steps[value.job, value.t_us] = step
            case _:
                pass

    def _observe_probes(self, value: ProbeResults) -> None:
        for result in value.results:
            pair = (value.src, result.dst)
            first, last = self.probed.get(pair, (result.t_us, result.t_us))
            self.probed[pair] = (min(first, result.t_us), max(last, result.t_us))

    def _observe_endpoints(self, job: str, endpoints: tuple[Endpoint, ...]) -> None:
        for item in endpoints:
            self.seats[item.endpoint, item.host, job] = Seat(item.endpoint, job, item.container, item.host, item.rnic)

    def facts(self) -> RecordingFacts:
        """What is known by now."""
        maps = [self.fabrics[name] for name in sorted(self.fabrics)]
        return RecordingFacts(
            name=self.name,
            start_us=self.start_us,
            end_us=self.end_us,
            links=tuple(link for fabric in maps for link in fabric.links),
            rnics=frozenset(node.id for fabric in maps for node in fabric.nodes if node.kind == "rnic"),
            seats=tuple(self.seats[key] for key in sorted(self.seats)),
            pair_hours=sum(last - first for first, last in self.probed.values()) / HOUR_US,
            steps=tuple(self.steps[key] for key in sorted(self.steps)),
        )
