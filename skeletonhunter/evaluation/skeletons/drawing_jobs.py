"""Which simulated jobs are skeletons tried on? Drawn by seed: degrees, period, spread, shape, collection.

``training`` jobs are dense, with experts or sharded, of up to ``MOST_RANKS`` RNICs, in containers of 1 to 8 RNICs, with
steps of 8 to 40 s that vary by 0.5 to 7 %, some with a straggler, some with a lossy collection. ``unusual`` ones serve
requests or are debugged by hand. ``paper`` ones are the two jobs of the paper's Figure 9. Equal names are equal jobs.
"""

from __future__ import annotations

import re
from zlib import crc32

import numpy as np
from msgspec.structs import replace

from skeletonhunter.testbed.scenario import FabricPlan, JobPlan, Scenario, ScenarioError, TelemetryPlan

MOST_RANKS = 192
PAPER_JOBS = {
    "paper-9a": JobPlan(tp=8, pp=8, dp=8, period_s=20.0),
    "paper-9b": JobPlan(kind="moe", tp=8, pp=4, dp=4, ep=4, period_s=20.0),
}
PAPER_PAIRS = {"paper-9a": 4480, "paper-9b": 3840}
"""Directed pairs that the figures show."""

PERIODS_S = (8.0, 11.0, 14.0, 20.0, 30.0, 40.0)
SPREADS = (0.005, 0.014, 0.03, 0.07)
REGULAR_SPREAD = 0.03
"""Up to this spread of its steps a training job is called regular."""

CYCLES = 14
LEAST_SECONDS, MOST_SECONDS = 180, 480


def drawn_scenario(name: str) -> Scenario:
    """The scenario of ``training-<seed>``, ``unusual-<seed>``, ``paper-9a`` or ``paper-9b``.

    Raises:
        ScenarioError: there is no such job.
    """
    if name in PAPER_JOBS:
        return _scenario(name, PAPER_JOBS[name], 180, TelemetryPlan())
    known = re.fullmatch(r"(training|unusual)-(\d+)", name)
    if known is None:
        raise ScenarioError(f"there is no simulated job {name!r}")
    rng = np.random.default_rng([int(known[2]), crc32(known[1].encode())])
    if known[1] == "unusual":
        return _scenario(name, _unusual(rng), 600, _collection(rng))
    plan = _training(rng)
    seconds = int(np.clip(CYCLES * plan.period_s, LEAST_SECONDS, MOST_SECONDS))
    return _scenario(name, plan, seconds, _collection(rng))


def _training(rng: np.random.Generator) -> JobPlan:
    tp = int(rng.choice([1, 2, 4, 8], p=[0.15, 0.15, 0.2, 0.5]))
    kind = str(rng.choice(["dense", "moe", "fsdp"], p=[0.6, 0.25, 0.15]))
    ep = int(rng.choice([2, 4])) if kind == "moe" else 1
    pp = 1 if kind == "fsdp" else int(rng.choice([1, 2, 2, 3, 4, 4, 6, 8]))
    while 2 * tp * ep * pp > MOST_RANKS:
        pp //= 2
    replica = tp * ep * pp
    sizes = [size for size in (2, 3, 4, 6, 8, 16, 24) if 16 <= size * replica <= MOST_RANKS]
    dp = int(rng.choice(sizes))
    return JobPlan(
        kind=kind,  # type: ignore[arg-type]
        tp=tp,
        pp=pp,
        dp=dp,
        ep=ep,
        period_s=float(rng.choice(PERIODS_S)) * float(rng.uniform(0.9, 1.1)),
        spread=float(rng.choice(SPREADS)),
        reveal_ranks=bool(rng.random() < 0.5),
        straggler_s=float(rng.uniform(0.05, 0.4)) if rng.random() < 0.15 else 0.0,
    )


def _unusual(rng: np.random.Generator) -> JobPlan:
    kind = str(rng.choice(["serving", "debugging"]))
    plan = JobPlan(kind=kind, tp=int(rng.choice([4, 8])), pp=1, dp=int(rng.choice([2, 4, 8])))  # type: ignore[arg-type]
    return replace(plan, reveal_ranks=bool(rng.random() < 0.5))


def _collection(rng: np.random.Generator) -> TelemetryPlan:
    """Mostly as it should be; a quarter with losses, unread values and reloading drivers."""
    if rng.random() < 0.75:
        return TelemetryPlan()
    return TelemetryPlan(lost=0.005, repeated=0.005, late=0.005, unread=0.01, resets=0.2)


def _scenario(name: str, plan: JobPlan, seconds: int, telemetry: TelemetryPlan) -> Scenario:
    containers = plan.pp * plan.dp * plan.ep
    hosts = -(-containers // (8 // plan.tp)) + 1
    return Scenario(
        name=name,
        seed=crc32(name.encode()),
        seconds=seconds,
        fabric=FabricPlan(hosts=hosts, hosts_per_leaf=max(4, hosts // 3)),
        jobs=(plan,),
        telemetry=telemetry,
    )
