"""Plans and what came of them: which pairs are probed when, and each train's outcome, loss and RTT."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from schemas.envelope import Count, InstantUs, JobMessage, Name, Share, Value

ProbeKind = Literal["rdma", "tcp", "udp", "traceroute"]
Outcome = Literal["reply", "lost", "not_sent", "target_not_ready"]
"""What an agent may write; ``agent_silent`` and ``clock_untrusted`` are conclusions, never written by an agent."""

RttUs = Annotated[float, Meta(ge=0.0)]

Timestamps = Literal["hardware", "kernel", "software"]
"""Who took the times that the RTTs of a train were made of; of several the coarsest."""


class ProbeResult(Value, frozen=True, kw_only=True):
    """One train of probes to one destination: ``sent`` packets, ``lost`` of them, RTT samples (us) of some replies."""

    dst: Name
    t_us: InstantUs
    kind: ProbeKind
    outcome: Outcome
    sent: Count
    lost: Count
    rtt_us: tuple[RttUs, ...]
    prober_delay_us: float | None = None
    responder_delay_us: float | None = None
    sport: Annotated[int, Meta(ge=0, le=65535)] | None = None
    path: tuple[str, ...] | None = None
    late: Count | None = None
    timestamps: Timestamps | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.lost > self.sent:
            raise ValueError(f"lost {self.lost} is more than sent {self.sent}")
        if len(self.rtt_us) > self.sent:
            raise ValueError(f"{len(self.rtt_us)} RTT samples of only {self.sent} probes sent")
        if self.outcome != self._outcome_by_counts():
            raise ValueError(f"outcome {self.outcome!r} contradicts sent {self.sent}, lost {self.lost}")

    def _outcome_by_counts(self) -> Outcome:
        if self.sent == 0:
            return "target_not_ready" if self.outcome == "target_not_ready" else "not_sent"
        return "lost" if self.lost == self.sent else "reply"


class ProbeResults(JobMessage, frozen=True, kw_only=True):
    """Topic ``probe-results``, key job: one message per source and interval."""

    src: Name
    plan_version: Count
    results: tuple[ProbeResult, ...]


class ProbeBudget(Value, frozen=True, kw_only=True):
    """What the monitor may spend; null = not limited."""

    round_s: float | None = None
    pps_per_rnic: float | None = None
    targets_per_rnic: int | None = None


class ExpectedRound(Value, frozen=True, kw_only=True):
    """What the plan achieves: seconds per round, probes per round, the least that could exist, share of links."""

    round_s: float
    probes: Count
    lower_bound_s: float
    link_coverage: Share | None = None


class Exclusion(Value, frozen=True, kw_only=True):
    """An endpoint that the plan leaves out, and why."""

    endpoint: Name
    why: str


Probe = tuple[str, str, int]
"""(src, dst, UDP source port)"""


class ProbePlan(JobMessage, frozen=True, kw_only=True):
    """Topic ``probe-plans``, key job: probes per slot; within a slot no RNIC takes part in two probes."""

    plan: Name
    version: Count
    skeleton_version: Count | None
    mode: Literal["basic", "skeleton", "disabled"]
    budget: ProbeBudget
    expected: ExpectedRound
    slots: tuple[tuple[Probe, ...], ...]
    excluded: tuple[Exclusion, ...]
