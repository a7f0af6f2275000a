"""Lines of collective libraries (NCCL) about the network, out of a job's log.

Statuses of completions: 12 with vendor error 129 = the peer did not answer until retries ran out: peer or path, which
of them is not told; 5 with 249 = flushed afterwards, a consequence; 4 with 81 = the card may not reach local memory
(ACS, GPU Direct). ``opcode`` and ``len`` of a failed completion are memory that nobody wrote, and are not read.
``Cannot allocate memory`` on registering is a limit of the container, unless the kernel log has a ``limits exceeded``
at that time. Field cases G04, K01.
"""

from __future__ import annotations

import re

from collectors.events.rules import Rule, rule

_PEER = r"(?:from peer (?P<peer>[^\s<]{1,64})(?:<\d+>)? )?with (?:error |status=)"
_LOCAL = (
    r"(?:.*?localGid (?P<local_gid>[0-9a-f:.]{2,64}))?(?:.*?remoteGids?(?P<remote_gid>[0-9a-f:.]{2,64}))?"
    r"(?:.*?hca (?P<rdma>\w{1,32}))?"
)


def _completion(numbers: str, code: str, meaning: str, consequence: bool = False) -> Rule:
    return Rule(
        pattern=re.compile(r"Got completion " + _PEER + numbers + _LOCAL),
        code=code,
        severity="info" if consequence else "warning",
        about="container",
        constants={"meaning": meaning},
    )


JOB_RULES: tuple[Rule, ...] = (
    _completion(r"(?P<status>12)\b.*?vendor err (?P<vendor>129)\b", "qp_error", "retries exceeded: peer or path"),
    _completion(r"(?P<status>5)\b.*?vendor err (?P<vendor>249)\b", "qp_error", "flushed: a consequence", True),
    _completion(r"(?P<status>4)\b.*?vendor err (?P<vendor>81)\b", "gdr_error", "local protection: ACS or GPU Direct"),
    _completion(r"(?P<status>\d{1,3})\b.*?vendor err (?P<vendor>\d{1,5})\b", "qp_error", "other"),
    rule(r"NET/IB ?: .*Got async event ?: port error", "port_down", "error", "container"),
    rule(
        r"Call to ibv_modify_qp failed with (?:error )?(?:(?P<errno>\d{1,4}) )?(?P<reason>[A-Z][\w ]{2,60})(?:,"
        r" on dev (?P<rdma>\w{1,32}))?",
        "qp_error",
        "warning",
        "container",
    ),
    rule(r"NET/IB ?: No device found|Using network Socket\b", "rdma_fallback", "warning", "container"),
    rule(
        r"Call to ibv_reg_mr\w* failed with error (?P<reason>Cannot allocate memory)",
        "limits_exceeded",
        "warning",
        "container",
    ),
    rule(
        r"ibv_create_(?:cq|qp)\(\) failed: (?P<reason>Cannot allocate memory)",
        "limits_exceeded",
        "warning",
        "container",
    ),
)
