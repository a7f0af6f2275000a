"""The straightforward way to a skeleton, in SciPy: what ours is put beside. Counters only, after the published method.

    python benchmarks/skeleton_baseline.py FOLDER [-o baseline.json]     # all recordings in a folder

Bytes sent, interpolated to 1 s; two kinds of features per RNIC: the magnitude of its STFT (windows of 64 s), or its
z-scored series; average linkage rail by rail; the number of groups is the divisor with the best silhouette less the
relative spread of the groups' sizes; groups in order of their time shift against the first; RNICs of neighbouring
groups are paired in the order of the endpoint map. ``trusted`` when the autocorrelation of all bytes has a peak of 0.4,
whose height is the confidence. Of the two kinds of features the one with the better recall stands in the table, which
favours this method: without the truth nobody could choose. Units: seconds, bytes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.signal import stft
from scipy.spatial.distance import pdist, squareform

from schemas.codec import decode
from schemas.maps import EndpointMap
from schemas.telemetry import RnicCounters
from skeletonhunter.evaluation.cases import recordings_below
from skeletonhunter.evaluation.skeletons.scores import Answer, SkeletonScore, score_skeleton
from skeletonhunter.evaluation.skeletons.traces import OtherMethod
from skeletonhunter.evaluation.skeletons.truths import read_skeleton_truth, seats_of
from skeletonhunter.recordings.reader import Recording

Features = Literal["stft", "corr"]
FEATURES: tuple[Features, ...] = ("stft", "corr")
WINDOW_S, PEAK = 64, 0.4


class Samples(NamedTuple):
    """One RNIC's samples: instants (us) and bytes sent, cumulative."""

    t_us: list[int]
    tx: list[int]


def bytes_per_second(samples: Sequence[Samples]) -> np.ndarray:
    """Bytes sent in each second by each RNIC, shape (RNICs, seconds); what a reset hides is 0."""
    first = min(each.t_us[0] for each in samples if each.t_us)
    last = max(each.t_us[-1] for each in samples if each.t_us)
    grid = np.arange(first, last, 1_000_000)
    rows = []
    for each in samples:
        moved = np.diff(np.array(each.tx, dtype=float), prepend=each.tx[0] if each.tx else 0.0)
        total = np.cumsum(np.maximum(moved, 0.0))
        rows.append(np.interp(grid, each.t_us, total) if each.t_us else np.zeros(len(grid)))
    return np.diff(np.array(rows), axis=1)


def find_period(total: np.ndarray) -> tuple[float | None, float]:
    """The lag (s) of the highest peak of the autocorrelation, and its height."""
    centred = total - total.mean()
    size = 1 << (2 * len(centred) - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred, size)) ** 2
    correlation = np.fft.irfft(spectrum)[: len(centred) // 2]
    correlation /= max(correlation[0], 1e-9)
    peaks = [lag for lag in range(2, len(correlation) - 1) if _is_peak(correlation, lag)]
    best = max(peaks, key=lambda lag: correlation[lag], default=None)
    return (None, 0.0) if best is None else (float(best), float(correlation[best]))


def _is_peak(correlation: np.ndarray, lag: int) -> bool:
    return bool(correlation[lag - 1] < correlation[lag] >= correlation[lag + 1])


def z_scored(tx: np.ndarray) -> np.ndarray:
    """Each row with mean 0 and deviation 1."""
    return (tx - tx.mean(axis=1, keepdims=True)) / (tx.std(axis=1, keepdims=True) + 1e-9)


def distances(tx: np.ndarray, features: Features) -> np.ndarray:
    """Condensed distances between the RNICs of a rail."""
    scored = z_scored(tx)
    if features == "stft":
        window = min(WINDOW_S, scored.shape[1])
        spectra = np.abs(stft(scored, nperseg=window, noverlap=window // 2)[2])
        return pdist(spectra.reshape(len(tx), -1))
    return pdist(scored, "sqeuclidean") / (2.0 * scored.shape[1])


def equal_groups(condensed: np.ndarray, count: int) -> np.ndarray:
    """Labels 1.. of the RNICs of a rail: groups as alike inside and as equal in size as can be."""
    tree, square = linkage(condensed, "average"), squareform(condensed)
    best, best_score = np.ones(count, dtype=int), -np.inf
    for groups in range(2, count // 2 + 1):
        if count % groups:
            continue
        labels = fcluster(tree, groups, "maxclust")
        sizes = np.bincount(labels)[1:]
        score = silhouette(square, labels) - float(sizes.std() / sizes.mean())
        if score > best_score:
            best, best_score = labels, score
    return best


def silhouette(square: np.ndarray, labels: np.ndarray) -> float:
    """Mean silhouette (Rousseeuw 1987) of a partition, of distances; alone counts 0."""
    member = labels[:, None] == np.arange(1, labels.max() + 1)[None, :]
    sizes = member.sum(axis=0)
    means = square @ member / sizes
    mine = sizes[labels - 1]
    own = means[member] * mine / np.maximum(mine - 1, 1)
    other = np.where(member, np.inf, means).min(axis=1)
    values = (other - own) / np.maximum(np.maximum(own, other), 1e-12)
    return float(np.where(mine > 1, values, 0.0).mean())


def time_shift_s(series: np.ndarray, reference: np.ndarray) -> int:
    """By how much ``series`` is later than ``reference``, by their cross-correlation."""
    most = min(30, len(series) // 4)
    lags = range(-most, most + 1)
    return max(lags, key=lambda lag: float(np.dot(np.roll(reference, lag), series)))


def cluster(tx: np.ndarray, rails: dict[int, list[int]], features: Features) -> list[list[list[int]]]:
    """Per rail its groups in order of time, each a list of row numbers in the order given."""
    found = []
    for rows in rails.values():
        if len(rows) < 3:
            found.append([rows])
            continue
        labels = equal_groups(distances(tx[rows], features), len(rows))
        groups = [[row for row, label in zip(rows, labels, strict=True) if label == wanted] for wanted in set(labels)]
        means = [z_scored(tx[group]).mean(axis=0) for group in groups]
        shifts = [time_shift_s(mean, means[0]) for mean in means]
        found.append([groups[place] for place in np.argsort(shifts, kind="stable")])
    return found


def infer(samples: Sequence[Samples], names: Sequence[str], rails: dict[int, list[int]], features: Features) -> Answer:
    """The method's answer for one job; ``rails``: rows of each rail, in the order of the endpoint map."""
    tx = bytes_per_second(samples)
    period_s, height = find_period(tx.sum(axis=0))
    edges: set[tuple[str, str]] = set()
    groups, chains = [], []
    for ordered in cluster(tx, rails, features):
        for group in ordered:
            groups.append(tuple(names[row] for row in group))
            edges |= {pair(names[a], names[b]) for n, a in enumerate(group) for b in group[:n]}
        chain = list(zip(*ordered, strict=False)) if len(ordered) > 1 else []  # the longer group's rest is left alone
        chains += [tuple(names[row] for row in each) for each in chain]
        edges |= {pair(a, b) for each in chains for a, b in pairwise(each)}
    return Answer(
        state="trusted" if height >= PEAK else "forming",
        confidence=min(max(height, 0.0), 1.0),
        period_s=period_s,
        edges=frozenset(edges),
        groups=tuple(groups),
        chains=tuple(chains),
    )


def pair(a: str, b: str) -> tuple[str, str]:
    """The pair in ascending order."""
    return (a, b) if a < b else (b, a)


def read_jobs(recording: Recording) -> dict[str, tuple[EndpointMap, dict[str, Samples]]]:
    """The newest map of each job, and the samples of its endpoints, sorted by time."""
    maps: dict[str, EndpointMap] = {}
    samples: dict[str, dict[str, list[tuple[int, int]]]] = {}
    for line in recording.lines():
        if line.topic not in ("endpoint-map", "rnic-counters"):
            continue
        value = decode(line.topic, line.key, line.raw, line.arrival_us)
        if isinstance(value, EndpointMap):
            maps[value.job] = value
        elif isinstance(value, RnicCounters):
            for column in value.rnics:
                rows = zip(column.t_us, column.tx_bytes, strict=True)
                kept = samples.setdefault(value.job, {}).setdefault(f"{value.container}/{column.rnic}", [])
                kept += [(t_us, tx) for t_us, tx in rows if tx is not None]
    return {job: (maps[job], {name: _columns(rows) for name, rows in samples[job].items()}) for job in maps}


def _columns(rows: list[tuple[int, int]]) -> Samples:
    rows = sorted(rows)
    return Samples([t_us for t_us, _ in rows], [tx for _, tx in rows])


def judge(path: Path) -> dict[str, dict[Features, SkeletonScore]]:
    """Scores of both kinds of features, by job."""
    with Recording(path) as recording:
        truth = read_skeleton_truth(recording)
        jobs = read_jobs(recording)
    scores: dict[str, dict[Features, SkeletonScore]] = {}
    for job, (endpoint_map, samples) in jobs.items():
        seats = seats_of(endpoint_map)
        names = [e.endpoint for e in endpoint_map.endpoints if e.state != "gone" and e.endpoint in samples]
        rails: dict[int, list[int]] = {}
        for row, name in enumerate(names):
            rails.setdefault(seats.rails[name], []).append(row)
        columns = [samples[name] for name in names]
        true = truth.of(job, seats.rails)
        scores[job] = {f: score_skeleton(infer(columns, names, rails, f), true, seats) for f in FEATURES}
    return scores


def better(scores: dict[Features, SkeletonScore]) -> SkeletonScore:
    """The one with the better recall, then precision."""
    return max(scores.values(), key=lambda score: (score.recall or 0.0, score.precision or 0.0))


def main() -> None:
    """Writes or prints the figures of all recordings in a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    judged = {path.name: judge(path) for path in recordings_below(given.folder)}
    best = {name: {job: better(scores) for job, scores in jobs.items()} for name, jobs in judged.items()}
    figures = OtherMethod("plain clustering of counters", best)
    if given.output:
        given.output.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=1) + b"\n")
    else:
        print(json.dumps(msgspec.to_builtins(judged), indent=1))


if __name__ == "__main__":
    main()
