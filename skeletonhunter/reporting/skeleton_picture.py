"""The skeletons of the jobs that an incident touches, as SVG: first those of the jobs with most endpoints in it."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.diagnosis import Incident
from skeletonhunter.evaluation.skeletons.layout import spots_of
from skeletonhunter.evaluation.skeletons.plot_structure import graph_of
from skeletonhunter.reporting.backdrop import Backdrop
from skeletonhunter.reporting.pictures import as_svg

MOST_JOBS = 2


def draw_skeletons(incident: Incident, backdrop: Backdrop) -> Iterator[tuple[str, str]]:
    """(job, picture) of each job of the incident whose skeleton has pairs, ``MOST_JOBS`` at most."""
    drawn = 0
    for job in incident.jobs:
        update = backdrop.skeletons.get(job)
        if update is None or not update.edges or drawn == MOST_JOBS:
            continue
        members = {name for edge in update.edges for name in edge[:2]}
        members.update(name for group in update.groups for name in group.members)
        rails = {name: backdrop.endpoints[name].rail for name in members if name in backdrop.endpoints}
        if rails:
            drawn += 1
            yield job, as_svg(graph_of(update, spots_of(update, rails)))
