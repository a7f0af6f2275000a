"""Which version of the skeleton is sent, and when? Nothing that does not matter, and nothing that does is held back.

An update is sent when state, structure, endpoint map, a user's wish or the kind of reason changes, or the confidence by
0.1; its version grows by one, its id is a function of job, endpoint map and structure.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.folding import DERIVED_CLOCK, Emission, derived_producer
from schemas.ids import content_id
from schemas.skeletons import SkeletonUpdate
from skeleton.inference import Structure
from skeleton.membership import Membership
from skeleton.overrides import Wish, augment
from skeleton.state import JobState, Standing

STAGE = "skeleton"
TOLD = 0.1
"""A change of confidence of less is not worth a version."""


def material(structure: Structure, standing: Standing, state: JobState) -> bool:
    """Whether what the job has now differs from what it had in a way that others must know."""
    new = state.standing
    if state.structure != structure or (new.state, new.code) != (standing.state, standing.code):
        return True
    return abs(new.confidence - standing.confidence) >= TOLD


def next_update(state: JobState, membership: Membership, wish: Wish, t_us: int) -> Sequence[Emission]:
    """The next version, as the job stands now."""
    superseded, state.version = state.version or None, state.version + 1
    structure, standing = state.structure, state.standing
    edges, said = ((), {}) if wish.disabled else augment(structure.edges, wish, membership)
    update = SkeletonUpdate(
        v=1,
        t_us=t_us,
        producer=derived_producer(STAGE, state.job, state.version),
        clock=DERIVED_CLOCK,
        fabric=state.fabric,
        job=state.job,
        tenant=state.tenant,
        skeleton=content_id("skeleton", state.job, membership.version, edges, _listing(structure)),
        version=state.version,
        supersedes=superseded,
        endpoint_map_version=membership.version,
        state=standing.state,
        confidence=standing.confidence,
        coverage=standing.coverage,
        period_s=standing.period_s,
        groups=structure.groups,
        edges=edges,
        parallelism=structure.parallelism,
        reason=standing.reason,
        evidence={**standing.evidence, **said},
    )
    return (Emission("skeleton-updates", state.job, update),)


def _listing(structure: Structure) -> list[tuple[str, int | None, tuple[str, ...]]]:
    return [(group.kind, group.rail, group.members) for group in structure.groups]
