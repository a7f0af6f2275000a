"""All numbers that engines are tuned by, in one frozen value; each engine owns the meaning of its own part."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from localization.parameters import DetectionParameters, LocalizationParameters
from probe_planner.parameters import PlannerParameters
from skeleton.parameters import SkeletonParameters


class TimeParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """How long to wait for stragglers. ``lateness_s`` is the contract's bound; ``slack_s`` covers transport delay."""

    lateness_s: Annotated[float, Meta(ge=0)] = 5.0
    slack_s: Annotated[float, Meta(ge=0)] = 1.0


class Parameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the whole pipeline."""

    time: TimeParameters = field(default_factory=TimeParameters)
    skeleton: SkeletonParameters = field(default_factory=SkeletonParameters)
    planner: PlannerParameters = field(default_factory=PlannerParameters)
    detection: DetectionParameters = field(default_factory=DetectionParameters)
    localization: LocalizationParameters = field(default_factory=LocalizationParameters)
