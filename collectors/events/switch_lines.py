"""Syslog lines of switches: SONiC, Cumulus and other Linux on mlxsw, EOS, IOS and IOS XR, NX-OS, Junos, OS10, Huawei,
H3C. The port's name is the switch's own.

A storm that the watchdog detects comes from what is attached to the port, as the port received the pauses (field case
S03).
"""

from __future__ import annotations

import re

from collectors.events.notices import Severity
from collectors.events.rules import Rule, rule

_PORT = r"(?P<port>[A-Za-z0-9][\w/.:-]{0,63}?)"
_JUNOS_UNIT = r"(?P<port>[a-z]{2}-[\d/:]{5,20})\.\d{1,5}"
_DOWN, _UP = r"(?:[Dd]own|DOWN)\b", r"(?:[Uu]p|UP)\b"
_CISCO = r"%(?:PKT_INFRA-)?"
_HUAWEI = r"%%\d\d\w{2,16}/\d/"
_LINUX = (
    r"\bmlxsw_\w{1,24} \S{4,32} " + _PORT + r": [Ll]ink (?:is )?",
    r"\b[\w-]{2,24} \S{4,32} (?P<port>swp\w{1,16}): [Ll]ink is ",
)
"""mlxsw's ports have any name; of other drivers only those that are no management's (``swp1``)."""


def _link(before: str, after: str = "", layer: str = "link") -> tuple[Rule, Rule]:
    """What a switch says of a link, before and after ``down`` or ``up``; ``protocol``: of what runs on it."""
    told: tuple[tuple[str, str, Severity], ...] = ((_DOWN, "port_down", "error"), (_UP, "port_up", "info"))
    down, up = (
        Rule(
            pattern=re.compile(before + word + after),
            code=code,
            severity=severity,
            about="port",
            constants={"layer": layer},
        )
        for word, code, severity in told
    )
    return down, up


def _traps(name: str) -> tuple[Rule, ...]:
    """What Junos says of a port, and also of each unit on it (``et-0/0/24:1.0``)."""
    return tuple(
        each
        for port, layer in ((_JUNOS_UNIT, "protocol"), (_PORT, "link"))
        for each in _link("SNMP_TRAP_LINK_", ":.*" + name.format(port), layer)
    )


_LINKS = (
    *_link(r"Port " + _PORT + r" oper state set from \w+ to "),
    *_link(_CISCO + r"LINEPROTO-\d-UPDOWN ?: Line protocol on Interface " + _PORT
           + r"(?: \([^)]{0,128}\))?, changed state to ", layer="protocol"),
    *_link(_CISCO + r"LINK-\d-(?:UPDOWN|CHANGED) ?: [Ii]nterface " + _PORT
           + r", changed state to (?:(?P<reason>[Aa]dministratively) )?"),
    rule(r"%ETHPORT-\d-IF_DOWN_\w+:.*Interface " + _PORT + r" is down", "port_down", "error", "port"),
    rule(r"%ETHPORT-\d-IF_UP:.*Interface " + _PORT + r" is up", "port_up", "info", "port"),
    *_traps(r"\bifName {}$"),
    *_traps(r"\binterface-name=\"{}\""),
    *_link(r"IFNET/\d/PHY_UPDOWN: .*?(?:interface |on |; )" + _PORT + r" (?:changed to|link status is|is) "),
    *_link(r"IFNET/\d/LINK_UPDOWN: .*?interface " + _PORT + r" (?:changed to|is) ", layer="protocol"),
    *_link(_HUAWEI + r"(?:IF_STATE|LINK_?STATE|LINKSTATUS|IF_DOWN|IF_UP)\(?.{0,40}?[Ii]nterface " + _PORT
           + r" (?:has )?turned into "),
    *_link(_HUAWEI + r"linkDown_\w+\(?.*ifName=" + _PORT + r",.*OperStatus=", layer="protocol"),
    rule(r"%IFM_OSTATE_DN: .*down :" + _PORT + r"$", "port_down", "error", "port"),
    rule(r"%IFM_OSTATE_UP: .*up :" + _PORT + r"$", "port_up", "info", "port"),
    *(each for driver in _LINUX for each in _link(driver)),
    *_link(r"\bnic_set_carrier: " + _PORT + r": setting kernel carrier: "),
    *_link(r"\blibnl: (?P<port>swp\w{1,16}), family \d+, ifi \d+, oper ", layer="protocol"),
    rule(r"^(?P<port>swp\w{1,16}|Ethernet[\d/]{1,16}): Lost carrier$", "port_down", "error", "port"),
    rule(r"^(?P<port>swp\w{1,16}|Ethernet[\d/]{1,16}): Gained carrier$", "port_up", "info", "port"),
)  # fmt: skip

_SEVERITY = re.compile(r"%[A-Z][A-Z0-9_]{1,40}(?:-[A-Z0-9_]{1,40}){0,2}-([0-7])-[A-Z]|%%\d\d\w{2,16}/([0-7])/")


def priority_of(text: str) -> int | None:
    """How bad a vendor's own mark says it is (``%MODULE-2-FAILED``, ``%%01IFNET/2/...``), as syslog's 0 to 7."""
    found = _SEVERITY.search(text)
    return int(found[1] or found[2]) if found else None


SWITCH_RULES: tuple[Rule, ...] = (
    *_LINKS,
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
