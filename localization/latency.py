"""Is a pair slower than it was? A CUSUM on ln RTT in units of the pair's own spread, one outlier worth little.
 x = mean ln RTT of the pair's samples in a window, z = (x - mean) / sd against the baseline
(``localization.baseline``), clipped to +-``clip`` so that one or two spikes can't alarm. The score adds z -
``allowance``, is kept at zero or above, and alarms at the h that gives the wanted time between false alarms with the
tails and the memory that healthy windows were seen to have (``localization.tails``). For a normal z, k = 1 and 10,000
pair-hours h = 7.9: a shift of 4 sd or more alarms in the third window, of 2 sd in about nine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localization.arrays import Floats, Ints
from localization.baseline import Baseline
from localization.columns import PairSums
from localization.pairs import PairColumns


@dataclass(frozen=True, slots=True)
class LatencyScores:
    """Per position: z of the window (nan: no sample or no baseline), the score, and its onset."""

    z: Floats
    score: Floats
    since_us: Ints


def score_latency(columns: PairColumns, sums: PairSums, baseline: Baseline, rule: tuple[float, float]) -> LatencyScores:
    """Adds the window to every pair's score. ``rule``: (allowance, clip)."""
    row = sums.row
    z = np.where(baseline.known, (sums.log_rtt - baseline.mean) / baseline.sd, np.nan)
    heard = ~np.isnan(z)
    step = np.where(heard, np.clip(z, -rule[1], rule[1]) - rule[0], 0.0)
    before = columns.rtt_score[row]
    after = np.maximum(0.0, before + step)
    fresh = (before == 0.0) & (after > 0.0)
    columns.rtt_since_us[row] = np.where(fresh, sums.first_us, columns.rtt_since_us[row])
    columns.rtt_score[row] = after
    columns.rtt_z[row] = np.where(heard, np.clip(z, -rule[1], rule[1]), 0.0)
    return LatencyScores(z, after, columns.rtt_since_us[row])
