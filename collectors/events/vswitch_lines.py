"""Lines of Open vSwitch's daemon and of systemd about it.

A flow that could not be offloaded goes through software from then on (field cases F01, F02). "Dropped N log messages"
means that counts of such lines are lower bounds. What the daemon says at INFO is its daily work.
"""

from __future__ import annotations

import re

from collectors.events.rules import Rule, rule

VSWITCH_RULES: tuple[Rule, ...] = (
    rule(
        r"failed to offload flow: (?P<reason>[^:]{1,120})(?:: (?P<port>\S{1,64}))?",
        "offload_disabled",
        "warning",
        "vswitch",
    ),
    rule(r"flow_put: (?P<reason>.{1,120} not supported)", "offload_disabled", "warning", "vswitch"),
    rule(
        r"(?P<port>\S{1,64}): rte_flow creation failed: (?P<error>\d{1,5}) \((?P<reason>.{1,120})\)\.?$",
        "offload_disabled",
        "warning",
        "vswitch",
    ),
    rule(r"Flow API Disabled", "offload_disabled", "warning", "vswitch"),
    Rule(
        pattern=re.compile(r"Dropped (?P<at_least>\d{1,12}) log messages in last (?P<seconds>\d{1,9}) seconds"),
        code="unknown",
        severity="info",
        about="vswitch",
        constants={"lower_bound": True},
    ),
    rule(r"ovs-vswitchd \(Open vSwitch\) (?P<version>\d[\d.]{0,16})", "vswitch_restart", "warning", "vswitch"),
    rule(r"(?:\d+ crashes: )?pid \d+ died, (?P<reason>[^,]{1,80})", "vswitch_restart", "error", "vswitch"),
    rule(r"Unreasonably long (?P<stall_ms>\d{1,12})ms poll interval", "unknown", "warning", "vswitch"),
)

UNIT_RULES: tuple[Rule, ...] = (
    rule(
        r"(?:ovs-vswitchd|openvswitch(?:-switch)?)\.service: (?:Main process exited|Failed with|Scheduled restart)",
        "vswitch_restart",
        "error",
        "vswitch",
    ),
    rule(
        r"(?:Stopped|Stopping|Started) (?:ovs-vswitchd\.service - )?Open vSwitch Forwarding Unit",
        "vswitch_restart",
        "warning",
        "vswitch",
    ),
)
"""What systemd says of it."""
