"""Kernel lines about PCI Express, the IOMMU and GPU Direct.

A slot that trained narrower than the card can is told with the port that limits it, which is the board's matter (W05):
both are named; one that is only slower than it can be is ``info``. Corrected errors are counted by the kernel and cost
a retry each: ``info``; uncorrected ones lose data, fatal ones the card. Lines of devices that are no RNIC, nor a bridge
above one, are of no interest (``known_only``).
"""

from __future__ import annotations

import re

from collectors.events.notices import Severity
from collectors.events.rules import MLX5, NIC_DRIVERS, PCI, Rule, rule

_GRADES: dict[str, Severity] = {
    "corrected": "info",
    "correctable": "info",
    "uncorrected (fatal)": "error",
    "uncorrectable (fatal)": "error",
    "fatal": "error",
}
_GRADE = r"(?P<grade>(?:Unc|C)orrect(?:ed|able)(?: \((?:Non-)?Fatal\))?|(?:Non-)?Fatal)"
_LIMITED = (
    r": (?P<available_gbps>[\d.]{1,12}) Gb/s available PCIe bandwidth, limited by (?P<speed>[\d.]{1,6} GT/s)"
    r"(?: PCIe)? x(?P<width>\d{1,2})"
    r" link at (?P<limited_by>[0-9a-f:.]{7,16}) \(capable of (?P<capable_gbps>[\d.]{1,12}) Gb/s"
    r" with (?P<capable_speed>[\d.]{1,6} GT/s)(?: PCIe)? x"
)
_NARROW = _LIMITED + r"(?P<capable_width>\d{1,2}) link\)"
_SLOW = _LIMITED + r"(?P<capable_width>(?P=width)) link\)"
"""As wide as it can be, but slower: links slow down when nothing moves, so a single look proves nothing."""


def _known(pattern: str, code: str, severity: Severity = "warning") -> Rule:
    """A rule that counts for RNICs and the bridges above them only."""
    return Rule(pattern=re.compile(pattern), code=code, severity=severity, about="pci", known_only=True)


def _graded(pattern: str) -> Rule:
    return Rule(
        pattern=re.compile(pattern), code="pcie_error", about="pci", known_only=True, by_group=("grade", _GRADES)
    )


PCIE_RULES: tuple[Rule, ...] = (
    _known("(?:pci|" + NIC_DRIVERS + ") " + PCI + _SLOW, "pcie_degraded", "info"),
    rule(NIC_DRIVERS + " " + PCI + _NARROW, "pcie_degraded"),
    _known("pci " + PCI + _NARROW, "pcie_degraded"),
    rule(PCI + r": [\d.]{1,12} Gb/s available PCIe bandwidth \(", None),
    rule(MLX5 + r":.*Detected insufficient power on the PCIe slot \((?P<watts>\d{1,4})W\)", "pcie_error"),
    _graded(r"AER: (?:Multiple )?" + _GRADE + r" error (?:message )?received(?::| from) " + PCI),
    _graded(PCI + r": (?:AER: )?PCIe Bus Error: severity=" + _GRADE + r", type=(?P<layer>[^,]{1,40})"),
    _known(PCI + r": (?:AER: )?(?:can't recover|device recovery failed)", "pcie_error", "error"),
    _known(PCI + r": DPC: (?:containment event|.*ERR_FATAL)", "pcie_error", "error"),
    _known(PCI + r": (?:pciehp: )?Slot\([^)]{1,16}\): (?:Card not present|Link Down)", "rnic_missing", "error"),
    _known(
        r"(?:DMAR: .*Request device \[|AMD-Vi: .*IO_PAGE_FAULT (?:device=|.*domain=.*device=))"
        r"(?P<pci>\b(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])",
        "pcie_error",
    ),
    rule(NIC_DRIVERS + " " + PCI + r": AMD-Vi: Event logged \[IO_PAGE_FAULT", "pcie_error"),
    rule(r"nvidia[-_]peermem: (?:module verification failed|module license)", None),
    rule(
        r"(?:nvidia[-_]peermem|nv_peer_mem|nvidia_p2p)\b.*(?:[Ee]rror|ERROR|[Ff]ail|invalid)",
        "gdr_error",
        "warning",
        "host",
    ),
    rule(
        PCI + r":\s+(?:AER: )?(?:device \[[0-9a-f:]+\] error status|\[ ?\d+\] |TLP Header|broadcast |device"
        r" recovery successful)",
        None,
    ),
)
