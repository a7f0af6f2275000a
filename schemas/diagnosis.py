"""What is wrong and who is to blame: anomalies of pairs, incidents with their reasoning, the operators' answers."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from schemas.envelope import Count, InstantUs, JobMessage, Message, Name, Share, Value, same_lengths

Symptom = Literal["unconnectivity", "packet_loss", "high_latency"]
IncidentKind = Literal[
    "network_fault",
    "congestion",
    "agent_missing",
    "agent_starved",
    "clock_bad",
    "collector_gap",
    "insufficient_evidence",
]
ComponentClass = Literal["switch", "rnic", "host_board", "virtual_switch", "container_runtime", "configuration"]
IssueId = Literal[
    "crc_error",
    "switch_port_down",
    "switch_port_flapping",
    "switch_offline",
    "rnic_hardware_failure",
    "rnic_firmware_unresponsive",
    "rnic_port_down",
    "rnic_port_flapping",
    "offloading_failure",
    "bond_error",
    "gid_change",
    "pcie_nic_error",
    "gpu_direct_rdma_error",
    "not_using_rdma",
    "repetitive_flow_offloading",
    "suboptimal_flow_offloading",
    "container_crash",
    "hugepage_misconfiguration",
    "congestion_control_misconfiguration",
]
ISSUE_CLASSES: dict[IssueId, ComponentClass] = {
    "crc_error": "switch",
    "switch_port_down": "switch",
    "switch_port_flapping": "switch",
    "switch_offline": "switch",
    "rnic_hardware_failure": "rnic",
    "rnic_firmware_unresponsive": "rnic",
    "rnic_port_down": "rnic",
    "rnic_port_flapping": "rnic",
    "offloading_failure": "rnic",
    "bond_error": "rnic",
    "gid_change": "rnic",
    "pcie_nic_error": "host_board",
    "gpu_direct_rdma_error": "host_board",
    "not_using_rdma": "virtual_switch",
    "repetitive_flow_offloading": "virtual_switch",
    "suboptimal_flow_offloading": "virtual_switch",
    "container_crash": "container_runtime",
    "hugepage_misconfiguration": "configuration",
    "congestion_control_misconfiguration": "configuration",
}
"""Class of component of each issue, in the paper's order (Table 1)."""
PassName = Literal["overlay", "underlay", "boundary", "host", "monitor"]
Verdict = Literal["clean", "suspect", "inconclusive"]
ActionKind = Literal["quarantine", "clean_fibre", "replace_fibre", "restart", "fix_configuration", "none"]


class Observed(Value, frozen=True, kw_only=True):
    """Loss (share) and RTT (us) of a pair over the window that a detector judged, or its baseline; null = no data."""

    loss: Share | None = None
    rtt_us: float | None = None
    sent: Count | None = None
    window_s: float | None = None


class Anomaly(JobMessage, frozen=True, kw_only=True):
    """Topic ``anomalies``, key fabric: one pair with one symptom from ``onset_us`` on. ``path``: link ids, in order."""

    anomaly: Name
    src: Name
    dst: Name
    symptom: Symptom
    onset_us: InstantUs
    detected_us: InstantUs
    detector: Name
    score: float
    baseline: Observed
    observed: Observed
    path: tuple[str, ...] | None
    state: Literal["open", "cleared"]


class Suspect(Value, frozen=True, kw_only=True):
    """A component that open anomalies point at, and how many of them do."""

    component: Name
    anomalies: Count


class JobSuspects(JobMessage, frozen=True, kw_only=True):
    """Topic ``job-suspects``, key job: what is suspected now among the components that a job's traffic can meet."""

    version: Count
    suspects: tuple[Suspect, ...]


class PairWindows(JobMessage, frozen=True, kw_only=True):
    """Topic ``pair-windows``, key fabric: what all probed pairs saw in one closed window, columns of length n.

    ``path`` indexes ``paths`` (lists of link ids in order from the source), -1 = not known. ``rtt_us`` is the median
    of the window's samples (null = no reply), ``answered`` and so ``sent`` - ``lost``. Healthy pairs are included:
    they acquit.
    """

    window_s: Annotated[float, Meta(gt=0.0)]
    src: tuple[str, ...]
    dst: tuple[str, ...]
    sport: tuple[int, ...]
    path: tuple[int, ...]
    sent: tuple[Count, ...]
    lost: tuple[Count, ...]
    rtt_us: tuple[float | None, ...]
    paths: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        same_lengths(
            src=self.src,
            dst=self.dst,
            sport=self.sport,
            path=self.path,
            sent=self.sent,
            lost=self.lost,
            rtt_us=self.rtt_us,
        )


class Candidate(Value, frozen=True, kw_only=True):
    """A component that could be to blame; scores of one incident add up to at most 1."""

    component: Name
    score: Share


class Evidence(Value, frozen=True, kw_only=True):
    """A fact that the verdict rests on: where it came from, when, and in words."""

    topic: Name
    t_us: InstantUs
    ref: str
    text: str


class PassTest(Value, frozen=True, kw_only=True):
    """One question that a pass asked, its answer, and the numbers behind it."""

    test: Name
    result: str
    detail: str


class TracePass(Value, frozen=True, kw_only=True, rename={"pass_": "pass"}):
    """One pass of the localization: what it took for granted, what it tested, what it concludes and why."""

    pass_: PassName
    assumption: str
    tests: tuple[PassTest, ...]
    verdict: Verdict
    reason: str


class Action(Value, frozen=True, kw_only=True):
    """What to do; ``target`` is the component id it is done to."""

    kind: ActionKind
    target: str | None
    why: str


class Incident(Message, frozen=True, kw_only=True):
    """Topic ``incidents``, key incident: what broke, how sure, why, what to do. The newest message of a key holds."""

    incident: Name
    state: Literal["open", "updated", "resolved"]
    kind: IncidentKind
    issue: IssueId | None
    component: str | None
    component_class: ComponentClass | None
    confidence: Share
    candidates: tuple[Candidate, ...]
    jobs: tuple[str, ...]
    endpoints: tuple[str, ...]
    symptom: Symptom | None
    onset_us: InstantUs
    detected_us: InstantUs
    localized_us: InstantUs | None
    resolved_us: InstantUs | None
    evidence: tuple[Evidence, ...]
    trace: tuple[TracePass, ...]
    action: Action


class OperatorFeedback(Message, frozen=True, kw_only=True):
    """Topic ``operator-feedback``, key incident: whether the blame was right, and what it was if not."""

    incident: Name
    verdict: Literal["right", "wrong", "component"]
    was: str | None = None
    fixed: bool = False
    text: str = ""
