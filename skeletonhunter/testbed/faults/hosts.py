"""Issues of host boards, virtual switches, container runtimes and configurations (issues 12 to 19)."""

from __future__ import annotations

from skeletonhunter.testbed.agents import COLLECTOR
from skeletonhunter.testbed.effects import Crash, DeviceWarning, Effects, FlowView, Injection, PortLoad
from skeletonhunter.testbed.faults.site import Site, lasting
from skeletonhunter.testbed.intervals import log_uniform, recurring
from skeletonhunter.testbed.members import Member
from skeletonhunter.testbed.physics import AtMembers, Impairment, OnHops


def _host(site: Site) -> tuple[str, list[Member]]:
    """A host that communicates, and its members."""
    host = site.member().host
    busy = set(site.trains().src.tolist())
    return host, [member for member in site.world.on_host(host) if member.number in busy]


def _at(members: list[Member], share: float = 1.0, salt: int = 0, as_dst: bool = True) -> AtMembers:
    return AtMembers(frozenset(member.number for member in members), share=share, salt=salt, as_dst=as_dst)


def pcie_nic_error(site: Site) -> Injection:
    """A PCIe switch of the board runs degraded: all cards behind it are slow, the host holds back its senders."""
    host, members = _host(site)
    behind = [m for m in members if m.rail < 4] if site.chance(0.5) else members
    behind = behind or members
    where, when = _at(behind), lasting(site)
    delay = site.scaled(25.0, 300.0)
    degraded = site.chance(0.5)
    event = "pcie_degraded" if degraded else "pcie_error"
    text = "PCIe link at x4, 16 GT/s (expected x16)" if degraded else "AER: corrected errors, replay timer timeout"
    warnings = site.warn(DeviceWarning(site.start_s, host, f"host:{host}", event, text, severity="warning"))
    return Injection(
        what="pcie_nic_error",
        component=f"host:{host}",
        when=when,
        effects=Effects(impairments=(Impairment(where, when, delay_us=delay, spread=0.6),), warnings=warnings),
        endpoints=site.names(behind),
        notes={"delay_us": round(delay, 1), "rnics": len(behind)},
    )


def gpu_direct_rdma_error(site: Site) -> Injection:
    """GPUs can't reach the cards directly: data goes through host memory, where some probes start anyway."""
    host, members = _host(site)
    visible = site.chance(0.7)
    where, when = _at(members), lasting(site)
    delay = site.scaled(20.0, 120.0)
    warnings = site.warn(
        DeviceWarning(
            site.start_s, host, f"host:{host}", "gdr_error", "nvidia_peermem: registration failed", severity="warning"
        )
    )
    impairments = (Impairment(where, when, delay_us=delay, spread=0.4),) if visible else ()
    return Injection(
        what="gpu_direct_rdma_error",
        component=f"host:{host}",
        when=when,
        effects=Effects(impairments=impairments, warnings=warnings),
        probe_visible=visible,
        endpoints=site.names(members),
        notes={"delay_us": round(delay, 1)},
    )


def not_using_rdma(site: Site) -> Injection:
    """The virtual switch sends flows meant for RDMA over TCP: slow, in software, in both tables consistently."""
    host, members = _host(site)
    where, when = _at(members, as_dst=False), lasting(site)
    delay = 2.0 * 87.0 * site.scaled(0.7, 1.5)
    warnings = site.warn(
        DeviceWarning(
            site.start_s,
            host,
            f"vswitch:{host}",
            "rdma_fallback",
            "RDMA device not mapped, using TCP",
            severity="warning",
        )
    )
    return Injection(
        what="not_using_rdma",
        component=f"vswitch:{host}",
        when=when,
        effects=Effects(
            impairments=(Impairment(where, when, delay_us=delay, spread=0.35),),
            views=(FlowView(where, when, offloaded=False, in_rnic=False, path="software"),),
            transports=((where, when, "tcp"),),
            warnings=warnings,
        ),
        endpoints=site.touched(where),
        notes={"delay_us": round(delay, 1)},
    )


def repetitive_flow_offloading(site: Site) -> Injection:
    """Offloaded flows are invalidated and installed again and again: packets in between take the slow path."""
    host, members = _host(site)
    where, when = _at(members, as_dst=False), lasting(site)
    period = site.scaled(4.0, 0.8)
    misses = recurring((site.start_s, site.end_s), (0.2 * period, 0.6 * period), (0.3 * period, 0.8 * period), site.rng)
    hits = misses.gaps(site.start_s, site.end_s)
    views = (
        FlowView(where, misses, offloaded=True, in_rnic=False, path="software", period_s=period),
        FlowView(where, hits, offloaded=True, in_rnic=True, path="hardware", period_s=period),
    )
    return Injection(
        what="repetitive_flow_offloading",
        component=f"vswitch:{host}",
        when=when,
        effects=Effects(
            impairments=(Impairment(where, misses, delay_us=60.0 * site.scaled(0.8, 3.0), spread=0.5),), views=views
        ),
        endpoints=site.touched(where),
        notes={"period_s": round(period, 2)},
    )


def suboptimal_flow_offloading(site: Site) -> Injection:
    """The virtual switch offloads the wrong flows first: some of those in use stay in software, and it knows."""
    host, members = _host(site)
    share = float(site.rng.uniform(0.3, 0.7))
    when = lasting(site)
    where = next(w for salt in range(1, 99) if site.touched(w := _at(members, share, salt, as_dst=False)))
    delay = 60.0 * site.scaled(0.7, 2.5)
    return Injection(
        what="suboptimal_flow_offloading",
        component=f"vswitch:{host}",
        when=when,
        effects=Effects(
            impairments=(Impairment(where, when, delay_us=delay, spread=0.5),),
            views=(FlowView(where, when, offloaded=False, in_rnic=False, path="software"),),
        ),
        endpoints=site.touched(where),
        notes={"delay_us": round(delay, 1), "share": round(share, 2)},
    )


def container_crash(site: Site) -> Injection:
    """A container dies with its sidecar; the scheduler learns of it some time later."""
    container = site.member().container
    members = [m for m in site.world.members if m.container == container]
    where, when = _at(members), lasting(site)
    known_s = min(site.start_s + log_uniform(site.rng, 5.0, 60.0), site.end_s)
    warnings = site.warn(
        DeviceWarning(site.start_s, members[0].host, f"container:{container}", "container_exit", "exit code 137")
    )
    return Injection(
        what="container_crash",
        component=f"container:{container}",
        when=when,
        effects=Effects(
            impairments=(Impairment(where, when, drop=1.0),),
            crashes=(Crash(container, site.start_s, known_s, site.end_s),),
            warnings=warnings,
        ),
        endpoints=site.names(members),
        notes={"known_s": round(known_s, 1)},
    )


def hugepage_misconfiguration(site: Site) -> Injection:
    """The host's page size disagrees with the card's registration: every transfer pays for it."""
    host, members = _host(site)
    where, when = _at(members), lasting(site)
    delay = site.scaled(15.0, 80.0)
    warnings = site.warn(
        DeviceWarning(
            site.start_s,
            host,
            f"config:{host}",
            "hugepage_mismatch",
            "HugePages_Total 0, expected 1024 of 2 MiB",
            severity="warning",
        )
    )
    return Injection(
        what="hugepage_misconfiguration",
        component=f"config:{host}",
        when=when,
        effects=Effects(impairments=(Impairment(where, when, delay_us=delay, spread=0.3),), warnings=warnings),
        endpoints=site.names(members),
        notes={"delay_us": round(delay, 1)},
    )


def congestion_control_misconfiguration(site: Site) -> Injection:
    """A queue without congestion control: under load it grows until it pauses its neighbours, and marks nothing."""
    hop = _egress(site)
    port = site.world.fabric.port_of(hop)
    when, where = lasting(site), OnHops(frozenset({hop}))
    busy = recurring((site.start_s, site.end_s), (2.0, 8.0), (1.0, 6.0), site.rng)
    warnings = site.warn(
        DeviceWarning(
            site.start_s,
            COLLECTOR,
            f"config:{port}",
            "cc_disabled",
            f"{port}: ECN profile missing on queue 3",
            severity="warning",
        ),
        chance=0.5,
    )
    return Injection(
        what="congestion_control_misconfiguration",
        component=f"config:{port}",
        when=when,
        effects=Effects(loads=(PortLoad(hop, busy, site.scaled(0.9, 1.1)),), no_ecn=((hop, when),), warnings=warnings),
        endpoints=site.touched(where),
    )


def congestion(site: Site) -> Injection:
    """Incast or other tenants' traffic on a port that is configured as it should be: no fault."""
    hop = _egress(site)
    port = site.world.fabric.port_of(hop)
    busy = recurring((site.start_s, site.end_s), (3.0, 12.0), (1.0, 8.0), site.rng)
    return Injection(
        what="congestion",
        component=f"port:{port}",
        when=busy,
        kind="congestion",
        effects=Effects(loads=(PortLoad(hop, busy, site.scaled(1.0, 1.3)),)),
        endpoints=site.touched(OnHops(frozenset({hop}))),
    )


def _egress(site: Site) -> int:
    """A hop that leaves a switch and that flows cross."""
    trains = site.trains()
    used = sorted(set(site.world.paths.there[trains.path].ravel().tolist()) - {-1})
    fabric = site.world.fabric
    hop: int = site.pick(hop for hop in used if fabric.kinds[fabric.port_of(hop).rpartition("/")[0]] != "rnic")
    return hop
