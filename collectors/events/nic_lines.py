"""Kernel lines of RDMA-capable network cards: mlx5 above all, and the same troubles as bnxt, ice, irdma and mlx4 tell
them.

Which line means what follows the catalogue of open cluster monitors (field case W02): health and command timeouts are
the firmware; a failed ACCESS_REG is a tool's noise; a module that overheats, draws too much or is unplugged is the
module's own trouble, whatever "Cable error" before it says; "limits exceeded" is a resource that an application used
up. Only the reasons that the driver knows are taken for a module's error; others are kept as ``unknown``.
"""

from __future__ import annotations

import re

from collectors.events.card_lines import CARD_RULES
from collectors.events.notices import Severity
from collectors.events.rules import MLX5, NIC_DRIVERS, PCI, Rule, rule

_NIC = NIC_DRIVERS + r" " + PCI
_SUBFUNCTION = r"(?:\.sf mlx5_core\.sf\.\d{1,6})?"
"""A part of a card that has no PCI address of its own."""

_REASONS = (
    r"Power budget exceeded|Long Range for non MLNX cable|Bus stuck ?\(I2C or data shorted\)|No EEPROM/retry timeout"
    r"|Enforce part number list|Unknown identifier|High Temperature|Bad or shorted cable/module"
    r"|Unknown (?:status|error)|One or more network ports have been powered down"
)

_FIRMWARE = (
    rule(
        MLX5 + r":.*\b(?P<command>[A-Z][A-Z0-9_]+)\(0x[0-9a-f]+\) (?:timeout\. Will cause a leak"
        r"|canceled on out of queue timeout)",
        "fw_health",
        "error",
    ),
    rule(MLX5 + r":.*\b(?P<command>[A-Z][A-Z0-9_]+)\(0x[0-9a-f]+\) recovered after timeout", "fw_health", "warning"),
    rule(MLX5 + r":.*device's health compromised - reached miss count", "fw_health", "error"),
    rule(MLX5 + r":.*\bsynd 0x0:", None),
    rule(MLX5 + r":.*\bsynd (?P<syndrome>0x[0-9a-f]+): (?P<meaning>High temperature)", "fw_health", "warning"),
    rule(MLX5 + r":.*\bsynd (?P<syndrome>0x[0-9a-f]+): (?P<meaning>[A-Za-z][^,;]{0,80})", "fw_health", "error"),
    rule(MLX5 + r".*\b(?:FW fatal|[Ff]atal error (?:\d+ )?detected|firmware internal error)", "fw_health", "error"),
    Rule(
        pattern=re.compile(MLX5 + r".*Health issue observed, (?P<issue>[^,]{0,80}), severity\(\d+\) (?P<level>[A-Z]+)"),
        code="fw_health",
        severity="error",
        about="pci",
        by_group=("level", {"warning": "warning", "notice": "info", "info": "info", "debug": "info"}),
    ),
    rule(MLX5 + r".*High temperature on sensors", "fw_health", "warning"),
    rule(MLX5 + r".*\bcmd_work_handler:.*failed to allocate command entry", "fw_health", "warning"),
    rule(
        r"NETDEV WATCHDOG: (?P<netdev>\S{1,32}) \(" + NIC_DRIVERS + r"\): transmit queue.*timed out",
        "fw_health",
        "warning",
        "netdev",
    ),
    rule(
        _NIC + r"(?: (?P<netdev>[^\s:]{1,32}))?: NETDEV WATCHDOG: .*transmit queue.*timed out", "fw_health", "warning"
    ),
    rule(_NIC + r".*\b(?:TX timeout (?:detected|on queue)|tx_timeout: )", "fw_health", "warning"),
    rule(_NIC + r".*\b(?:FW STALL Detected\. cmdq|cmdq\[0x[0-9a-f]+\]=0x[0-9a-f]+ timedout)", "fw_health", "error"),
    rule(
        _NIC + r".*(?:[Ff]irmware (?:fatal )?(?:error|exception)|[Ii]nternal error detected|FW (?:non-)?fatal"
        r"|[Ff]irmware not responding)",
        "fw_health",
        "error",
    ),
    rule(
        _NIC
        + r": .*(?:_load_one failed with error code|probe with driver \w{1,32} failed with error|enable hca failed)",
        "fw_health",
        "error",
    ),
    rule(NIC_DRIVERS + r": probe of " + PCI + r" failed with error", "fw_health", "error"),
    rule(MLX5 + r".*\bACCESS_REG\(0x[0-9a-f]+\) .*failed, status (?P<status>[^,(]{1,60})", "fw_command_failed", "info"),
    rule(
        MLX5 + r".*\b(?P<command>CREATE_[A-Z_]+)\(0x[0-9a-f]+\) .*failed, status limits exceeded\(0x8\)",
        "limits_exceeded",
    ),
)
_COMPLETIONS = (
    Rule(
        pattern=re.compile(r"infiniband (?P<rdma>\w{1,32}): .*\bWC error: 5, Message: (?P<reason>[\w -]{1,60})"),
        code="qp_error",
        severity="info",
        about="rdma",
        constants={"status": 5, "meaning": "flushed: a consequence"},
    ),
    rule(
        r"infiniband (?P<rdma>\w{1,32}): .*\bWC error: (?P<status>\d{1,3}), Message: (?P<reason>[\w -]{1,60})",
        "qp_error",
        "warning",
        "rdma",
    ),
    rule(
        r"infiniband (?P<rdma>\w{1,32}): .*\b(?:dump error cqe|(?:Requestor|Responder) error cqe)",
        "qp_error",
        "info",
        "rdma",
    ),
)
_MEMORY_REGIONS = rule(
    r"infiniband (?P<rdma>\w{1,32}): .*\basync reg mr failed\. status (?P<status>-?\d{1,5})",
    "fw_command_failed",
    "info",
    "rdma",
)
_RESETS = (
    rule(MLX5 + r".*(?:health recovery flow aborted|PCI reads still not working)", "rnic_missing", "error"),
    rule(MLX5 + r".*\bmlx5_pci_err_detected\b", "pcie_error", "warning"),
    rule(
        MLX5 + r".*(?:health recovery (?:succeeded|failed|flow)|handling bad device|enter_error_state|sync reset"
        r"|mlx5_error_sw_reset|mlx5_pci_slot_reset)",
        "rnic_reset",
        "error",
    ),
    rule(
        _NIC
        + r".*(?:\b(?:FW|HW|[Ff]irmware|device|PF|EMP|GLOB|CORE) ?[Rr]eset|[Rr]esetting|device is going to be reset)",
        "rnic_reset",
        "error",
    ),
    rule(
        _NIC + r".*(?:PCI slot (?:\d+ )?is unavailable|(?:pci|PCI) channel (?:is )?offline"
        r"|PCIe? device (?:is )?(?:lost|disconnected))",
        "rnic_missing",
        "error",
    ),
)
_MODULES = (
    rule(
        MLX5
        + r":.*Port module event\[error\]: module (?P<module>\d+), Cable error, (?P<reason>"
        + _REASONS
        + r")(?:$|\W)",
        "module_error",
    ),
    rule(MLX5 + r":.*Port module event: module (?P<module>\d+), Cable (?P<reason>unplugged)", "module_error"),
    rule(MLX5 + r":.*Port module event: module \d+, Cable plugged", None),
)
_NETDEV = _NIC + r"(?: (?P<netdev>[^\s:]{1,32}))?(?: \([^)]{0,64}\))?: (?:NIC )?[Ll]ink (?:is )?"
_RDMA_PORT = _NIC + r" (?P<rdma>\w{1,32}): Port: \d{1,3} Link "
"""What kernels from 6.14 on say of the port of an RDMA device, after its network device, if it has one."""


def _link(pattern: str, code: str, severity: Severity, layer: str) -> Rule:
    return Rule(pattern=re.compile(pattern), code=code, severity=severity, about="pci", constants={"layer": layer})


_LINKS = (
    _link(_NETDEV + "[Dd]own", "port_down", "error", "link"),
    _link(_NETDEV + "[Uu]p", "port_up", "info", "link"),
    _link(_RDMA_PORT + "DOWN", "port_down", "error", "rdma"),
    _link(_RDMA_PORT + "ACTIVE", "port_up", "info", "rdma"),
    rule(r"device \((?P<netdev>[^)\s]{1,32})\): (?:carrier: )?link disconnected", "port_down", "warning", "netdev"),
    rule(r"device \((?P<netdev>[^)\s]{1,32})\): (?:carrier: )?link connected", "port_up", "info", "netdev"),
    rule(
        NIC_DRIVERS + _SUBFUNCTION + r" (?P<netdev>[a-z][\w.-]{1,31}): (?:NIC )?[Ll]ink (?:is )?[Dd]own",
        "port_down",
        "error",
        "netdev",
    ),
    rule(
        NIC_DRIVERS + _SUBFUNCTION + r" (?P<netdev>[a-z][\w.-]{1,31}): (?:NIC )?[Ll]ink (?:is )?[Uu]p",
        "port_up",
        "info",
        "netdev",
    ),
    rule(r"mlx4_en: (?P<netdev>\S{1,32}): Link Down", "port_down", "warning", "netdev"),
    rule(r"mlx4_en: (?P<netdev>\S{1,32}): Link Up", "port_up", "info", "netdev"),
    rule(r"(?P<netdev>\S{1,32}): [Ll]ost carrier$", "port_down", "warning", "netdev"),
    rule(r"(?P<netdev>\S{1,32}): [Gg]ained carrier$", "port_up", "info", "netdev"),
)
_BONDS = (
    Rule(
        pattern=re.compile(MLX5 + r":? .*lag map:? port 1:(?P<wire>\d) port 2:(?P=wire)\b"),
        code="bond_degraded",
        about="pci",
    ),
    rule(MLX5 + r":? .*lag map:? port 1:\d port 2:\d", None),
    rule(MLX5 + r":? .*lag map active ports: (?P<wire>\d)$", "bond_degraded"),
    rule(MLX5 + r":? .*lag map active ports: \d, \d", None),
    rule(
        r"(?P<netdev>\S{1,32}): \(slave (?P<member>\S{1,32})\): link status definitely down",
        "bond_degraded",
        "warning",
        "netdev",
    ),
    rule(
        r"(?P<netdev>\S{1,32}): link status definitely down for interface (?P<member>\S{1,32}),",
        "bond_degraded",
        "warning",
        "netdev",
    ),
    rule(r"(?P<netdev>\S{1,32}): now running without any active interface", "bond_failed", "error", "netdev"),
    rule(
        r"(?P<netdev>\S{1,32}): Warning: No 802\.3ad response from the link partner",
        "bond_degraded",
        "warning",
        "netdev",
    ),
    rule(
        r"\S{1,32}: (?:\(slave \S{1,32}\): )?link status (?:definitely up|up again|up,|down,|up for|down for)",
        None,
        about="netdev",
    ),
)
_HARMLESS = (
    rule(
        MLX5 + r":.*(?:assert_(?:var|exit_ptr|callra)|fw_ver |hw_id |irisc_index|ext_synd|raw fw_ver|time \d|rfr \d"
        r"|severity \d)",
        None,
    ),
    rule(
        _NIC + r".*(?:PCIe slot (?:power capability was not advertised|advertised sufficient power)|enabling device \("
        r"|: renamed from |(?:entered|left) (?:allmulticast|promiscuous) mode|IB device registered|Setup irq:"
        r"|E-Switch: (?:Enable|Disable|Unload|Load)|Successfully (?:un)?registered)",
        None,
    ),
    rule(_NIC + r".*(?:firmware version|Rate limit: |MLX5E: StrdRq|Supported tc|E-Switch: Total|Flow counters)", None),
)

NIC_RULES: tuple[Rule, ...] = (
    *CARD_RULES,
    *_FIRMWARE,
    _MEMORY_REGIONS,
    *_COMPLETIONS,
    *_RESETS,
    *_MODULES,
    *_LINKS,
    *_BONDS,
    *_HARMLESS,
)
