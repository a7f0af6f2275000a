"""What changes when evidence is taken away? The same recordings, scored with it and without it, fault by fault.

Faults are compared in pairs, so a difference is not lost in the spread between scenarios. ``p``: exact two-sided
McNemar test (Q. McNemar, 1947): the chance of so uneven a split of the faults that changed if taking the evidence away
made no difference; 1 when none changed. Faults that no probe can see are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

from msgspec import Struct

from skeletonhunter.scoring.figures import Figures, pool
from skeletonhunter.scoring.verdicts import FaultVerdict, Score

Contrasted = tuple[Score, Score]
"""One recording: with all evidence, and without some."""


class Change(Struct, frozen=True, kw_only=True):
    """Faults of which something is right only with the evidence (``lost`` without it), and only without it."""

    lost: int
    gained: int
    p: float


class Ablation(Struct, frozen=True, kw_only=True):
    """``whole`` and ``without``: figures of the same recordings. Changes: component named, issue said."""

    whole: Figures
    without: Figures
    named: Change
    issue: Change


def contrast(pairs: Sequence[Contrasted]) -> Ablation:
    """What taking the evidence away does to these recordings.

    Raises:
        ValueError: both scores of a pair are not of the same faults.
    """
    faults = [both for pair in pairs for both in _faults(*pair)]
    return Ablation(
        whole=pool([whole for whole, _ in pairs]),
        without=pool([without for _, without in pairs]),
        named=_change(faults, lambda fault: bool(fault.naming)),
        issue=_change([both for both in faults if both[0].issue], lambda fault: fault.said == fault.issue),
    )


def _faults(whole: Score, without: Score) -> list[tuple[FaultVerdict, FaultVerdict]]:
    if [fault.fault for fault in whole.faults] != [fault.fault for fault in without.faults]:
        raise ValueError(f"{whole.recording} and {without.recording} do not have the same faults")
    return [both for both in zip(whole.faults, without.faults, strict=True) if both[0].in_reach]


def _change(faults: Sequence[tuple[FaultVerdict, FaultVerdict]], is_right: Callable[[FaultVerdict], bool]) -> Change:
    outcomes = [(is_right(whole), is_right(without)) for whole, without in faults]
    lost, gained = outcomes.count((True, False)), outcomes.count((False, True))
    return Change(lost=lost, gained=gained, p=mcnemar(lost, gained))


def mcnemar(lost: int, gained: int) -> float:
    """Two-sided p-value of a split of ``lost + gained`` changes by a fair coin."""
    changed = lost + gained
    tail: float = sum(comb(changed, k) for k in range(min(lost, gained) + 1)) / 2**changed
    return min(1.0, 2.0 * tail)
