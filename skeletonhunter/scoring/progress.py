"""How many training steps did a fault cost, and how many of them would isolation once localized have saved?

The oracle isolates the faulty component at its onset, so each affected job goes on at its usual step time (median of
the steps that ended before the recording's first fault). A job's real progress over [a, b] is the sum over its steps of
the share of each that lies in [a, b]; a job that hangs makes none. With a component named at time L, the loss is what
is missing over [onset, L] and none after it; unnamed or ``unaided``, over the whole fault. A step that is not yet
reported when the recording ends counts as going normally until it is overdue.
Null when no affected job reported a step before the first fault. Source: the paper's argument for fast isolation
(a lost collective costs the step); cost O(steps).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from schemas.instants import SECOND_US, micros, seconds
from schemas.truth import Fault
from skeletonhunter.scoring.facts import FinishedStep, RecordingFacts
from skeletonhunter.scoring.verdicts import StepsLost


def steps_lost(
    facts: RecordingFacts, fault: Fault, jobs: frozenset[str], localized_us: int | None, first_fault_us: int
) -> StepsLost | None:
    """Steps lost to ``fault`` by ``jobs``; null = there is nothing to compare with."""
    losses = [
        _loss_of_job(
            [step for step in facts.steps if step.job == job], facts.end_us, fault, localized_us, first_fault_us
        )
        for job in sorted(jobs)
    ]
    known = [loss for loss in losses if loss is not None]
    return StepsLost(sum(loss.lost for loss in known), sum(loss.unaided for loss in known)) if known else None


def _loss_of_job(
    steps: Sequence[FinishedStep], recorded_us: int, fault: Fault, localized_us: int | None, first_fault_us: int
) -> StepsLost | None:
    before = [step.step_s for step in steps if step.end_us <= first_fault_us and step.step_s > 0]
    if not before:
        return None
    usual_s = median(before)
    end_us = min(fault.end_us, recorded_us)
    isolated_us = end_us if localized_us is None else min(max(localized_us, fault.start_us), end_us)
    running = [*steps, _unreported(steps, usual_s)]
    return StepsLost(
        _missing(running, usual_s, fault.start_us, isolated_us), _missing(running, usual_s, fault.start_us, end_us)
    )


def _unreported(steps: Sequence[FinishedStep], usual_s: float) -> FinishedStep:
    last_us = max(step.end_us for step in steps)
    return FinishedStep(steps[0].job, last_us + micros(usual_s), usual_s)


def _missing(steps: Sequence[FinishedStep], usual_s: float, from_us: int, to_us: int) -> float:
    if to_us <= from_us:
        return 0.0
    done = sum(_share_within(step, from_us, to_us) for step in steps)
    return max(0.0, seconds(to_us - from_us) / usual_s - done)


def _share_within(step: FinishedStep, from_us: int, to_us: int) -> float:
    begin_us = step.end_us - step.step_s * SECOND_US
    inside_us = min(step.end_us, to_us) - max(begin_us, from_us)
    return max(0.0, inside_us / (step.step_s * SECOND_US)) if step.step_s > 0 else 0.0
