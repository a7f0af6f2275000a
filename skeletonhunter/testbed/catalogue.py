"""Which scenario stands behind a permanent id? Subject, size and seed decide everything.

A subject is ``issue-<nn>-<issue>``, ``monitor-<kind>``, ``control-healthy``, ``control-congested``,
``double-two_faults`` or ``double-both_layers``. Sizes are fabrics of 64 (s), 128 (m) and 256 (l) RNICs. The job, the
cabling and how good the telemetry is are drawn by the seed from what clusters really run; the fault draws its own
place, onset and severity.
"""

from __future__ import annotations

import re
from zlib import crc32

import numpy as np

from schemas.truth import ISSUES
from skeletonhunter.testbed.scenario import (
    FabricPlan,
    FaultPlan,
    JobChange,
    JobPlan,
    Scenario,
    ScenarioError,
    TelemetryPlan,
)

HOSTS = {"s": 8, "m": 16, "l": 32}
SECONDS = 180
RNICS_PER_CONTAINER = np.array([0.8, 2.3, 0.3, 8.9, 0.9, 2.7, 1.0, 83.1]) / 100.0
"""Share of containers with 1 to 8 RNICs (the paper)."""

OVERLAY = ("offloading_failure", "not_using_rdma", "repetitive_flow_offloading", "suboptimal_flow_offloading")
UNDERLAY = ("crc_error", "switch_port_down", "switch_port_flapping", "switch_offline")
TRANSITIONS = ("skeleton_transition", "target_not_ready")


def scenario_of(subject: str, size: str, seed: int) -> Scenario:
    """The scenario ``<subject>-<size>-s<seed>``.

    Raises:
        ScenarioError: there is no such subject or size.
    """
    if size not in HOSTS:
        raise ScenarioError(f"size {size!r} is none of {', '.join(HOSTS)}")
    rng = np.random.default_rng([seed, crc32(f"{subject}-{size}".encode())])
    hosts = HOSTS[size]
    main = _job(hosts if size == "s" else hosts * 3 // 4, rng)
    jobs = [_changed(main, subject, rng)]
    if size != "s":
        jobs.append(_neighbour(hosts // 4, rng))
    return Scenario(
        name=f"{subject}-{size}-s{seed:02d}",
        description=f"{subject} on {hosts * 8} RNICs",
        seed=seed,
        seconds=SECONDS,
        fabric=_fabric(hosts, rng),
        jobs=tuple(jobs),
        faults=tuple(FaultPlan(what=what) for what in _faults(subject, rng)),
        telemetry=TelemetryPlan(hardware_stamps=bool(rng.random() < 0.8)),
    )


def _faults(subject: str, rng: np.random.Generator) -> list[str]:
    """What goes wrong in a subject."""
    issue = re.fullmatch(r"issue-\d\d-(.+)", subject)
    if issue and issue[1] in ISSUES:
        return [issue[1]]
    family, _, name = subject.partition("-")
    if family == "monitor":
        return [] if name in TRANSITIONS else [name]
    if subject == "double-two_faults":
        return [str(what) for what in rng.choice(ISSUES, 2, replace=False)]
    if subject == "double-both_layers":
        return [str(rng.choice(OVERLAY)), str(rng.choice(UNDERLAY))]
    if subject == "control-congested":
        return ["congestion"]
    if subject == "control-healthy":
        return []
    raise ScenarioError(f"there is no subject {subject!r}")


def _fabric(hosts: int, rng: np.random.Generator) -> FabricPlan:
    return FabricPlan(
        hosts=hosts + 2,
        hosts_per_leaf=max(4, hosts // 3),
        spines=int(rng.choice([2, 4, 4, 8])),
        dual_tor=bool(rng.random() < 0.2),
        segments_per_pod=2 if hosts > 16 and rng.random() < 0.5 else None,
        paths="hash" if rng.random() < 0.3 else "traced",
    )


def _job(hosts: int, rng: np.random.Generator) -> JobPlan:
    """A training job on ``hosts`` hosts: mostly dense, some with experts or sharded, some in small containers."""
    tp = int(rng.choice(np.arange(1, 9), p=RNICS_PER_CONTAINER))
    blocks = min(hosts * (8 // tp), 64)
    kind = str(rng.choice(["dense", "moe", "fsdp"], p=[0.65, 0.2, 0.15]))
    ep = 2 if kind == "moe" and blocks % 4 == 0 else 1
    straggler_s = float(rng.uniform(0.05, 0.4)) if rng.random() < 0.15 else 0.0
    stages = [pp for pp in (1, 2, 3, 4) if (blocks // ep) % pp == 0 and blocks // ep // pp > 1]
    pp = 1 if kind == "fsdp" else int(rng.choice(stages))
    return JobPlan(
        kind="dense" if kind == "moe" and ep == 1 else kind,  # type: ignore[arg-type]
        tp=tp,
        pp=pp,
        dp=min(blocks // ep // pp, 16),
        ep=ep,
        period_s=float(rng.choice([8.0, 11.0, 14.0, 20.0])),
        spread=float(rng.choice([0.005, 0.014, 0.07], p=[0.4, 0.4, 0.2])),
        reveal_ranks=bool(rng.random() < 0.8),
        straggler_s=round(straggler_s, 3),
    )


def _neighbour(hosts: int, rng: np.random.Generator) -> JobPlan:
    """Another job on the same fabric."""
    kind = str(rng.choice(["dense", "serving", "debugging"]))
    return JobPlan(kind=kind, tp=8, pp=1, dp=max(2, hosts), period_s=float(rng.choice([6.0, 17.0])))  # type: ignore[arg-type]


def _changed(job: JobPlan, subject: str, rng: np.random.Generator) -> JobPlan:
    """The job with what the subject lets it do."""
    from msgspec.structs import replace

    if subject == "monitor-target_not_ready":
        return replace(job, phased=True, ready_s=float(rng.uniform(40.0, 90.0)))
    if subject != "monitor-skeleton_transition":
        return job
    at_s = float(rng.uniform(0.4, 0.6)) * SECONDS
    what = str(rng.choice(["migrate", "resize", "checkpoint"]))
    dp = max(1, job.dp - 1) if what == "resize" else None
    return replace(job, changes=(JobChange(at_s=round(at_s, 1), what=what, dp=dp, lasts_s=25.0),))  # type: ignore[arg-type]
