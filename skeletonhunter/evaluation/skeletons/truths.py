"""What is the true skeleton of each job of a recording? The traffic part of ``truth.json``, and the jobs' rails.

``edges`` are undirected pairs; pairs between rails and pairs under two kinds are in the file and are sorted out here.
A job of which no edge is known (real switch counters) still has an expected state and period. For scoring only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Literal

import msgspec
from msgspec import Struct

from schemas.maps import EndpointMap
from skeletonhunter.recordings.files import Limits, read_whole
from skeletonhunter.recordings.manifest import TRUTH, RecordingError
from skeletonhunter.recordings.reader import Recording

Expectation = Literal["skeleton", "abstain", "unknown"]
Pair = tuple[str, str]


class Seats(Struct, frozen=True):
    """Where a job's endpoints are, as its newest map says: rail, host and leaf switch by endpoint."""

    rails: dict[str, int]
    hosts: dict[str, str]
    leaves: dict[str, str]

    def same_rail_pairs(self) -> frozenset[Pair]:
        """All pairs on one rail and on two hosts: the basic list, against which ratios are counted."""
        by_rail: dict[int, list[str]] = {}
        for name in sorted(self.rails):
            by_rail.setdefault(self.rails[name], []).append(name)
        pairs = (pair for names in by_rail.values() for pair in combinations(names, 2))
        return frozenset((a, b) for a, b in pairs if self.hosts[a] != self.hosts[b])


class TrueSkeleton(Struct, frozen=True, kw_only=True):
    """What holds for one job. ``periods_s``: any of them is right; none = there is no period or it isn't known."""

    expect: Expectation
    edges: frozenset[Pair] = frozenset()
    dp: tuple[tuple[str, ...], ...] = ()
    position: tuple[tuple[str, ...], ...] = ()
    periods_s: tuple[float, ...] = ()


class _Job(Struct):
    expect: Expectation = "unknown"
    period_s: float | None = None
    period_also_s: list[float] = []


class _Wire(Struct):
    expect: Expectation
    jobs: dict[str, _Job] = {}
    groups: dict[str, list[list[str]]] | None = None
    edges: list[tuple[str, str, str]] | None = None


class SkeletonTruth(Struct, frozen=True):
    """The file: what is expected of each job, and groups and edges of all jobs together."""

    wire: _Wire

    def of(self, job: str, endpoints: Iterable[str]) -> TrueSkeleton:
        """The truth of one job, whose endpoints these are."""
        mine = frozenset(endpoints)
        known = self.wire.jobs.get(job, _Job(self.wire.expect))
        groups: Mapping[str, list[list[str]]] = self.wire.groups or {}
        periods = [] if known.period_s is None else [known.period_s, *known.period_also_s]
        return TrueSkeleton(
            expect=known.expect,
            edges=frozenset((min(a, b), max(a, b)) for a, b, _ in self.wire.edges or () if a in mine and b in mine),
            dp=_of_job(groups.get("dp", []), mine),
            position=_of_job(groups.get("position", []), mine),
            periods_s=tuple(periods),
        )


def _of_job(groups: Iterable[list[str]], mine: frozenset[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(group) for group in groups if mine.issuperset(group))


def read_skeleton_truth(recording: Recording) -> SkeletonTruth:
    """The truth about skeletons of a recording.

    Raises:
        RecordingError: it has none, or it can't be used.
    """
    file = recording.folder / TRUTH
    if not file.is_file():
        raise RecordingError(f"{recording.path}: has no {TRUTH}, and without it there is nothing to score against")
    try:
        return SkeletonTruth(msgspec.json.decode(read_whole(file, str(file), Limits()), type=_Wire))
    except msgspec.MsgspecError as error:
        raise RecordingError(f"{file}: {error}, expected the truth of a traffic recording") from error


def seats_of(endpoint_map: EndpointMap) -> Seats:
    """Rail, host and leaf of the endpoints that are not gone; the leaf is the switch port without the port."""
    present = [endpoint for endpoint in endpoint_map.endpoints if endpoint.state != "gone"]
    return Seats(
        rails={e.endpoint: e.rail for e in present},
        hosts={e.endpoint: e.host for e in present},
        leaves={e.endpoint: e.switch_port.rpartition("/")[0] for e in present if e.switch_port},
    )
