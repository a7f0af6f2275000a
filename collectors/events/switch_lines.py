"""Syslog lines of switches: SONiC, EOS, IOS and IOS XR, NX-OS, Junos. The port's name is the switch's own.

A storm that the watchdog detects comes from what is attached to the port, as the port received the pauses (field case
S03).
"""

from __future__ import annotations

import re

from collectors.events.rules import Rule, rule

_PORT = r"(?P<port>[A-Za-z][\w/.:-]{0,63}?)"
_LINEPROTO = r"%(?:PKT_INFRA-)?LINEPROTO-\d-UPDOWN ?: Line protocol on Interface "
_LINK = r"%(?:PKT_INFRA-)?LINK-\d-(?:UPDOWN|CHANGED) ?: Interface "

SWITCH_RULES: tuple[Rule, ...] = (
    rule(r"Port " + _PORT + r" oper state set from \w+ to down\b", "port_down", "error", "port"),
    rule(r"Port " + _PORT + r" oper state set from \w+ to up\b", "port_up", "info", "port"),
    rule(
        _LINEPROTO + _PORT + r"(?: \([^)]{0,128}\))?, changed state to [Dd]own",
        "port_down",
        "error",
        "port",
    ),
    rule(
        _LINEPROTO + _PORT + r"(?: \([^)]{0,128}\))?, changed state to [Uu]p",
        "port_up",
        "info",
        "port",
    ),
    rule(_LINK + _PORT + r", changed state to [Dd]own", "port_down", "error", "port"),
    rule(_LINK + _PORT + r", changed state to [Uu]p", "port_up", "info", "port"),
    rule(r"%ETHPORT-\d-IF_DOWN_\w+:.*Interface " + _PORT + r" is down", "port_down", "error", "port"),
    rule(r"%ETHPORT-\d-IF_UP:.*Interface " + _PORT + r" is up", "port_up", "info", "port"),
    rule(r"SNMP_TRAP_LINK_DOWN:.*ifName " + _PORT + r"$", "port_down", "error", "port"),
    rule(r"SNMP_TRAP_LINK_UP:.*ifName " + _PORT + r"$", "port_up", "info", "port"),
    rule(r"SNMP_TRAP_LINK_DOWN: .*\binterface-name=\"" + _PORT + r"\"", "port_down", "error", "port"),
    rule(r"SNMP_TRAP_LINK_UP: .*\binterface-name=\"" + _PORT + r"\"", "port_up", "info", "port"),
    Rule(
        pattern=re.compile(r"PFC Watchdog detected PFC storm on port " + _PORT + r", queue index (?P<queue>\d{1,3})"),
        code="pfc_storm",
        severity="error",
        about="port",
        constants={"source": "peer"},
    ),
    Rule(
        pattern=re.compile(r"PFC Watchdog storm restored on +port " + _PORT + r", queue index (?P<queue>\d{1,3})"),
        code="pfc_storm",
        severity="info",
        about="port",
        constants={"restored": True},
    ),
    rule(
        r"User requested (?:re)?boot|%SYS-\d-(?:RELOAD|RESTART|SYSTEM_RESTART)|System is rebooting"
        r"|%PLATFORM-2-PFM_SYSTEM_RESET",
        "switch_reboot",
        "error",
        "switch",
    ),
)
