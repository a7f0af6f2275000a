"""Issues of RNICs: hardware, firmware, ports, offloading, bonds, GIDs (issues 5 to 11)."""

from __future__ import annotations

from skeletonhunter.testbed.agents import COLLECTOR
from skeletonhunter.testbed.effects import DeviceWarning, Effects, FlowView, Injection
from skeletonhunter.testbed.faults.site import Site, lasting
from skeletonhunter.testbed.intervals import Intervals, always, recurring
from skeletonhunter.testbed.members import Member, gid_of
from skeletonhunter.testbed.physics import AtMembers, Impairment, OnPairs, Place

SOFTWARE_US = 70.0
"""What the software path adds to the RTT of a flow (the paper's Figure 18: 83 us instead of 13)."""


def _injection(
    site: Site, what: str, member: Member, where: Place, when: Intervals, effects: Effects, **notes: object
) -> Injection:
    return Injection(
        what=what,
        component=f"rnic:{member.node}",
        when=when,
        effects=effects,
        endpoints=site.touched(where),
        notes=notes,
    )


def _at(member: Member, share: float = 1.0, salt: int = 0) -> AtMembers:
    return AtMembers(frozenset({member.number}), share=share, salt=salt)


def _leaf_sees(site: Site, member: Member, event: str) -> tuple[DeviceWarning, ...]:
    port = member.switch_port
    return site.warn(
        DeviceWarning(
            site.start_s,
            COLLECTOR,
            f"port:{port}",
            event,
            f"{port}: link down, remote fault",
            values={"fault": "remote"},
        )
    )


def rnic_hardware_failure(site: Site) -> Injection:
    """The card is dead: nothing passes, its counters can't be read, it does not show its table."""
    member = site.member()
    where, when = _at(member), lasting(site)
    warnings = site.warn(
        DeviceWarning(
            site.start_s,
            member.host,
            f"rnic:{member.node}",
            "rnic_missing",
            f"{member.rnic}: device lost, health poll failed",
        )
    )
    effects = Effects(
        impairments=(Impairment(where, when, drop=1.0),),
        unreadable=((frozenset({member.number}), when),),
        frozen_tables=((member.node, when),),
        warnings=warnings + _leaf_sees(site, member, "port_down"),
    )
    return _injection(site, "rnic_hardware_failure", member, where, when, effects)


def rnic_firmware_unresponsive(site: Site) -> Injection:
    """Firmware slows some of the card's flows and takes long to answer."""
    member = site.member()
    share = float(site.rng.uniform(0.35, 0.8))
    where = _busy_share(site, member, share)
    when = lasting(site)
    delay = site.scaled(60.0, 800.0)
    effects = Effects(
        impairments=(Impairment(where, when, delay_us=delay, spread=0.9),),
        frozen_tables=((member.node, when),) if site.chance(0.6) else (),
        warnings=site.warn(
            DeviceWarning(
                site.start_s,
                member.host,
                f"rnic:{member.node}",
                "fw_health",
                f"{member.rnic}: command timed out",
                severity="warning",
            )
        ),
    )
    return _injection(site, "rnic_firmware_unresponsive", member, where, when, effects, delay_us=round(delay, 1))


def _busy_share(site: Site, member: Member, share: float) -> Place:
    """Part of a member's flows, at least one of them in use."""
    for salt in range(1, 50):
        where = _at(member, share, salt)
        if site.touched(where):
            return where
    return _at(member)


def rnic_port_down(site: Site) -> Injection:
    """The card's port is down for good; the leaf's port sees a remote fault."""
    member = site.member()
    where, when = _at(member), lasting(site)
    warnings = site.warn(
        DeviceWarning(
            site.start_s,
            member.host,
            f"rnic:{member.node}",
            "port_down",
            f"{member.rnic}: link down, local fault",
            values={"fault": "local"},
        )
    )
    effects = Effects(
        impairments=(Impairment(where, when, drop=1.0),), warnings=warnings + _leaf_sees(site, member, "port_down")
    )
    return _injection(site, "rnic_port_down", member, where, when, effects)


def rnic_port_flapping(site: Site) -> Injection:
    """The card's port goes up and down."""
    member = site.member()
    where = _at(member)
    when = recurring((site.start_s, site.end_s), (0.1, site.scaled(0.3, 1.2)), (0.8, 4.0), site.rng)
    warnings: tuple[DeviceWarning, ...] = ()
    for down, up in zip(when.start_s.tolist(), when.end_s.tolist(), strict=True):
        for event, at in (("port_down", down), ("port_up", up)):
            text = f"{member.rnic}: {event.replace('_', ' ')}, local fault"
            warnings += site.warn(DeviceWarning(at, member.host, f"rnic:{member.node}", event, text), chance=0.25)
    effects = Effects(impairments=(Impairment(where, when, drop=1.0),), warnings=warnings)
    return _injection(site, "rnic_port_flapping", member, where, when, effects, flaps=len(when.start_s))


def offloading_failure(site: Site) -> Injection:
    """Flows that the virtual switch holds for offloaded are not in the card: they take the software path.

    Either some flows whose counters were no longer refreshed were invalidated as idle, or the card takes no new
    encapsulation rules at all.
    """
    member = site.member()
    stale = site.chance(0.6)
    when = lasting(site)
    trains = site.trains()
    mine = [(s, d) for s, d in zip(trains.src.tolist(), trains.dst.tolist(), strict=True) if s == member.number]
    kept = max(1, round(len(mine) * float(site.rng.uniform(0.1, 0.5)))) if stale else len(mine)
    chosen = frozenset(mine[n] for n in site.rng.permutation(len(mine))[:kept].tolist())
    both = chosen | {(d, s) for s, d in chosen}
    delay = SOFTWARE_US * site.scaled(0.6, 3.0)
    warnings = () if stale else _refusal(site, member)
    effects = Effects(
        impairments=(Impairment(OnPairs(both), when, drop=site.scaled(1e-4, 5e-3), delay_us=delay, spread=0.55),),
        views=(
            FlowView(
                OnPairs(chosen),
                when,
                offloaded=True,
                in_rnic=False,
                path="software",
                frozen_s=site.start_s - 10.0 if stale else None,
            ),
        ),
        warnings=warnings,
    )
    variant = "stale" if stale else "refused"
    return _injection(site, "offloading_failure", member, OnPairs(both), when, effects, variant=variant, flows=kept)


def _refusal(site: Site, member: Member) -> tuple[DeviceWarning, ...]:
    """The kernel may say that a rule was not taken."""
    text = f"{member.rnic}: tc rule not offloaded"
    device = f"rnic:{member.node}"
    warning = DeviceWarning(site.start_s, member.host, device, "offload_disabled", text, severity="warning")
    return site.warn(warning, chance=0.4)


def bond_error(site: Site) -> Injection:
    """The card's two ports can't be bonded: all flows, or those of one port, go nowhere."""
    member = site.member()
    whole = site.chance(0.6)
    where = _at(member) if whole else _busy_share(site, member, 0.5)
    when = lasting(site)
    event = "bond_failed" if whole else "bond_degraded"
    warnings = site.warn(
        DeviceWarning(
            site.start_s,
            member.host,
            f"rnic:{member.node}",
            event,
            f"bond of {member.rnic}: aggregator mismatch",
            severity="error" if whole else "warning",
        )
    )
    effects = Effects(impairments=(Impairment(where, when, drop=1.0),), warnings=warnings)
    return _injection(site, "bond_error", member, where, when, effects, whole=whole)


def gid_change(site: Site) -> Injection:
    """The network service was restarted: the card's GID is another one than its peers know."""
    member = site.member()
    where, when = _at(member), always(site.start_s, site.end_s)
    a, b, c, d = member.ip.split(".")
    gid = gid_of(f"{a}.{int(b) + 64}.{c}.{d}")
    warnings = site.warn(
        DeviceWarning(
            site.start_s,
            member.host,
            f"rnic:{member.node}",
            "gid_changed",
            f"{member.rnic}: GID index 3 is now {gid}",
            severity="warning",
            values={"endpoint": member.endpoint, "gid": gid},
        )
    )
    effects = Effects(
        impairments=(Impairment(where, when, drop=1.0),), gids=((member.number, when, gid),), warnings=warnings
    )
    return _injection(site, "gid_change", member, where, when, effects)
