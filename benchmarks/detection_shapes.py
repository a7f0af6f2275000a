"""What do the latency tests find that is not simply slow? Each of them alone, a quarter of an hour of each trouble.

One train of three probes a second, log-normal noise; a *spread* is the standard deviation of the second's mean ln RTT.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from benchmarks.detection_streams import SIGMA, PairStream, normal
from localization.parameters import DetectionParameters

WARM_S, LASTS_S, PROBES = 600, 900, 3
SPREAD = SIGMA / np.sqrt(PROBES)
NEVER = 1e9
ALONE = {
    "rtt-cusum": replace(DetectionParameters(), outlier_factor=NEVER, drift_sigma=NEVER),
    "rtt-outlier": replace(DetectionParameters(), latency_clip_sigma=0.01, drift_sigma=NEVER),
}
"""One test at a time: no factor reaches ``NEVER``, and steps clipped below the allowance never add up."""


@dataclass(frozen=True)
class Trouble:
    """ln RTT times ``times``, plus ``spreads`` (times the share of the quarter that is over, if ``ramp``), and in
    ``share`` of the seconds ln(``factor``) on top."""

    spreads: float = 0.0
    ramp: bool = False
    times: float = 1.0
    share: float = 0.0
    factor: float = 1.0

    def suffer(self, draw: np.random.Generator, noise: np.ndarray, since_s: int) -> np.ndarray:
        """Noise with the trouble, ``since_s`` seconds after its onset."""
        level = self.spreads * SPREAD * (since_s / LASTS_S if self.ramp else 1.0)
        slow = draw.random((len(noise), 1)) < self.share
        return np.asarray(self.times * noise + level + np.log(self.factor) * slow)


TROUBLES = {
    "slower by 2 spreads": Trouble(spreads=2.0),
    "slower by 1.5 spreads": Trouble(spreads=1.5),
    "slower by 1 spread": Trouble(spreads=1.0),
    "slower by 0.75 spreads": Trouble(spreads=0.75),
    "one second in ten 5 times slower": Trouble(share=0.1, factor=5.0),
    "one second in twenty 10 times slower": Trouble(share=0.05, factor=10.0),
    "twice the spread, same level": Trouble(times=2.0),
    "2 spreads slower, evenly over the quarter": Trouble(spreads=2.0, ramp=True),
}


@dataclass(frozen=True)
class Found:
    """Share of the pairs that one test found, and the mean delay (s) of those."""

    trouble: str
    level_us: float
    detector: str
    share: float
    mean_s: float | None


def find(trouble: str, level_us: float, detector: str, pairs: int) -> Found:
    """One trouble, one test."""
    draw, stream, found = np.random.default_rng(21), PairStream(pairs, ALONE[detector]), dict[int, int]()
    noise, suffers = normal(draw, pairs, PROBES), TROUBLES[trouble]
    at_s, lost = np.full((pairs, 1), 0.5), np.zeros((pairs, 1), np.int64)
    while stream.second < WARM_S + LASTS_S:
        log_rtt, since_s = next(noise), stream.second - WARM_S
        log_rtt = suffers.suffer(draw, log_rtt, since_s) if since_s >= 0 else log_rtt
        for finding in stream.take(np.log(level_us) + log_rtt, lost, 100, at_s):
            if since_s >= 0 and finding.detector == detector:
                found.setdefault(finding.row, stream.second - WARM_S)
    mean_s = float(np.mean(list(found.values()))) if found else None
    return Found(trouble, level_us, detector, len(found) / pairs, mean_s)


def all_shapes(pairs: int) -> list[Found]:
    """The table: at 60 us spreads count, at 13 us the fast test has a floor of 4 us and the other one of 3 us."""
    return [find(trouble, level, each, pairs) for trouble in TROUBLES for level in (60.0, 13.0) for each in ALONE]
