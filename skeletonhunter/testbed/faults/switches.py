"""Issues of switches: corrupted packets, ports that are down or flap, switches that are gone (issues 1 to 4)."""

from __future__ import annotations

from skeletonhunter.testbed.agents import COLLECTOR
from skeletonhunter.testbed.effects import DeviceWarning, Effects, Injection, Silence
from skeletonhunter.testbed.faults.site import Site, lasting
from skeletonhunter.testbed.intervals import always, log_uniform, recurring
from skeletonhunter.testbed.paths import Epoch
from skeletonhunter.testbed.physics import Impairment, OnHops


def crc_error(site: Site) -> Injection:
    """A fibre corrupts packets in one direction (or both): loss, checksum errors where they are received."""
    hop = site.hop("any")
    both = site.chance(0.3)
    hops = frozenset({hop, hop ^ 1} if both else {hop})
    drop = site.scaled(0.002, 0.05)
    when = lasting(site)
    link = site.world.fabric.links[hop // 2]
    far = site.world.fabric.far_port_of(hop)
    return Injection(
        what="crc_error",
        component=f"link:{link.id}",
        when=when,
        effects=Effects(
            impairments=(Impairment(OnHops(hops), when, drop=drop),),
            corrupting=tuple((each, when, drop) for each in sorted(hops)),
            warnings=site.warn(
                DeviceWarning(
                    site.start_s, COLLECTOR, f"port:{far}", "crc_errors", f"FCS errors on {far}", severity="warning"
                ),
                chance=0.4,
            ),
        ),
        endpoints=site.touched(OnHops(hops)),
        notes={"drop": round(drop, 5), "both_directions": both},
    )


def switch_port_down(site: Site) -> Injection:
    """A port of a switch stops: of an access link with loss of carrier, or of an uplink that keeps its light."""
    access = site.chance(0.6)
    hop = site.hop("access" if access else "uplink")
    hop = hop if not access or site.world.fabric.port_of(hop).startswith("leaf") else hop ^ 1
    port, far = site.world.fabric.port_of(hop), site.world.fabric.far_port_of(hop)
    where, when = OnHops(frozenset({hop, hop ^ 1})), lasting(site)
    warnings = site.warn(
        DeviceWarning(
            site.start_s,
            COLLECTOR,
            f"port:{port}",
            "port_down",
            f"{port}: link down, local fault",
            values={"fault": "local"},
        )
    )
    if access:
        host, _, rnic = far.rpartition("/")[0].rpartition("/")
        warnings += site.warn(
            DeviceWarning(
                site.start_s,
                host,
                f"rnic:{host}/{rnic}",
                "port_down",
                f"{rnic}: carrier lost, remote fault",
                values={"fault": "remote"},
            )
        )
    return Injection(
        what="switch_port_down",
        component=f"port:{port}",
        when=when,
        effects=Effects(impairments=(Impairment(where, when, drop=1.0),), warnings=warnings),
        endpoints=site.touched(where),
        notes={"carrier_lost": access},
    )


def switch_port_flapping(site: Site) -> Injection:
    """A port of a switch goes up and down: trains lose the part that falls into a gap."""
    hop = site.hop("any")
    hop = hop if site.world.fabric.port_of(hop).startswith(("leaf", "spine", "core")) else hop ^ 1
    port = site.world.fabric.port_of(hop)
    where = OnHops(frozenset({hop, hop ^ 1}))
    when = recurring((site.start_s, site.end_s), (0.1, site.scaled(0.3, 1.2)), (0.8, 4.0), site.rng)
    warnings = sum(
        (
            site.warn(
                DeviceWarning(at, COLLECTOR, f"port:{port}", event, f"{port}: {event.replace('_', ' ')}"), chance=0.25
            )
            for down, up in zip(when.start_s.tolist(), when.end_s.tolist(), strict=True)
            for event, at in (("port_down", down), ("port_up", up))
        ),
        (),
    )
    return Injection(
        what="switch_port_flapping",
        component=f"port:{port}",
        when=when,
        effects=Effects(impairments=(Impairment(where, when, drop=1.0),), warnings=warnings),
        endpoints=site.touched(where),
        notes={"flaps": len(when.start_s)},
    )


def switch_offline(site: Site) -> Injection:
    """A switch crashes or is upgraded: what crosses it is lost until its neighbours route around it (if they can)."""
    fabric = site.world.fabric
    wanted = "leaf" if site.chance(0.7) else "spine"
    trains = site.trains()
    crossed = sorted(set(site.world.paths.there[trains.path].ravel().tolist()) - {-1})
    nodes = {fabric.port_of(hop).rpartition("/")[0] for hop in crossed}
    switches = sorted(node for node in nodes if fabric.kinds[node] == wanted) or sorted(
        node for node in nodes if fabric.kinds[node] != "rnic"
    )
    switch = str(site.pick(switches))
    hops = frozenset(h for _, hop in fabric.around[switch] for h in (hop, hop ^ 1))
    when, where = lasting(site), OnHops(hops)
    noticed = site.start_s + log_uniform(site.rng, 8.0, 60.0)
    epochs = (Epoch(noticed, frozenset({switch})), Epoch(site.end_s + 5.0)) if noticed < site.end_s else ()
    component = f"switch:{switch}"
    warnings = site.warn(
        DeviceWarning(site.start_s, COLLECTOR, component, "switch_unreachable", f"{switch} does not answer")
    ) + site.warn(
        DeviceWarning(site.end_s, COLLECTOR, component, "switch_reboot", f"{switch} is up again", severity="warning")
    )
    return Injection(
        what="switch_offline",
        component=component,
        when=always(site.start_s, min(site.end_s, noticed) if wanted == "spine" else site.end_s),
        effects=Effects(
            impairments=(Impairment(where, when, drop=1.0),),
            epochs=epochs,
            warnings=warnings,
            silences=(Silence(COLLECTOR, when, "switch-queues", switch),),
        ),
        endpoints=site.touched(where),
        notes={"routed_around_s": round(noticed, 3) if epochs else None},
    )
