"""Which faults does a scenario have, where and when? Draws what the scenario leaves open, and adds up the effects."""

from __future__ import annotations

import numpy as np

from skeletonhunter.testbed.effects import Effects, Injection
from skeletonhunter.testbed.faults import INJECTORS, Site
from skeletonhunter.testbed.intervals import always
from skeletonhunter.testbed.paths import Epoch
from skeletonhunter.testbed.scenario import FaultPlan, ScenarioError
from skeletonhunter.testbed.world import World

ONSET_SHARE = (0.35, 0.5)
LEAST_S = 20.0


def inject(world: World) -> list[Injection]:
    """The faults of the scenario, in their order.

    Raises:
        ScenarioError: a fault is not known, ends before it begins, or nothing in the scenario can have it.
    """
    injections = []
    for number, plan in enumerate(world.scenario.faults):
        rng = world.draw(f"fault {number}")
        injections.append(_injector(plan, number)(_site(world, plan, number, rng)))
    return injections


def _injector(plan: FaultPlan, number: int):  # type: ignore[no-untyped-def]
    if plan.what not in INJECTORS:
        known = ", ".join(INJECTORS)
        raise ScenarioError(f"faults[{number}]: what is {plan.what!r}, known are {known}")
    return INJECTORS[plan.what]


def _site(world: World, plan: FaultPlan, number: int, rng: np.random.Generator) -> Site:
    seconds = world.span.seconds
    drawn = float(rng.uniform(*ONSET_SHARE)) * seconds
    start_s = round(drawn if plan.start_s is None else plan.start_s, 3)
    rest = max(0.0, seconds - start_s - LEAST_S)
    end_s = round(start_s + LEAST_S + rest * float(rng.uniform(0.5, 1.0)) if plan.end_s is None else plan.end_s, 3)
    if not start_s < end_s or start_s >= seconds:
        raise ScenarioError(f"faults[{number}]: from {start_s} s to {end_s} s is no time within {seconds} s")
    severity = float(rng.uniform()) if plan.severity is None else plan.severity
    return Site(world, rng, always(start_s, min(end_s, float(seconds))), severity)


def add_up(injections: list[Injection]) -> Effects:
    """All effects together; routing epochs in order of time."""
    total = Effects()
    for injection in injections:
        total = total + injection.effects
    return total


def routing_epochs(effects: Effects) -> tuple[Epoch, ...]:
    """The epochs of all faults, after the one from the beginning."""
    return (Epoch(-np.inf), *sorted(effects.epochs, key=lambda epoch: epoch.start_s))
