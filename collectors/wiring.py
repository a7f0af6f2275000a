"""Which parts does an agent have? Each name that ``agent.parts`` may list, and how the part is made from the settings.

A part's modules are loaded when it is wanted, so an agent carries only what it does. ``slow``: it may block, and is
asked in the slow lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from collectors.agent import Part
from collectors.agent_settings import AgentSettings
from collectors.residents import Residents
from collectors.rnic.following import Cards
from schemas.envelope import Clock


@dataclass
class Site:
    """Where and as whom the agent runs; what several parts share is made once."""

    settings: AgentSettings
    name: str
    host: str
    residents: Residents

    @cached_property
    def cards(self) -> Cards:
        """The RNICs of the host."""
        return Cards(Path(self.settings.agent.sys), self.settings.rnic.devices_s)


Made = Iterator[tuple[Part, bool]]
"""Parts, each with whether it is slow."""


def _rnic_counters(site: Site) -> Made:
    from collectors.rnic.counters import RnicCounters

    yield RnicCounters(site.residents.placements, site.cards, site.settings.rnic), False


def _rnic_bursts(site: Site) -> Made:
    from collectors.rnic.burst_reports import RnicBursts

    yield RnicBursts(site.residents.placements, site.cards, site.settings.rnic), False


def _endpoint_files(site: Site) -> Made:
    from collectors.maps.map_files import MapFiles

    maps = site.settings.maps
    yield MapFiles("endpoint-map", [Path(path) for path in maps.endpoints], maps.look_s, maps.again_s), False


def _fabric_file(site: Site) -> Made:
    from collectors.maps.map_files import MapFiles

    maps = site.settings.maps
    yield MapFiles("fabric-map", [Path(maps.fabric)], maps.look_s, maps.again_s), False


def _fabric_lldp(site: Site) -> Made:
    from collectors.maps.neighbours import FabricFromNeighbours, Tiers

    maps = site.settings.maps
    tiers = Tiers(leaf=maps.leaf, spine=maps.spine, core=maps.core)
    yield FabricFromNeighbours(Path(maps.neighbours), tiers, maps.rnics, maps.look_s, maps.again_s), False


def _endpoint_kubernetes(site: Site) -> Made:
    from collectors.maps.kubernetes_jobs import ApiServer, KubernetesJobs
    from collectors.maps.pods import Labels

    settings = site.settings.kubernetes
    labels = Labels(job=settings.job_label, rank=settings.rank_label)
    yield KubernetesJobs(ApiServer(settings), labels, settings.look_s), True


PARTS: dict[str, Callable[[Site], Made]] = {
    "rnic-counters": _rnic_counters,
    "rnic-bursts": _rnic_bursts,
    "endpoint-files": _endpoint_files,
    "endpoint-kubernetes": _endpoint_kubernetes,
    "fabric-file": _fabric_file,
    "fabric-lldp": _fabric_lldp,
}
"""Name in ``agent.parts`` -> how it is made."""


def make_parts(site: Site) -> Made:
    """The parts that the settings ask for."""
    for name in site.settings.agent.parts:
        yield from PARTS[name](site)


def clock_of(_site: Site) -> Callable[[], Clock]:
    """What tells how far the host's clock may be off."""
    unknown = Clock(source="none", offset_us=0.0, error_us=0.0)
    return lambda: unknown
