"""Kernel lines that only one driver writes: EFA, ice with irdma, ionic, bnxt and hns3.

Words are the drivers' own (kernel 5.4 to 6.18). A queue of commands that the card does not serve any more, a heartbeat
that stands still, and a critical error that the card reports are its firmware (``fw_health``); a command that it
refused is ``fw_command_failed``, ``info``, as applications provoke them. Cards are named by PCI address, or, by RDMA's
own printing, as ``infiniband <device>``.
"""

from __future__ import annotations

from collectors.events.notices import Severity
from collectors.events.rules import NIC_DRIVERS, PCI, Rule, rule


def _said(words: str, code: str, severity: Severity = "error") -> tuple[Rule, Rule]:
    """A rule for each way to name the card."""
    return (
        rule(NIC_DRIVERS + " " + PCI + r"\b.*?(?:" + words + ")", code, severity),
        rule(r"\binfiniband (?P<rdma>\w{1,32}): .{0,200}?(?:" + words + ")", code, severity, "rdma"),
    )


_EFA = (
    *_said(
        r"Wait for completion \(polling\) timeout|The device didn't send any completion for admin cmd"
        r"|Admin queue is closed|Reset indication didn't turn o(?:n|ff)|Device isn't ready, ",
        "fw_health",
    ),
    *_said(r"Failed to (?:process|submit) command (?P<command>\w{1,32}) \(opcode", "fw_command_failed", "info"),
)
_IRDMA = (
    *_said(r"critical PE Error|\bHMC Error", "fw_health"),
    *_said(r"\bRequesting a reset", "rnic_reset"),
    *_said(r"\[(?P<command>[\w ]{1,40}) Cmd Error\]\[op_code=", "fw_command_failed", "info"),
    *_said(r"\bcqp opcode = 0x\w+ maj_err_code", "fw_command_failed", "info"),
)
_IONIC = (
    *_said(r"FW heartbeat stalled|FW Down: Stopping LIFs|Surprise FW stop", "fw_health"),
    *_said(r"FW Up: (?:Restarting LIFs|LIFs restarted)", "rnic_reset"),
    *_said(r"opcode (?P<command>\w{1,32}) \(\d+\) error \w+ \(\d+\)", "fw_command_failed", "info"),
)
_BNXT = (
    *_said(r"(?:: Fatal firmware|Firmware fatal) reset event|\bError \(timeout: \d+\) msg \{", "fw_health"),
    *_said(r"(?:[\w-]+ firmware|Firmware [\w-]+) reset event", "rnic_reset"),
    *_said(r"hwrm req_type 0x[0-9a-f]+ seq id 0x[0-9a-f]+ error 0x", "fw_command_failed", "info"),
    *_said(r"cmdq\[0x[0-9a-f]+\]=0x[0-9a-f]+ status 0x", "fw_command_failed", "info"),
)
_HNS3 = (
    *_said(r"device re-init failed|failed to reset VF|reset fail", "fw_health"),
    *_said(r"\b(?:[Gg]lobal|IMP|[Cc]ore) reset (?:requested|interrupt|done)", "rnic_reset"),
    *_said(r"In reset process RoCE client", "rnic_reset"),
    *_said(r"(?:[Ll]ocal work queue|access violation work queue) 0x[0-9a-f]+ (?:catas )?error", "qp_error", "warning"),
)

CARD_RULES: tuple[Rule, ...] = (*_EFA, *_IRDMA, *_IONIC, *_BNXT, *_HNS3)
