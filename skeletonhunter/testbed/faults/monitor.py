"""Troubles of the monitor itself: agents that crash or starve, clocks that lie, collectors with gaps."""

from __future__ import annotations

from skeletonhunter.testbed.agents import COLLECTOR
from skeletonhunter.testbed.effects import AgentState, ClockShift, DeviceWarning, Effects, Injection, Silence
from skeletonhunter.testbed.faults.site import Site, lasting
from skeletonhunter.testbed.physics import AtMembers, Impairment


def agent_missing(site: Site) -> Injection:
    """A probing sidecar dies: it neither probes nor answers, the job goes on."""
    container = site.member().container
    members = [m for m in site.world.members if m.container == container]
    when = lasting(site)
    answering = AtMembers(frozenset(m.number for m in members), as_src=False)
    warnings = site.warn(
        DeviceWarning(site.start_s, members[0].host, f"agent:{container}", "agent_exit", "sidecar killed"), chance=0.4
    )
    return Injection(
        what="agent_missing",
        component=f"agent:{container}",
        when=when,
        kind="monitor",
        effects=Effects(
            silences=(Silence(container, when),), mute=(Impairment(answering, when, drop=1.0),), warnings=warnings
        ),
        endpoints=site.names(members),
    )


def agent_starved(site: Site) -> Injection:
    """A sidecar gets too little CPU: probes are sent late or not at all, and answered late."""
    container = site.member().container
    members = [m for m in site.world.members if m.container == container]
    when = lasting(site)
    state = AgentState(
        agent=container,
        when=when,
        state="starved" if site.chance(0.7) else "throttled",
        not_sent=site.scaled(0.1, 0.7),
        delay_us=site.scaled(200.0, 5_000.0),
    )
    return Injection(
        what="agent_starved",
        component=f"agent:{container}",
        when=when,
        kind="monitor",
        effects=Effects(agents=(state,)),
        endpoints=site.names(members),
        notes={"delay_us": round(state.delay_us), "not_sent": round(state.not_sent, 2)},
    )


def clock_bad(site: Site) -> Injection:
    """A host's clock steps away or runs off; it says so, or not."""
    member = site.member()
    when = lasting(site)
    step = site.chance(0.6)
    sign = 1.0 if site.chance(0.5) else -1.0
    shift = ClockShift(
        machine=member.host,
        when=when,
        offset_us=sign * site.scaled(0.5e6, 20e6) if step else 0.0,
        drift_us_s=0.0 if step else sign * site.scaled(2e4, 2e5),
        admits=site.chance(0.5),
    )
    text = f"clock stepped by {shift.offset_us / 1e6:.1f} s" if step else "PTP offset grows"
    warnings = site.warn(
        DeviceWarning(site.start_s, member.host, f"clock:{member.host}", "clock_step", text, severity="warning"),
        chance=0.5,
    )
    return Injection(
        what="clock_bad",
        component=f"clock:{member.host}",
        when=when,
        kind="monitor",
        effects=Effects(clocks=(shift,), warnings=warnings),
        endpoints=site.names(site.world.on_host(member.host)),
        notes={"step": step, "admits": shift.admits},
    )


def collector_gap(site: Site) -> Injection:
    """A collector sends nothing for a while, or all of it much later."""
    when = lasting(site)
    switches = site.chance(0.5)
    member = site.member()
    agent = COLLECTOR if switches else member.host
    topic = "switch-queues" if switches else str(site.pick(["rnic-counters", "flow-tables"]))
    late_s = site.scaled(15.0, 40.0) if site.chance(0.4) else None
    endpoints = () if switches else site.names(site.world.on_host(member.host))
    return Injection(
        what="collector_gap",
        component=f"agent:{agent}",
        when=when,
        kind="monitor",
        effects=Effects(silences=(Silence(agent, when, topic, late_s=late_s),)),
        endpoints=endpoints,
        notes={"topic": topic, "late_s": late_s},
    )
