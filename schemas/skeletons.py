"""The traffic skeleton: the pairs of endpoints that a training job keeps exercising, and how sure we are of it."""

from __future__ import annotations

from typing import Literal

from schemas.envelope import Count, JobMessage, Name, Share, Value, shallow
from schemas.maps import Parallelism

SkeletonState = Literal["forming", "trusted", "degraded", "stale", "disabled"]
Edge = tuple[str, str, str]
"""(endpoint, endpoint, kind), undirected, the endpoints in ascending order; kind ``user`` = asked for by its users."""


class Group(Value, frozen=True, kw_only=True):
    """Endpoints that play one role together; ``rail`` null = spans rails."""

    kind: Literal["dp", "pp", "ep", "unknown"]
    members: tuple[str, ...]
    rail: Count | None = None


class SkeletonUpdate(JobMessage, frozen=True, kw_only=True):
    """Topic ``skeleton-updates``, key job. ``coverage`` = share of observed burst bytes that the skeleton explains."""

    skeleton: Name
    version: Count
    supersedes: Count | None
    endpoint_map_version: Count
    state: SkeletonState
    confidence: Share
    coverage: Share
    period_s: float | None
    groups: tuple[Group, ...]
    edges: tuple[Edge, ...]
    parallelism: Parallelism
    reason: str
    evidence: dict[str, object] = {}

    def __post_init__(self) -> None:
        shallow(evidence=self.evidence)


class SkeletonOverride(JobMessage, frozen=True, kw_only=True):
    """Topic ``skeleton-overrides``, key job: what a job's users want; a higher ``version`` replaces a lower one.

    ``disabled``: neither infer nor probe. ``edges``: pairs to probe besides the skeleton's. Both add to the settings.
    """

    version: Count
    disabled: bool = False
    edges: tuple[tuple[Name, Name], ...] = ()
    reason: str = ""
