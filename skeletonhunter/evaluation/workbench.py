"""How is a scenario of a campaign made and diagnosed? By the testbed with the engines in the loop, and by a replay."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from skeletonhunter.evaluation.ablations import EvidenceName
from skeletonhunter.evaluation.diagnosing import diagnose
from skeletonhunter.evaluation.running import Diagnosis
from skeletonhunter.evaluation.scenarios import Scenario
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.testbed.catalogue import scenario_of
from streams.parameters import Parameters


class PipelineBench(Struct, frozen=True):
    """The workbench of ``evaluate``: the whole pipeline with one set of parameters."""

    parameters: Parameters
    without: tuple[EvidenceName, ...] = ()

    def simulate(self, scenario: Scenario, folder: Path) -> Path:
        """Writes the scenario's recording below ``folder`` and returns its path."""
        path = folder / scenario.id
        simulate_recording(scenario_of(scenario.subject, scenario.size, scenario.seed), path, self.parameters)
        return path

    def diagnose(self, recording: Path, without: EvidenceName | None = None) -> Diagnosis:
        """Runs the engines over a recording, with all evidence or without some."""
        return diagnose(recording, self.parameters, without=without)
