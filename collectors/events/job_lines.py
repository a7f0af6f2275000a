"""Lines of communication libraries (NCCL, RCCL, UCX, libibverbs, libfabric) about the network, out of a job's log.

Statuses of completions are those of verbs: 12 = the peer did not answer until retries ran out: peer or path, which of
them is not told; 5 = flushed afterwards, a consequence; 4 with vendor error 81 = the card may not reach local memory
(ACS, GPU Direct). ``opcode`` and ``len`` of a failed completion are memory that nobody wrote, and are not read. What
fails when connecting is told by the call's error: no path, or a GID index that this network namespace does not have.
``Cannot allocate memory`` is a limit of the container, unless the kernel log has a ``limits exceeded`` at that time.
That a collective operation timed out, or that the library gave a device up, follows from something else. An
asynchronous event is of the local port. Whether a peer was ever reached is judged in ``job_times``.
"""

from __future__ import annotations

from collectors.events.notices import Severity, SubjectKind
from collectors.events.rules import Rule, means
from collectors.events.transport_lines import TRANSPORT_RULES

_PEER = r"(?:from peer (?P<peer>[^\s<]{1,64})(?:<\d+>)? )?with (?:error |status=)(?:\w{1,48}\()?"
_VENDOR = r"\b.*?vendor[ _]err[ =](?P<vendor>\d{1,5})\b"
_GIDS = (
    r"(?:.*?localGid\s?(?P<local_gid>[0-9a-f:.]{2,64}))?(?:.*?remoteGids?\s?(?P<remote_gid>[0-9a-f:.]{2,64}))?"
    r"(?:.*?hca (?P<rdma>\w{1,32}))?"
)
_QP = (
    r"(?:, on dev (?P<rdma>\w{1,32}))?(?:.*?local GID index (?P<gid_index>\d{1,5}))?"
    r"(?:.*?local GID\s+(?P<local_gid>[0-9a-f:.]{2,64}))?(?:.*?remote GID\s+(?P<remote_gid>[0-9a-f:.]{2,64}))?"
)
_NET = r"NET/[\w/]{2,24} ?: "
_CARD = r"(?P<rdma>\w{1,32}):\d{1,3} "
_GOT = r"Got (?:non-fatal )?async event ?: "
_FATAL = r"(?:Got async event ?: |async fatal event(?: on [^:]{2,80})?: )"


def _completion(numbers: str, code: str, meaning: str, severity: Severity = "warning") -> Rule:
    about: SubjectKind = "host" if code == "gdr_error" else "container"
    return means(r"Got completion " + _PEER + numbers + _GIDS, code, meaning, severity, about)


def _connecting(errno: str, words: str, meaning: str) -> Rule:
    call = r"Call to ibv_modify_qp failed with (?:error )?"
    return means(rf"{call}(?:(?P<errno>{errno})\b ?)?(?P<reason>{words}){_QP}", "qp_error", meaning)


_COMPLETIONS = (
    _completion(r"(?P<status>12)" + _VENDOR, "qp_error", "retries exceeded: peer or path"),
    _completion(r"(?P<status>5)" + _VENDOR, "qp_error", "flushed: a consequence", "info"),
    _completion(
        r"(?P<status>4)\b.*?vendor[ _]err[ =](?P<vendor>81)\b", "gdr_error", "local protection: ACS or GPU Direct"
    ),
    _completion(r"(?P<status>4)" + _VENDOR, "qp_error", "local protection: memory that the card may not use"),
    _completion(r"(?P<status>13)" + _VENDOR, "qp_error", "the peer's process posts no receives"),
    _completion(r"(?P<status>9|10|11)" + _VENDOR, "qp_error", "the peer refused: its memory or its software"),
    _completion(r"(?P<status>\d{1,3})" + _VENDOR, "qp_error", "other"),
    *(
        means(rf"\b{words} on (?P<rdma>\w{{1,32}}):\d{{1,3}}/\w+", "qp_error", meaning)
        for words, meaning in (
            ("Transport retry count exceeded", "retries exceeded: peer or path"),
            ("Receive-no-ready retry count exceeded", "the peer's process posts no receives"),
            ("Local protection", "local protection: memory that the card may not use"),
            ("Remote (?:access|operation)", "the peer refused: its memory or its software"),
        )
    ),
    means(
        r"[Ff]ailed status (?P<status>12): wr_id \d+ syndrom (?P<vendor>\w{1,8})",
        "qp_error",
        "retries exceeded: peer or path",
    ),
)
_OFI = (
    r"NET/OFI Request (?:\S{1,32} )?completed with error\. RC: (?P<errno>\d{1,5})\. .{0,40}?"
    r"Error: (?:(?P<status>\d{1,6}) \()?"
)
_FABRIC = (
    means(_OFI + r"(?P<reason>Un(?:responsive|reachable) \w+)", "qp_error", "retries exceeded: peer or path"),
    means(_OFI + r"(?P<reason>Flushed\b[\w ]{0,60})", "qp_error", "flushed: a consequence", "info"),
    means(_OFI + r"(?P<reason>Receiver not ready)", "qp_error", "the peer's process posts no receives"),
    means(_OFI + r"(?P<reason>[\w ,:'/-]{2,80})", "qp_error", "other"),
)
"""As aws-ofi-nccl gives the words of libfabric's EFA provider."""

_EVENTS = (
    means(_NET + _CARD + _GOT + "port error", "port_down", "of the local port", "error", "rdma"),
    means(_NET + _GOT + "port error", "carrier", "of a local port, which is not named", "info"),
    means(_NET + _FATAL + "local catastrophic error", "fw_health", "of a local card, which is not named", about="host"),
    means(r"IB Async event on (?P<rdma>\w{1,32}): port error", "port_down", "of the local port", "error", "rdma"),
    means(_NET + _CARD + _FATAL + "local catastrophic error", "fw_health", "", "error", "rdma"),
    means(
        _NET + _CARD + _FATAL + r"(?P<reason>(?:invalid request )?local [\w ]{2,60} error)",
        "qp_error",
        "an error of a local queue",
    ),
    means(
        _NET + _CARD + r"(?:" + _GOT + r"GID table change|GID table changed)",
        "gid_changed",
        "whether the GID in use moved is not told",
        "info",
        "rdma",
    ),
)
_CONNECTIONS = (
    means(
        r"Call to ibv_modify_qp failed with .*, retrying \d{1,6}/\d{1,6}", "qp_error", "it is being tried again", "info"
    ),
    _connecting(
        "110|113|101",
        "Connection timed out|No route to host|Network is unreachable",
        "no path to the peer: rail, GID or route",
    ),
    _connecting("61", "No data available", "the GID index is a hole"),
    _connecting("19", "No such device", "the GID index has no device in this network namespace"),
    _connecting("22", "Invalid argument", "the GIDs of the two ends do not fit, or an index is wrong"),
    _connecting(r"\d{1,4}", r"[A-Z][\w ]{2,60}", "other"),
    means(
        r"(?:read|open) failed in ncclIbRoceGetVersionNum: (?P<reason>[A-Z][\w ]{2,60})",
        "gid_missing",
        "the GID index has no type in this network namespace: configuration",
        about="config",
    ),
)
_MEMORY = (
    means(
        r"Call to ibv_(?:reg|create|alloc|open|query)_\w+ failed with (?:error )?(?:12 )?"
        r"(?P<reason>Cannot allocate memory)",
        "limits_exceeded",
    ),
    means(r"ibv_\w{2,32}\([^)]{0,200}\) failed: (?P<reason>Cannot allocate memory)", "limits_exceeded"),
    means(r"RLIMIT_MEMLOCK is (?P<limit_bytes>\d{1,15}) bytes", "limits_exceeded"),
    means(
        r"[Mm]ax(?:imum)? locked memory\b.*?current:? (?P<limit_kb>\d{1,12}) ?(?:kB|KB|kbytes)",
        "limits_exceeded",
    ),
    means(
        r"Call to ibv_reg_\w*mr\w* failed with (?:error )?(?:14 )?(?P<reason>Bad address)",
        "gdr_error",
        "memory of the GPU can't be registered",
        about="host",
    ),
)
_CONSEQUENCES = (
    means(r"NET/IB ?: No device found|Using network Socket\b", "rdma_fallback", about="host"),
    means(
        r"Watchdog caught collective operation timeout: WorkNCCL\((?:.*?OpType=(?P<operation>\w{1,32}))?"
        r"(?:.*?ran for (?P<ran_ms>\d{1,12}) milliseconds)?",
        "collective_timeout",
        "a consequence",
        "info",
    ),
    means(
        r"ncclIbResiliencyHandleDeviceFailure: Device \d+ marked as failed",
        "qp_error",
        "given up: a consequence",
        "info",
    ),
)

JOB_RULES: tuple[Rule, ...] = (
    *_COMPLETIONS,
    *_FABRIC,
    *_EVENTS,
    *_CONNECTIONS,
    *_MEMORY,
    *TRANSPORT_RULES,
    *_CONSEQUENCES,
)
