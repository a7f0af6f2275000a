"""A scenario in, a recording out: the testbed with or without the engines in the loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skeletonhunter.recordings.manifest import Manifest
from skeletonhunter.recordings.writer import RecordingWriter, about
from skeletonhunter.replaying.closed_loop import EnginePlanner
from skeletonhunter.replaying.garbage import without_collector
from skeletonhunter.testbed.scenario import Scenario
from skeletonhunter.testbed.simulate import Simulation
from streams.parameters import Parameters

ORIGIN = "simulated by skeletonhunter simulate"
LICENCE = "Apache-2.0"
LEVEL = 3
"""Compression: recordings of campaigns live for seconds."""


@dataclass(frozen=True)
class Simulated:
    """A written recording."""

    manifest: Manifest
    truth: dict[str, Any]


def simulate_recording(
    scenario: Scenario, path: Path, parameters: Parameters | None, progress: Callable[[int], None] = lambda _: None
) -> Simulated:
    """Writes the recording of a scenario; agents follow the engines' plans, or (None) the job's true pairs.

    Raises:
        ScenarioError: the scenario can't be simulated.
        RecordingError: the place is taken.
    """
    simulation = Simulation(scenario, EnginePlanner(parameters) if parameters is not None else None)
    span = simulation.world.span
    with RecordingWriter(path, level=LEVEL) as writer, without_collector():
        simulation.run(writer, progress)
        truth = simulation.truth()
        ends = (span.t0_us, span.at(span.seconds))
        manifest = writer.finish(about(scenario.name, scenario.description, ends, ORIGIN, LICENCE), truth)
    return Simulated(manifest, truth)
