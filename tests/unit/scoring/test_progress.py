"""Training steps lost: a hang, a slowdown, no harm, and the end of the recording."""

from __future__ import annotations

import pytest

from schemas.truth import Fault
from skeletonhunter.scoring import score
from skeletonhunter.scoring.facts import FinishedStep
from skeletonhunter.scoring.verdicts import StepsLost
from tests.unit.scoring.cases import at, facts, fault, incident, truth


def steps(*ends: float, job: str = "j1", begin: float = 0.0) -> tuple[FinishedStep, ...]:
    """Steps without a pause that end at these seconds."""
    starts = (begin, *ends)
    return tuple(FinishedStep(job, at(end), end - start) for start, end in zip(starts, ends, strict=False))


def lost(done: tuple[FinishedStep, ...], blamed_at: float | None = None, end: float = 60) -> StepsLost | None:
    broken: Fault = fault("rnic:h1/r0", begin=20, end=end)
    blames = [] if blamed_at is None else [incident("rnic:h1/r0", localized=blamed_at)]
    return score(truth(broken), blames, facts(steps=done)).faults[0].steps


def test_hang_loses_all_steps_until_the_component_is_named() -> None:
    hung = steps(2, 4, 6, 8, 10, 12, 14, 16, 18, 20)
    assert lost(hung) == StepsLost(pytest.approx(19.0), pytest.approx(19.0))  # one step is not overdue at 22 s
    assert lost(hung, blamed_at=30) == StepsLost(pytest.approx(4.0), pytest.approx(19.0))


def test_slowdown_loses_the_difference() -> None:
    slow = steps(*range(2, 21, 2), *range(24, 101, 4))
    assert lost(slow) == StepsLost(pytest.approx(10.0), pytest.approx(10.0))
    assert lost(slow, blamed_at=40) == StepsLost(pytest.approx(5.0), pytest.approx(10.0))


def test_fault_that_harms_nobody_costs_nothing_even_at_the_end_of_the_recording() -> None:
    going = steps(*range(3, 100, 3))
    assert lost(going, end=100) == StepsLost(pytest.approx(0.0), pytest.approx(0.0))


def test_faster_steps_do_not_make_a_loss_negative() -> None:
    assert lost(steps(*range(2, 21, 2), *range(21, 101))) == StepsLost(0.0, 0.0)


def test_other_jobs_do_not_count_and_without_a_healthy_step_nothing_is_said() -> None:
    assert lost(steps(*range(2, 21, 2), job="j2")) is None
    assert lost(steps(30, 40, begin=25)) is None
