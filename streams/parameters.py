"""All numbers that engines are tuned by, in one frozen value; each engine owns the meaning of its own part."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from localization.parameters import DetectionParameters, LocalizationParameters
from probe_planner.parameters import PlannerParameters
from schemas.limits import MessageLimits
from skeleton.parameters import SkeletonParameters


class TimeParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """How long to wait for stragglers. ``lateness_s`` is the contract's bound; ``slack_s`` covers transport delay."""

    lateness_s: Annotated[float, Meta(ge=0)] = 5.0
    slack_s: Annotated[float, Meta(ge=0)] = 1.0


class LimitParameters(MessageLimits, frozen=True, forbid_unknown_fields=True):
    """What hostile input may cost; records beyond a limit become dead letters, ``too_large`` or ``too_many``.

    A message has at most ``elements`` commas and opening brackets and no text of more than ``text_bytes``. A partition
    of a stage follows at most ``keys`` keys (jobs, fabrics) that spoke in the last minute, and of each at most
    ``producers`` producers and endpoints that spoke in the last two.
    """

    keys: Annotated[int, Meta(ge=1)] = 20_000
    producers: Annotated[int, Meta(ge=1)] = 200_000


class JobParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """When a job is forgotten, in event time.

    A job whose endpoint map says ``ended`` is forgotten ``ended_s`` after the last message of it. One of which nobody
    said so is forgotten by the stages that read measurements when there were none for ``silent_s``. Its last versions
    are remembered for ``remembered_s`` more; after that the versions of any name that comes up begin at the seconds
    since the epoch, so that they never go backwards.
    """

    ended_s: Annotated[float, Meta(ge=60)] = 3600.0
    silent_s: Annotated[float, Meta(ge=3600)] = 86_400.0
    remembered_s: Annotated[float, Meta(ge=3600)] = 30 * 86_400.0


class Parameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the whole pipeline."""

    time: TimeParameters = field(default_factory=TimeParameters)
    limits: LimitParameters = field(default_factory=LimitParameters)
    jobs: JobParameters = field(default_factory=JobParameters)
    skeleton: SkeletonParameters = field(default_factory=SkeletonParameters)
    planner: PlannerParameters = field(default_factory=PlannerParameters)
    detection: DetectionParameters = field(default_factory=DetectionParameters)
    localization: LocalizationParameters = field(default_factory=LocalizationParameters)
