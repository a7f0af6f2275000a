"""What suspects gain, all at once, beside the definition: one suspect, mode and first second after another."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from localization.arrays import Floats, Ints
from localization.inference import infer
from localization.likelihood import explained
from localization.modes import MODES, freedom, misfit
from localization.samples import Sample
from localization.weighing import gains, most_by_suspect
from tests.unit.localization.test_pieces import sample

LEAST = 100.0


def said(known: Sample, p: Floats, row: int, mode: int) -> float:
    """What one lossy train says for a mode, by the definition of ``localization.modes``."""
    lost, survived = known.lost[[row]], known.sent[[row]] - known.lost[[row]]
    before = misfit(lost, survived, p[[row]])
    if mode < len(MODES.loss):
        then = misfit(lost, survived, 1.0 - (1.0 - p[[row]]) * (1.0 - MODES.loss[mode]))
        return float((before - then)[0])
    hit = MODES.hit[mode - len(MODES.loss)]
    return max(float((before - freedom(lost + survived))[0] + np.log(hit)), float(np.log1p(-hit)))


def slow_gains(known: Sample, p: Floats, suspect: int) -> tuple[list[float], list[int]]:
    """By mode: the best gain over all first seconds, and the first second that has it."""
    best, since = [], []
    rows = np.flatnonzero((known.members == suspect).any(axis=1)).tolist()
    for mode in range(MODES.size):
        by_second = known.against[:, suspect, mode].copy()
        for row in rows:
            by_second[known.second[row]] += said(known, p, row, mode)
        sums = [float(by_second[begin:].sum()) for begin in range(len(by_second))]
        best.append(max(sums) + float(MODES.prior[mode]))
        since.append(sums.index(max(sums)))
    return best, since


@pytest.mark.parametrize("faulty", [set(), {4}, {1, 9}])
@pytest.mark.parametrize("tried", [np.arange(12), np.array([4]), np.array([0, 4, 9])])
def test_gains_are_what_the_definition_says(faulty: set[int], tried: Ints) -> None:
    known = sample(faulty, 0.05, routes=20)
    found = gains(known, known.base, tried)
    for suspect in tried.tolist():
        best, since = slow_gains(known, known.base, suspect)
        assert found.by_mode[suspect] == pytest.approx(best)
        assert found.best[suspect] == pytest.approx(max(best))
        assert found.since[suspect, np.argmax(best)] == since[int(np.argmax(best))]


@pytest.mark.parametrize("tried", [np.arange(12), np.array([0, 1, 2, 5, 9, 11])])
def test_what_is_not_looked_at_could_not_have_gained_enough(tried: Ints) -> None:
    known = sample({1, 5, 9}, 0.05)
    gains(known, known.base, tried)
    picks = infer(dataclasses.replace(known), 12.0, lambda suspect: (0, str(suspect))).picks
    assert len(picks) == 3
    left = 0
    for some in (picks[:1], picks[:2], picks, picks[1:], picks[::2], []):
        p = explained(known, some, 1.0)
        found, whole = gains(known, p, tried, LEAST), gains(dataclasses.replace(known), p, tried)
        enough = whole.best >= LEAST
        assert found.best[enough] == pytest.approx(whole.best[enough])
        assert found.since[enough].tolist() == whole.since[enough].tolist()
        assert (found.best[~enough] < LEAST).all()
        assert (found.best >= whole.best - 1e-9).all()
        left += int((found.best > whole.best + 1e-9).sum())
    assert left > 0, "everything was looked at, so nothing was tried"


def test_nobody_gains_more_than_its_trains_could_say() -> None:
    known = sample({1, 9}, 0.05)
    most = most_by_suspect(known.members, MODES.say(known.lost, known.sent - known.lost, known.base), 12)
    assert (gains(known, known.base, np.arange(12)).best <= most + 1e-9).all()
