"""How often does chance alone look like a weak fault? What bounds the recall of any localizer on lossy-link recordings.

    python benchmarks/weak_faults.py RECORDING... [--draws 400]

Keeps the probe trains of each recording's last 20 s (packets, links that they cross; trees and leaf-spine fabrics) and
draws their losses anew from healthy links, each losing a share of its own, 0 to ``--background`` of its packets. Then
the directed link that most evidence speaks against: the gain, in nats, of a loss of its own (at least
``--least``) over what links lose in the mean, known exactly. A fault that carries no more than chance does in such
draws can't be told from it, whatever the method.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import orjson
from scipy.sparse import csr_array

from localization.arrays import Floats
from skeletonhunter.recordings.reader import Recording

SECONDS = 20.0
LEVELS = (6.3, 6.9, 8.0, 10.0)
"""Nats. The first two are what the faults carry that the best referees miss; at the last those blame a link."""


def trains(path: Path) -> tuple[Floats, csr_array]:
    """Packets sent by each train (of all trains), and which directed links it crosses (links x trains, 0 or 1)."""
    with Recording(path) as recording:
        results = [orjson.loads(line.raw)["results"] for line in recording.lines() if line.topic == "probe-results"]
    found = [(each["t_us"], each["sent"], each["path"]) for several in results for each in several]
    end = max(at for at, _, _ in found)
    found = [each for each in found if each[0] > end - SECONDS * 1e6]
    numbers: dict[tuple[str, bool], int] = {}
    crossings = [
        (numbers.setdefault((link, 2 * hop < len(links)), len(numbers)), train)
        for train, (_, _, links) in enumerate(found)
        for hop, link in enumerate(links)
    ]
    rows, columns = np.array(crossings).T
    return np.array([float(sent) for _, sent, _ in found]), csr_array(
        (np.ones(len(rows)), (rows, columns)), shape=(len(numbers), len(found))
    )


def gains(lost: Floats, sent: Floats, usual: Floats, crosses: csr_array, least: float) -> Floats:
    """Nats for each link: the best loss of its own, from ``least`` on, over ``usual`` (loss of each train's path)."""
    best = np.zeros(crosses.shape[0])
    for own in np.geomspace(least, 0.05, 24):
        new = usual + own
        each = lost * np.log(new / usual) + (sent - lost) * np.log((1 - new) / (1 - usual))
        best = np.maximum(best, crosses @ each)
    return best


def greatest(path: Path, draws: int, background: float, least: float) -> Floats:
    """The greatest gain of any link in each draw."""
    sent, crosses = trains(path)
    random = np.random.default_rng(1)
    usual = np.asarray(crosses.sum(axis=0)).ravel() * background / 2
    found = []
    for _ in range(draws):
        losses = random.uniform(0, background, crosses.shape[0])
        lost = random.binomial(sent.astype(int), 1 - np.exp(crosses.T @ np.log1p(-losses))).astype(float)
        found.append(gains(lost, sent, usual, crosses, least).max())
    return np.array(found)


def main() -> None:
    """Prints how often chance reaches each level, for each recording."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path, nargs="+")
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--background", type=float, default=1e-4, help="greatest loss of a healthy link")
    parser.add_argument("--least", type=float, default=5e-4, help="least loss that is called a fault")
    given = parser.parse_args()
    for path in given.recordings:
        nats = greatest(path, given.draws, given.background, given.least)
        shares = {f"at least {level} nats": round(float((nats >= level).mean()), 4) for level in LEVELS}
        print(json.dumps({"recording": path.name, "median": round(float(np.median(nats)), 2), **shares}))


if __name__ == "__main__":
    main()
