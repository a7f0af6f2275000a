"""How is one kind of line recognised, and what is made of it? A pattern, a code, a severity, and what it is about.

``subject`` names the kind of thing and the pattern's group that holds its name. Groups become values, numbers as
numbers; ``constants`` are added. ``severity`` may depend on a group (``by_group``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from collectors.events.devices import PCI_ADDRESS
from collectors.events.notices import Line, Notice, Severity, Subject, SubjectKind, Value

PCI = rf"(?P<pci>{PCI_ADDRESS})"
NIC_DRIVERS = (
    r"(?:mlx5_core|mlx4_core|mlx4_en|mlx5_ib|bnxt_en|bnxt_re|ice|irdma|i40e|idpf|efa|ena|hfi1|qede|qedr|ionic"
    r"|hns3|erdma)"
)


MLX5_FUNCTION = r"\b(?:mlx5_\w{1,40}|wait_func|poll_health|print_health_info|port_module)(?=:\d{1,6}:)"
"""What stands at the head of an mlx5 line whose driver and address were cut off."""

MLX5 = r"(?:\bmlx5_core(?: " + PCI + r")?|" + MLX5_FUNCTION + ")"
"""Monitors and people cut driver and address off; what is said then is of the host, whose card is not told."""


class Rule(Struct, frozen=True, kw_only=True):
    """One kind of line; ``code`` None: known to be harmless."""

    pattern: re.Pattern[str]
    code: str | None
    severity: Severity = "warning"
    about: SubjectKind = "host"
    known_only: bool = False
    constants: Mapping[str, Value] = {}
    by_group: tuple[str, Mapping[str, Severity]] | None = None

    def notice(self, found: re.Match[str], line: Line) -> Notice | None:
        """What a line of this kind says; None: nothing that matters."""
        if self.code is None:
            return None
        groups = {name: value for name, value in found.groupdict().items() if value is not None}
        name = groups.get(self.about, "")
        severity = self.severity
        if self.by_group is not None:
            severity = self.by_group[1].get(groups.get(self.by_group[0], "").lower(), severity)
        values: dict[str, Value] = {key: _value(key, value) for key, value in groups.items()}
        return Notice(
            code=self.code,
            severity=severity,
            subject=Subject(self.about, name, self.known_only),
            text=line.text,
            values={**values, **self.constants},
        )


def _value(name: str, text: str) -> Value:
    """A number where the text is one (names of devices stay text)."""
    if name in ("pci", "limited_by", "netdev", "port", "member", "version"):
        return text
    if text.isascii() and text.isdecimal() and len(text) < 16:
        return int(text)
    try:
        return float(text) if re.fullmatch(r"\d{1,9}\.\d{1,9}", text) else text
    except ValueError:
        return text


def rule(pattern: str, code: str | None, severity: Severity = "warning", about: SubjectKind = "pci") -> Rule:
    """A rule about a PCI device, unless something else is said."""
    return Rule(pattern=re.compile(pattern), code=code, severity=severity, about=about)


def means(
    pattern: str, code: str, meaning: str = "", severity: Severity = "warning", about: SubjectKind = "container"
) -> Rule:
    """A rule about what a job's library says, with what that means."""
    constants = {"meaning": meaning} if meaning else {}
    return Rule(pattern=re.compile(pattern), code=code, severity=severity, about=about, constants=constants)
