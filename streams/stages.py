"""Which engines there are, what each reads and writes, and in which order data passes through them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from schemas.folding import Engine
from streams.parameters import Parameters

StageName = str


@dataclass(frozen=True, slots=True)
class Stage:
    """One engine in its place. ``key``: the kind of key that all its inputs share; ``upstream``: stages it follows.

    ``steady``: among its inputs are measurements, so it hears of a living key all the time.
    """

    name: StageName
    key: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    upstream: tuple[StageName, ...]
    build: Callable[[Parameters], Engine[Any]]
    steady: bool = False

    @property
    def raw_inputs(self) -> tuple[str, ...]:
        """Inputs that enter the pipeline from outside, not from a stage."""
        derived = {topic for stage in STAGES.values() for topic in stage.outputs}
        return tuple(topic for topic in self.inputs if topic not in derived)


def _skeleton(parameters: Parameters) -> Engine[Any]:
    from skeleton.engine import SkeletonEngine

    return SkeletonEngine(parameters.skeleton)


def _planner(parameters: Parameters) -> Engine[Any]:
    from probe_planner.engine import PlannerEngine

    return PlannerEngine(parameters.planner)


def _detection(parameters: Parameters) -> Engine[Any]:
    from localization.detection import DetectionEngine

    return DetectionEngine(parameters.detection)


def _fabric(parameters: Parameters) -> Engine[Any]:
    from probe_planner.surroundings import FabricEngine

    return FabricEngine(parameters.planner)


def _localization(parameters: Parameters) -> Engine[Any]:
    from localization.engine import LocalizationEngine

    return LocalizationEngine(parameters.localization)


STAGES: dict[StageName, Stage] = {
    stage.name: stage
    for stage in (
        Stage(
            name="skeleton",
            key="job",
            inputs=("endpoint-map", "rnic-counters", "rnic-bursts", "skeleton-overrides"),
            outputs=("reporting-gaps", "skeleton-updates"),
            upstream=(),
            build=_skeleton,
            steady=True,
        ),
        Stage(
            name="detection",
            key="job",
            inputs=("endpoint-map", "probe-results"),
            outputs=("anomalies", "pair-windows", "fabric-endpoints"),
            upstream=(),
            build=_detection,
            steady=True,
        ),
        Stage(
            name="fabric",
            key="fabric",
            inputs=("anomalies", "fabric-endpoints", "fabric-map"),
            outputs=("job-fabrics", "job-suspects"),
            upstream=("detection",),
            build=_fabric,
        ),
        Stage(
            name="planner",
            key="job",
            inputs=("endpoint-map", "job-fabrics", "job-suspects", "skeleton-updates"),
            outputs=("probe-plan-deltas", "probe-plans"),
            upstream=("skeleton", "fabric"),
            build=_planner,
        ),
        Stage(
            name="localization",
            key="fabric",
            inputs=(
                "agent-health",
                "anomalies",
                "device-events",
                "fabric-endpoints",
                "fabric-map",
                "flow-tables",
                "pair-windows",
                "reporting-gaps",
                "switch-queues",
            ),
            outputs=("evidence-requests", "incidents"),
            upstream=("detection", "skeleton"),
            build=_localization,
        ),
    )
}
"""In topological order."""


def dead_letter_stage(topic: str) -> StageName | None:
    """The one stage that writes dead letters of ``topic``: the first that reads it; None = no stage reads it."""
    return next((stage.name for stage in STAGES.values() if topic in stage.inputs), None)
