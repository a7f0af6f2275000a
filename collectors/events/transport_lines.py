"""Lines about the network of libraries that do not speak through NCCL: UCX, Mooncake, NVSHMEM, and libfabric itself.

They name a failed completion by verbs' own words (``transport retry counter exceeded``) or by UCX's
(``Transport retry count exceeded``); what each means is said in ``job_lines``.
"""

from __future__ import annotations

from collectors.events.notices import Severity
from collectors.events.rules import Rule, means

RETRIES = "retries exceeded: peer or path"
NO_PATH = "no path to the peer: rail, GID or route"
_MEANINGS: tuple[tuple[str, str, Severity], ...] = (
    (r"[Tt]ransport retry count(?:er)? exceeded", RETRIES, "warning"),
    (r"(?:RNR|rnr|Receive-no-ready) retry count(?:er)? exceeded", "the peer's process posts no receives", "warning"),
    (r"[Ww]ork [Rr]equest [Ff]lushed [Ee]rror|WR flushed", "flushed: a consequence", "info"),
    (r"[Ll]ocal protection", "local protection: memory that the card may not use", "warning"),
    (r"[Rr]emote (?:access|operation|invalid request)", "the peer refused: its memory or its software", "warning"),
)
_SLICE = (
    r"Process failed for slice \(.{0,300}?local_nic: (?P<rdma>\w{1,32}), peer_nic: (?P<peer>[^,\s]{1,128}),"
    r".{0,200}?\): "
)
_HEADS = (
    r"\bError on QP 0x[0-9a-f]+ wqe\[\d+\]: ",
    r"\b(?:[Ss]end|[Rr]ecv|[Rr]eceive) completion with error(?: on qp 0x[0-9a-f]+)?: ",
    _SLICE,
)
TRANSPORT_RULES: tuple[Rule, ...] = (
    *(
        means(f"{head}(?P<reason>{words})", "qp_error", meaning, severity)
        for head in _HEADS
        for words, meaning, severity in _MEANINGS
    ),
    *(means(head + r"(?P<reason>[A-Za-z][\w /-]{1,60}\w)", "qp_error", "other") for head in _HEADS),
    means(r"transport error: (?P<reason>Endpoint timeout)", "qp_error", RETRIES),
    means(r"Endpoint timeout was not handled", "qp_error", "given up: a consequence", "info"),
    means(
        r"mlx5dv_devx_obj_create\((?P<command>\w{1,32})\) failed on (?P<rdma>\w{1,32}), syndrome",
        "fw_command_failed",
        severity="info",
        about="rdma",
    ),
    means(
        r"ibv_create_ah\([^)]{0,240}\)(?: for [\w ]{1,40} on (?P<rdma>\w{1,32}))? failed: "
        r"(?P<reason>Connection timed out|No route to host|Network is unreachable)",
        "qp_error",
        NO_PATH,
    ),
    means(r"non-zero status: (?P<errno>110|113|101) ibv_modify_qp failed", "qp_error", NO_PATH),
    means(r"non-zero status: (?P<errno>\d{1,4}) ibv_modify_qp failed", "qp_error", "other"),
    means(
        r"libfabric:\d+:\d+:.{0,80}?<warn> .{0,160}?(?P<reason>Un(?:responsive receiver|reachable remote))",
        "qp_error",
        RETRIES,
    ),
)
