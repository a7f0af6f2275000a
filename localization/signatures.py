"""Which warning means which of the nineteen issues, and what is done about it.

Warnings corroborate: they add evidence to a component and name the issue. Their absence acquits nobody.
``nats``: how much likelier such a warning is on the faulty component than on any other one around that time.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas.diagnosis import ActionKind, ComponentClass, IssueId, Symptom


class Signature(NamedTuple):
    """What a device event says: the issue if its device is a switch port or link, and if it is an RNIC or host."""

    fabric_issue: IssueId | None
    host_issue: IssueId | None
    nats: float
    symptoms: frozenset[Symptom]


CUT: frozenset[Symptom] = frozenset(["unconnectivity"])
LOSSY: frozenset[Symptom] = frozenset(["packet_loss", "unconnectivity"])
SLOW: frozenset[Symptom] = frozenset(["high_latency", "packet_loss"])
ANY: frozenset[Symptom] = CUT | LOSSY | SLOW

SIGNATURES: dict[str, Signature] = {
    "port_down": Signature("switch_port_down", "rnic_port_down", 5.0, LOSSY),
    "port_up": Signature("switch_port_flapping", "rnic_port_flapping", 4.0, LOSSY),
    "crc_errors": Signature("crc_error", "crc_error", 4.0, LOSSY),
    "switch_unreachable": Signature("switch_offline", None, 5.0, LOSSY),
    "switch_reboot": Signature("switch_offline", None, 5.0, LOSSY),
    "cc_disabled": Signature("congestion_control_misconfiguration", "congestion_control_misconfiguration", 4.0, SLOW),
    "pfc_storm": Signature(None, None, 3.0, SLOW),
    "fw_health": Signature(None, "rnic_firmware_unresponsive", 4.0, ANY),
    "rnic_reset": Signature(None, "rnic_hardware_failure", 4.0, ANY),
    "rnic_missing": Signature(None, "rnic_hardware_failure", 5.0, CUT),
    "bond_degraded": Signature(None, "bond_error", 3.0, ANY),
    "bond_failed": Signature(None, "bond_error", 5.0, CUT),
    "gid_changed": Signature(None, "gid_change", 5.0, CUT),
    "pcie_error": Signature(None, "pcie_nic_error", 4.0, ANY),
    "pcie_degraded": Signature(None, "pcie_nic_error", 4.0, ANY),
    "gdr_error": Signature(None, "gpu_direct_rdma_error", 4.0, ANY),
    "offload_disabled": Signature(None, "offloading_failure", 4.0, SLOW),
    "vswitch_restart": Signature(None, None, 3.0, ANY),
    "rdma_fallback": Signature(None, "not_using_rdma", 5.0, SLOW),
    "container_exit": Signature(None, "container_crash", 5.0, CUT),
    "hugepage_mismatch": Signature(None, "hugepage_misconfiguration", 5.0, SLOW),
}
"""By event code; other codes are shown as context only."""

CLASS_OF_COMPONENT: dict[str, ComponentClass] = {
    "link": "switch",
    "switch": "switch",
    "port": "switch",
    "rnic": "rnic",
    "host": "host_board",
    "vif": "virtual_switch",
    "vswitch": "virtual_switch",
    "tunnel": "virtual_switch",
    "container": "container_runtime",
    "config": "configuration",
}
ACTION_OF_ISSUE: dict[IssueId, tuple[ActionKind, str]] = {
    "crc_error": (
        "clean_fibre",
        "corrupted packets come from a dirty or damaged fibre more often than from anything else",
    ),
    "switch_port_down": ("replace_fibre", "the port stays down"),
    "switch_port_flapping": ("clean_fibre", "a port that comes and goes is most often a dirty fibre"),
    "switch_offline": ("quarantine", "nothing passes the switch; route around it until it is back"),
    "not_using_rdma": ("restart", "the virtual switch sends RDMA flows over the kernel's stack"),
    "repetitive_flow_offloading": ("restart", "the virtual switch invalidates offloaded flows again and again"),
    "suboptimal_flow_offloading": ("restart", "the virtual switch offloads the wrong flows"),
    "container_crash": ("restart", "the container has crashed"),
    "hugepage_misconfiguration": ("fix_configuration", "host and RNIC settings disagree"),
    "congestion_control_misconfiguration": ("fix_configuration", "congestion control is off where it is expected"),
}
"""Other issues of RNICs and host boards: quarantine."""
