"""Runs the scenarios of a campaign on several processes and keeps every result; goes on after an interruption.

A ``Workbench`` knows how to make a recording and how to diagnose it. A scenario that fails is reported with its error
and does not stop the others. Results come back in the order of the scenarios, whatever order they finish in.
"""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from schemas.diagnosis import Incident
from schemas.truth import Truth
from skeletonhunter.evaluation.ablations import EvidenceName
from skeletonhunter.evaluation.results import ResultStore, RunStamp, ScenarioResult
from skeletonhunter.evaluation.scenarios import Scenario
from skeletonhunter.scoring import RecordingFacts, Score, score


class Diagnosis(NamedTuple):
    """What the engines say of a recording, what it says of itself, and what was true. ``remarked``: components that
    are said to be out of probes' coverage."""

    incidents: Sequence[Incident]
    facts: RecordingFacts
    truth: Truth
    remarked: tuple[str, ...] = ()


class Workbench(Protocol):
    """What a campaign needs to be able to do. Picklable: each process has its own.

    ``without``: evidence that is also taken away, one after the other, from what the engines see of each recording.
    """

    @property
    def without(self) -> tuple[EvidenceName, ...]:
        """In the order of the report."""

    def simulate(self, scenario: Scenario, folder: Path) -> Path:
        """Writes the scenario's recording below ``folder`` and returns its path."""

    def diagnose(self, recording: Path, without: EvidenceName | None = None) -> Diagnosis:
        """Runs the engines over a recording, with all evidence or without some."""


Finished = Callable[[ScenarioResult], None]


def run_campaign(
    scenarios: Sequence[Scenario], workbench: Workbench, store: ResultStore, workers: int, finished: Finished
) -> tuple[ScenarioResult, ...]:
    """Results of all scenarios, in their order; ``finished`` is told of each as it is known."""
    stored = (store.load(scenario.id, workbench.without) for scenario in scenarios)
    known = {result.scenario: result for result in stored if result is not None}
    for result in known.values():
        finished(result)
    missing = [scenario for scenario in scenarios if scenario.id not in known]
    for result in _run_all(missing, workbench, store.fingerprint, workers):
        store.save(result)
        finished(result)
        known[result.scenario] = result
    return tuple(known[scenario.id] for scenario in scenarios)


def _run_all(
    scenarios: Sequence[Scenario], workbench: Workbench, fingerprint: str, workers: int
) -> Iterator[ScenarioResult]:
    if workers == 1 or len(scenarios) < 2:
        for scenario in scenarios:
            yield run_scenario(scenario, workbench, fingerprint)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context) as pool:  # max_tasks_per_child can leave Python 3.11 without workers
        futures = [pool.submit(run_scenario, scenario, workbench, fingerprint) for scenario in scenarios]
        for future in as_completed(futures):
            yield future.result()


def run_scenario(scenario: Scenario, workbench: Workbench, fingerprint: str) -> ScenarioResult:
    """Simulates, diagnoses and scores one scenario; an error becomes the result."""
    folder = Path(tempfile.mkdtemp(prefix=f"{scenario.id}-"))
    started, worked = time.perf_counter(), time.process_time()
    try:
        recording = workbench.simulate(scenario, folder)
        simulated = time.perf_counter()
        verdict = _score(workbench.diagnose(recording))
        ablated = {name: _score(workbench.diagnose(recording, name)) for name in workbench.without}
    except Exception as error:  # whatever a scenario does, the campaign goes on and reports it
        reason = f"{type(error).__name__}: {error}"
        return ScenarioResult(scenario=scenario.id, fingerprint=fingerprint, error=reason)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    ended = time.perf_counter()
    stamp = RunStamp(
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        simulate_s=round(simulated - started, 3),
        diagnose_s=round(ended - simulated, 3),
        cpu_s=round(time.process_time() - worked, 3),
    )
    return ScenarioResult(scenario=scenario.id, fingerprint=fingerprint, score=verdict, ablated=ablated, run=stamp)


def _score(diagnosis: Diagnosis) -> Score:
    return score(diagnosis.truth, diagnosis.incidents, diagnosis.facts, remarked=diagnosis.remarked)
