"""Which recordings of a campaign are worth a picture, and how is it made? One of each symptom, and congestion."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from schemas.envelope import Value
from skeletonhunter.evaluation.diagnosing import diagnose
from skeletonhunter.evaluation.plot_series import plot_series
from skeletonhunter.evaluation.running import Workbench
from skeletonhunter.evaluation.scenarios import Scenario
from skeletonhunter.evaluation.series import SeriesCollector
from skeletonhunter.recordings.reader import Recording
from streams.parameters import Parameters

SHOWN = ("crc_error", "rnic_port_down", "offloading_failure", "agent_starved", "congested")
"""Loss, unconnectivity, latency, a monitor fault, and congestion."""


def show(scenarios: Sequence[Scenario], workbench: Workbench, parameters: Parameters, folder: Path) -> list[Path]:
    """Simulates the first scenario of each shown subject again and draws it."""
    first = {scenario.name: scenario for scenario in reversed(scenarios) if scenario.name in SHOWN}
    folder.mkdir(parents=True, exist_ok=True)
    return [_show(scenario, workbench, parameters, folder) for scenario in sorted(first.values())]


def _show(scenario: Scenario, workbench: Workbench, parameters: Parameters, folder: Path) -> Path:
    with tempfile.TemporaryDirectory(prefix=f"{scenario.id}-") as place:
        path = workbench.simulate(scenario, Path(place))
        return show_recording(path, parameters, folder / f"series-{scenario.id}.png")


def show_recording(path: Path, parameters: Parameters, picture: Path) -> Path:
    """Replays a recording and draws its series with its truth and what the engines say.

    Raises:
        RecordingError: the recording is wrong or has no truth.
    """
    with Recording(path) as recording:
        series = SeriesCollector(recording.manifest.start_us)
        name = recording.manifest.name

    def observe(_topic: str, _key: str, _arrival_us: int, value: Value) -> None:
        series.observe(value)

    diagnosis = diagnose(path, parameters, (observe,))
    return plot_series(name, series, diagnosis.truth, diagnosis.incidents, picture)
