"""What the fold remembers of one job. Plain values and numpy columns: it pickles small."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.skeletons import SkeletonOverride, SkeletonState
from skeleton.alignment import Fit
from skeleton.bursts import BurstLog
from skeleton.counters import CounterLog
from skeleton.inference import Structure
from skeleton.membership import Membership
from skeleton.reporting import ReportLog


@dataclass(frozen=True, slots=True)
class Standing:
    """How a skeleton stands: everything of an update that is not structure."""

    state: SkeletonState
    confidence: float = 0.0
    coverage: float = 0.0
    period_s: float | None = None
    reason: str = ""
    code: str = ""
    evidence: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class JobState:
    """One job. Instants in microseconds of event time.

    since_us: evidence counts from here. due_us: next look. looked_us: newest traffic at the last full look.
    structure, standing: the current skeleton, as last published. candidate: a structure seen once, to be confirmed.
    supported_us: when traffic last agreed with the current structure. version: of the last update sent, 0 = none.
    override: what its users want, by message.
    fit: how well the structure fitted the traffic that it was found in. drifted: fresh traffic does not fit it.
    reports: who reports on the job, and who no longer does.
    """

    job: str
    fabric: str = ""
    tenant: str | None = None
    membership: Membership | None = None
    ended: bool = False
    counters: CounterLog = field(default_factory=CounterLog)
    bursts: BurstLog = field(default_factory=BurstLog)
    since_us: int = 0
    due_us: int | None = None
    looked_us: int = 0
    structure: Structure = field(default_factory=Structure)
    standing: Standing = field(default_factory=lambda: Standing("forming"))
    candidate: Structure | None = None
    supported_us: int = 0
    version: int = 0
    override: SkeletonOverride | None = None
    fit: Fit = field(default_factory=dict)
    drifted: bool = False
    reports: ReportLog = field(default_factory=ReportLog)
