"""Which code does a line mean? The first rule that fits; nothing for lines that are none of ours.

A line is ours if a driver, program or switch of interest speaks. Of those, what no rule knows is kept as ``unknown``
with its text, if it was written at ``notice`` or worse, or sounds like trouble, or nobody says how bad it is. ``N
callbacks suppressed`` says that N more lines of that kind were not written: counts are lower bounds. Cost: 10 us for
a line of no interest, up to 100 us for one of a driver.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec.structs import replace

from collectors.events.job_lines import JOB_RULES
from collectors.events.nic_lines import NIC_RULES
from collectors.events.notices import Line, Notice, Severity, Subject, SubjectKind
from collectors.events.pcie_lines import PCIE_RULES
from collectors.events.rules import MLX5_FUNCTION, NIC_DRIVERS, PCI, Rule
from collectors.events.switch_lines import SWITCH_RULES, priority_of
from collectors.events.vswitch_lines import UNIT_RULES, VSWITCH_RULES

Source = Literal["host", "switch", "job"]
NOTICE = 5
_OURS = re.compile(
    rf"\b{NIC_DRIVERS} [0-9a-f]{{4,8}}:|NETDEV WATCHDOG|PCIe bandwidth|\bAER:|PCIe Bus Error|\bDPC:|pciehp|DMAR"
    rf"|AMD-Vi|peer_?mem"
    r"|nvidia_p2p|carrier$|link status|active interface|802\.3ad|callbacks suppressed|openvswitch|Open vSwitch"
    r"|ovs-vswitchd|link (?:dis)?connected|[Ll]ink (?:is )?(?:[Dd]own|[Uu]p)\b|mlx4_en: |\binfiniband \w{1,32}: "
    rf"|: probe of |\bmlx5_core: |{MLX5_FUNCTION}"
)
_KEPT = re.compile(rf"\b{NIC_DRIVERS} {PCI}|\binfiniband (?P<rdma>\w{{1,32}}): ")
_SUPPRESSED = re.compile(
    r"\b(?P<what>mlx\w+|ib_\w+|bnxt\w+|irdma\w+|ice\w*): (?P<at_least>\d{1,12}) callbacks suppressed"
)
_TROUBLE = re.compile(
    r"fail|err(?:or)?\b|warn|timed? ?out|timeout|reset|fatal|lost|down\b|insufficient|bad\b|invalid", re.I
)
# Who writes down commands that people gave: what they searched logs for has not happened.
_COMMAND_LOGGERS = frozenset(
    {"sudo", "su", "bash", "-bash", "snoopy", "auditd", "audispd", "cron", "CRON", "CROND", "crond"}
)
_HOST_RULES = (*NIC_RULES, *PCIE_RULES)


def classify(line: Line, source: Source = "host") -> Notice | None:
    """What a line says; None: nothing, or nothing of ours."""
    if source != "job" and line.program in _COMMAND_LOGGERS:
        return None
    if source == "switch":
        known, notice = _judge(SWITCH_RULES, line)
        return notice if known else _kept(_marked(line), "switch")
    if source == "job":
        return _first(JOB_RULES, line)
    if line.program == "ovs-vswitchd":
        return _first(VSWITCH_RULES, line) or _kept(line, "vswitch", line.priority is not None and line.priority <= 4)
    return _classify_host(line) if _OURS.search(line.text) is not None else None


def _classify_host(line: Line) -> Notice | None:
    """A line of the kernel, systemd or a network daemon."""
    if line.program == "systemd":
        return _first(UNIT_RULES, line)
    if found := _SUPPRESSED.search(line.text):
        return _suppressed(found, line)
    known, notice = _judge(_HOST_RULES, line)
    if known:
        return notice
    if found := _KEPT.search(line.text):
        return _unknown(line, Subject("pci", found["pci"]) if found["pci"] else Subject("rdma", found["rdma"]))
    return None


def _judge(rules: tuple[Rule, ...], line: Line) -> tuple[bool, Notice | None]:
    """(whether a rule fits, what it says)"""
    for each in rules:
        found = each.pattern.search(line.text)
        if found is not None:
            return True, each.notice(found, line)
    return False, None


def _first(rules: tuple[Rule, ...], line: Line) -> Notice | None:
    return _judge(rules, line)[1]


def _kept(line: Line, about: SubjectKind, loud: bool | None = None) -> Notice | None:
    """An unknown line of a program or switch of interest, if it is loud enough (None: by its priority)."""
    loud = line.priority is not None and line.priority <= 3 if loud is None else loud
    return _unknown(line, Subject(about)) if loud else None


def _marked(line: Line) -> Line:
    """The line with the priority of its vendor's mark, if syslog tells none."""
    return line if line.priority is not None else replace(line, priority=priority_of(line.text))


def _unknown(line: Line, subject: Subject) -> Notice | None:
    quiet = line.priority is not None and line.priority > NOTICE
    if quiet and _TROUBLE.search(line.text) is None:
        return None
    severity: Severity = "warning" if line.priority is not None and line.priority <= 4 else "info"
    return Notice(code="unknown", severity=severity, subject=subject, text=line.text)


def _suppressed(found: re.Match[str], line: Line) -> Notice:
    code = "fw_command_failed" if "cmd" in found["what"] else "unknown"
    values: dict[str, str | int | float | bool] = {
        "what": found["what"],
        "at_least": int(found["at_least"]),
        "lower_bound": True,
    }
    return Notice(code=code, severity="info", subject=Subject("host"), text=line.text, values=values)
