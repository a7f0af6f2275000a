"""Which parts does an agent have? Each name that ``agent.parts`` may list, and how the part is made from the settings.

A part's modules are loaded when it is wanted, so an agent carries only what it does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from collectors.agent import Part
from collectors.agent_settings import AgentSettings
from collectors.part_settings import address_of
from collectors.residents import Residents
from collectors.rnic.following import Cards

if TYPE_CHECKING:
    from collectors.clocks.watch import ClockWatch
    from collectors.events.devices import Devices


class Site:
    """Where and as whom the agent runs; what several parts share is made once."""

    def __init__(self, settings: AgentSettings, host: str, residents: Residents) -> None:
        self.settings, self.host, self.residents = settings, host, residents

    @property
    def sys(self) -> Path:
        """Where sysfs is."""
        return Path(self.settings.agent.sys)

    @cached_property
    def cards(self) -> Cards:
        """The RNICs of the host."""
        return Cards(self.sys, self.settings.rnic.devices_s)

    @cached_property
    def devices(self) -> Callable[[], Devices]:
        """What components the host's device names stand for."""
        from collectors.companions import RememberedDevices
        from collectors.events.naming import NamedDevices

        return RememberedDevices(NamedDevices(self.sys, self.host, self.residents.placements))


class Piece(NamedTuple):
    """A part; ``slow``: it may block; ``companions`` are told of maps, plans and the like for it."""

    part: Part
    slow: bool = False
    companions: tuple[object, ...] = ()


Made = Iterator[Piece]


def _rnic_counters(site: Site) -> Made:
    """``rnic-counters``: all counters of the RNICs of this host's endpoints, from sysfs and ethtool."""
    from collectors.rnic.counters import RnicCounters
    from collectors.rnic.ethtool import Ethtool

    statistics = Ethtool() if site.settings.rnic.ethtool_s else None
    yield Piece(RnicCounters(site.residents.placements, site.cards, site.settings.rnic, statistics))


def _rnic_bursts(site: Site) -> Made:
    """``rnic-bursts``: when each RNIC sent and received without a pause, found on the host."""
    from collectors.rnic.burst_reports import RnicBursts

    yield Piece(RnicBursts(site.residents.placements, site.cards, site.settings.rnic))


def _rnic_state(site: Site) -> Made:
    """``device-events``: ports, GIDs, PCIe links and bonds of RNICs; GIDs and who is watched for the health message."""
    from collectors.companions import StateReport
    from collectors.rnic.state import RnicState

    state = RnicState(site.residents.placements, site.cards, site.settings.rnic)
    yield Piece(state, companions=(StateReport(state),))


def _probing(site: Site) -> Made:
    """``probe-results``: carries out probe plans and answers the probes of other agents."""
    from collectors.probing.prober import Home, Prober

    settings = site.settings
    home = Home(host=site.host, container=settings.agent.container, devices=settings.maps.devices, sys=site.sys)
    key_file = settings.probing.key_file
    yield Piece(Prober(home, settings.probing, Path(key_file).read_bytes() if key_file else None))


def _flow_tables(site: Site) -> Made:
    """``flow-tables``: what the virtual switch and the RNICs hold, at intervals, when an anomaly asks, on request."""
    from collectors.companions import DemandOnAnomaly, DemandOnRequest
    from collectors.flows.collector import FlowBounds, FlowCollector, FlowSources
    from collectors.flows.known import Surroundings

    flows = site.settings.flows
    known = Surroundings(site.host, flows.tunnels, flows.ports)
    sources = FlowSources(
        ovs=flows.ovs or None,
        ovs_offloaded=flows.ovs_offloaded or None,
        devices=flows.devices,
        cards=flows.cards or None,
    )
    bounds = FlowBounds(timeout_s=flows.timeout_s, max_bytes=round(flows.max_mb * 1e6), max_flows=flows.max_flows)
    collector = FlowCollector(known, sources, flows.period_s, bounds)
    demands = DemandOnAnomaly(collector, site.residents.placements), DemandOnRequest(collector)
    yield Piece(collector, True, (known, *demands))


def _kernel_log(site: Site) -> Made:
    """``device-events`` from the kernel's log."""
    from collectors.events.kernel_log import KernelLog

    events = site.settings.events
    yield Piece(KernelLog(site.devices, events.kernel_log, events.backlog, _tells_links(site)))


def _tells_links(site: Site) -> bool:
    """Whether logs are to tell that RNICs lose their links: not when ``rnic-state`` does, as downs are counted."""
    return "rnic-state" not in site.settings.agent.parts


def _log_files(site: Site) -> Made:
    """``device-events`` from log files of this host."""
    from collectors.events.log_files import LogFile

    for path in site.settings.events.logs:
        yield Piece(LogFile(Path(path), site.devices, zone_s=_zone_s, links=_tells_links(site)))


def _job_logs(site: Site) -> Made:
    """``device-events`` from the logs of containers."""
    from collectors.events.log_files import LogFile

    for container, path in site.settings.events.job_logs.items():
        yield Piece(LogFile(Path(path), site.devices, ("job", container), _zone_s, _tells_links(site)))


def _journal(site: Site) -> Made:
    """``device-events`` from systemd's journal, for hosts without text files of their log; not of the kernel."""
    from collectors.events.journal import Journal

    yield Piece(Journal(site.devices, links=_tells_links(site)))


def _syslog(site: Site) -> Made:
    """``device-events`` from the syslog of switches."""
    from collectors.events.log_files import SyslogSocket

    events = site.settings.events
    yield Piece(SyslogSocket(address_of(events.syslog), events.switches, site.devices, _zone_s))


def _zone_s() -> int:
    """Seconds that the local time of log lines is ahead of UTC."""
    return time.localtime().tm_gmtoff


def _container_runtime(site: Site) -> Made:
    """``device-events``: containers that start and exit."""
    from collectors.events.runtime import CONTAINERD, CRI, DOCKER, ContainerRuntime

    events = site.settings.events
    command = {"cri": CRI, "containerd": CONTAINERD, "docker": DOCKER}[events.runtime]
    yield Piece(ContainerRuntime(site.devices, command, events.aliases))


def _configuration(site: Site) -> Made:
    """``device-events``: what is configured otherwise than it should be."""
    from collectors.events.checks import ConfigurationChecks, Wanted
    from collectors.events.interfaces import expected_of
    from collectors.events.qos import QosWanted

    events = site.settings.events
    qos = QosWanted(pfc=frozenset(events.pfc), ecn=frozenset(events.ecn), trust=events.trust or None)
    wanted = Wanted(
        interfaces=expected_of(events.interfaces),
        hugepages={int(size): number for size, number in events.hugepages.items()},
        qos=qos if events.qos_netdevs else None,
        qos_netdevs=events.qos_netdevs,
    )
    roots = site.sys, Path(site.settings.agent.proc)
    yield Piece(ConfigurationChecks(site.devices, wanted, roots, events.configuration_s), True)


def _lldp(site: Site) -> Made:
    """``device-events``: RNICs that are cabled to another switch port than before."""
    from collectors.events.lldp import Neighbours

    yield Piece(Neighbours(site.devices, period_s=site.settings.events.lldp_s), True)


def _switches_gnmi(site: Site) -> Made:
    """``switch-queues`` and ``device-events`` of switches that stream by gNMI."""
    from collectors.switches.gnmi import GnmiSwitch, GnmiTarget

    for each in site.settings.switches.gnmi:
        fields = structs.asdict(each)
        path = fields.pop("password_file")
        target = GnmiTarget(**fields, password=Path(path).read_text().strip() if path else "")
        yield Piece(GnmiSwitch(target, site.devices))


def _switches_sonic(site: Site) -> Made:
    """``switch-queues`` and ``device-events`` of switches that are asked by SONiC's commands."""
    from collectors.switches.sonic import SonicCommands, SonicSwitch

    settings = site.settings.switches
    for switch, prefix in settings.sonic.items():
        commands = SonicCommands(prefix=prefix, lossless=frozenset(settings.lossless))
        yield Piece(SonicSwitch(switch, site.devices, commands, settings.sonic_s, settings.timeout_s), True)


def _endpoint_files(site: Site) -> Made:
    """``endpoint-map`` from files that are watched."""
    from collectors.maps.map_files import MapFiles

    maps = site.settings.maps
    yield Piece(MapFiles("endpoint-map", [Path(path) for path in maps.endpoints], maps.look_s, maps.again_s))


def _fabric_file(site: Site) -> Made:
    """``fabric-map`` from a file that is watched."""
    from collectors.maps.map_files import MapFiles

    maps = site.settings.maps
    yield Piece(MapFiles("fabric-map", [Path(maps.fabric)], maps.look_s, maps.again_s))


def _fabric_lldp(site: Site) -> Made:
    """``fabric-map`` from what LLDP daemons print."""
    from collectors.maps.neighbours import FabricFromNeighbours, Tiers

    maps = site.settings.maps
    tiers = Tiers(leaf=maps.leaf, spine=maps.spine, core=maps.core)
    yield Piece(FabricFromNeighbours(Path(maps.neighbours), tiers, maps.rnics, maps.look_s, maps.again_s))


def _endpoint_kubernetes(site: Site) -> Made:
    """``endpoint-map`` of the jobs of a Kubernetes cluster."""
    from collectors.maps.kubernetes_jobs import ApiServer, KubernetesJobs
    from collectors.maps.pods import Labels

    settings = site.settings.kubernetes
    labels = Labels(job=settings.job_label, rank=settings.rank_label)
    yield Piece(KubernetesJobs(ApiServer(settings), labels, settings.look_s), True)


PARTS: dict[str, Callable[[Site], Made]] = {
    "rnic-counters": _rnic_counters,
    "rnic-bursts": _rnic_bursts,
    "rnic-state": _rnic_state,
    "probing": _probing,
    "flow-tables": _flow_tables,
    "kernel-log": _kernel_log,
    "log-files": _log_files,
    "job-logs": _job_logs,
    "journal": _journal,
    "syslog": _syslog,
    "container-runtime": _container_runtime,
    "configuration": _configuration,
    "lldp": _lldp,
    "switches-gnmi": _switches_gnmi,
    "switches-sonic": _switches_sonic,
    "endpoint-files": _endpoint_files,
    "endpoint-kubernetes": _endpoint_kubernetes,
    "fabric-file": _fabric_file,
    "fabric-lldp": _fabric_lldp,
}
"""Name in ``agent.parts`` -> how it is made."""


def make_pieces(site: Site) -> Made:
    """The parts that the settings ask for."""
    for name in site.settings.agent.parts:
        yield from PARTS[name](site)


def clock_piece(site: Site) -> tuple[Piece, ClockWatch]:
    """The part that every agent has: what follows the host's clock. Commands may block."""
    from collectors.clocks.watch import ClockSources, ClockWatch

    clock = site.settings.clock
    sources = ClockSources(
        chronyc=clock.chronyc or None,
        pmc=clock.pmc or None,
        ptp_log=clock.ptp_log or None,
        vouched_us=clock.vouched_us or None,
    )
    watch = ClockWatch(site.host, sources)
    return Piece(watch, bool(clock.chronyc or clock.pmc)), watch
