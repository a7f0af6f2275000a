"""Confidence against outcome, and the confusion of issues."""

from __future__ import annotations

import pytest

from schemas.diagnosis import ISSUE_CLASSES
from schemas.truth import ISSUES
from skeletonhunter.scoring import Score, score
from skeletonhunter.scoring.calibration import calibrate
from skeletonhunter.scoring.confusion import NO_FAULT, confuse
from tests.unit.scoring.cases import facts, fault, incident, truth


def judged() -> Score:
    """Three alarms at 0.9 of which two are right, one right at 0.3, and one undecided."""
    faults = [fault(f"rnic:h{n}/r0", "gid_change", fault=f"f{n}") for n in (1, 2, 3)]
    blames = [
        incident("rnic:h1/r0", "gid_change", name="i1", confidence=0.9),
        incident("rnic:h2/r0", "bond_error", name="i2", confidence=0.9),
        incident("link:f22", None, name="i3", confidence=0.9),
        incident("rnic:h3/r0", None, name="i4", confidence=0.3),
        incident(None, name="i5", kind="insufficient_evidence", confidence=0.5, endpoints=("c1/r0",)),
    ]
    return score(truth(*faults), blames, facts())


def test_bins_hold_share_right_beside_mean_confidence() -> None:
    calibration = calibrate(judged().alarms)
    low, high = calibration.bins
    assert (low.low, low.high, low.alarms, low.share_right) == (0.2, 0.3, 1, 1.0)
    assert (high.alarms, high.share_right) == (3, pytest.approx(2 / 3))
    assert calibration.brier == pytest.approx((0.7**2 + 0.1**2 * 2 + 0.9**2) / 4)
    assert calibration.expected_error == pytest.approx((1 * 0.7 + 3 * (0.9 - 2 / 3)) / 4)


def test_ends_of_the_scale_have_a_bin() -> None:
    blames = [incident("rnic:h1/r0", name=f"i{c}", confidence=c) for c in (0.0, 0.1, 1.0)]
    bins = calibrate(score(truth(fault("rnic:h1/r0")), blames, facts()).alarms).bins
    assert [(b.low, b.high, b.alarms) for b in bins] == [(0.0, 0.1, 2), (0.9, 1.0, 1)]


def test_nothing_said_is_not_calibrated() -> None:
    assert calibrate(()).brier is None


def test_confusion_counts_each_fault_once_and_each_false_alarm() -> None:
    result = judged()
    matrix = confuse(result.faults, result.alarms)
    cell = {
        (row, column): matrix.counts[i][j]
        for i, row in enumerate(matrix.rows)
        for j, column in enumerate(matrix.columns)
        if matrix.counts[i][j]
    }
    assert cell == {
        ("gid_change", "gid_change"): 1,
        ("gid_change", "bond_error"): 1,
        ("gid_change", "no issue"): 1,
        (NO_FAULT, "no issue"): 1,
    }


def test_every_issue_has_a_class_in_the_paper_s_order() -> None:
    assert tuple(ISSUE_CLASSES) == ISSUES
    assert len(ISSUES) == 19
