"""Where many faults last, which of them does a search begin with?"""

from __future__ import annotations

from localization.arrays import Ints
from localization.samples import Pick
from localization.watch import FabricWatch
from schemas.instants import SECOND_US

SETTLED_US = 10 * SECOND_US
MANY = 8
"""Faults; fewer are found anew each time."""
ANEW_US = 60 * SECOND_US


def settled_picks(watch: FabricWatch, numbers: Ints, t_us: int) -> list[Pick]:
    """Where many faults last, those that were found a while ago, to begin with: to find all again, one after the
    other, would take longer than a second. None where a review is due and nothing new speaks: then all is looked at.
    """
    lasting = [fault for fault in watch.active() if fault.ended_us is None]
    settled = [fault for fault in lasting if t_us - fault.found_us >= SETTLED_US]
    if len(settled) < MANY or (watch.looked_at < watch.penalty and t_us >= watch.anew_us):
        watch.anew_us = t_us + ANEW_US
        return []
    own = {number: at for at, number in enumerate(numbers.tolist())}
    index, begins_us = watch.routes.suspects.index, watch.window.seconds[0].t_us - SECOND_US
    picks = []
    for fault in settled:
        rivals = tuple((own[index[rival]], gain) for rival, gain in fault.rivals if index.get(rival) in own)
        since = max(0, (fault.since_us - begins_us) // SECOND_US)
        pick = Pick(
            suspect=own[index[fault.suspect]],
            at=0,  # fitted anew, as loss, share of trains and gain are
            loss=fault.loss,
            hit=fault.hit,
            since=since,
            gain=fault.gain,
            rivals=rivals,
            lead=fault.lead,
        )
        picks.append(pick)
    return picks
