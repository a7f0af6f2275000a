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
        if self.lost < self.sent and self.outcome == "reply" and len(self.rtt_us) <= self.sent:
            return  # nearly all: this runs for every train
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


class PathCoverage(Value, frozen=True, kw_only=True):
    """Which of the links that the planned pairs can take are crossed, and how well single failures can be told apart.

    ``classes``: sets of links that any choice of paths could tell apart; ``told_apart`` of them this plan does.
    """

    method: Literal["hash", "probability"]
    alpha: Count
    links: Count
    crossed: Count
    crossed_alpha: Count
    classes: Count
    told_apart: Count | None
    confidence: Share
    most_per_slot: Count


class PortTurns(Value, frozen=True, kw_only=True):
    """Source ports that change every ``turn_rounds`` rounds, in ``turns`` turns, then from the first again.

    ``changing``: [src, dst, the ports of turns 1, 2, ...]; turn 0, and what is not listed, is as the slots say.
    Rounds are counted from the Unix epoch: round n begins at n x ``expected.round_s``, turn = n // turn_rounds % turns.
    """

    turns: Annotated[int, Meta(ge=1)]
    turn_rounds: Annotated[int, Meta(ge=1)]
    changing: tuple[tuple[str, str, tuple[int, ...]], ...] = ()


class Exclusion(Value, frozen=True, kw_only=True):
    """An endpoint that the plan leaves out, and why."""

    endpoint: Name
    why: str


class LeftOut(Value, frozen=True, kw_only=True):
    """A pair that the budget can't hold, and which part of it."""

    a: Name
    b: Name
    why: str


Probe = tuple[str, str, int]
"""(src, dst, UDP source port)"""
SlotProbe = tuple[int, str, str, int]
"""(slot, src, dst, UDP source port)"""


class ProbePlan(JobMessage, frozen=True, kw_only=True):
    """Topic ``probe-plans``, key job: probes per slot; within a slot no RNIC takes part in more than its share."""

    plan: Name
    version: Count
    skeleton_version: Count | None
    mode: Literal["basic", "skeleton", "disabled"]
    budget: ProbeBudget
    expected: ExpectedRound
    slots: tuple[tuple[Probe, ...], ...]
    excluded: tuple[Exclusion, ...]
    probes_per_slot: Annotated[int, Meta(ge=1)] = 1
    alternate: bool = False
    jitter_s: Annotated[float, Meta(ge=0.0)] = 0.0
    turns: PortTurns | None = None
    coverage: PathCoverage | None = None
    left_out_count: Count = 0
    left_out: tuple[LeftOut, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()
    suspects: tuple[str, ...] = ()


class ProbePlanDelta(JobMessage, frozen=True, kw_only=True):
    """Topic ``probe-plan-deltas``, key job: what turns the plan ``base`` into ``plan``; all else stays as it is.

    ``removed`` is taken out first, then ``added`` put in; ``slots`` is their number afterwards. ``included`` are no
    longer excluded, ``excluded`` newly or for another reason. What has a default in the plan replaces the plan's.
    """

    plan: Name
    version: Count
    base: Name
    base_version: Count
    skeleton_version: Count | None
    slots: Count
    removed: tuple[SlotProbe, ...]
    added: tuple[SlotProbe, ...]
    included: tuple[Name, ...]
    excluded: tuple[Exclusion, ...]
    expected: ExpectedRound
    turns: PortTurns | None = None
    coverage: PathCoverage | None = None
    left_out_count: Count = 0
    left_out: tuple[LeftOut, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()
    suspects: tuple[str, ...] = ()
