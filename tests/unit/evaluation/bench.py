"""A workbench whose engine is known: it misses one issue, is wrong about another, and takes a bad clock for a fault."""

from __future__ import annotations

from pathlib import Path

from schemas.diagnosis import Incident
from schemas.truth import Fault, MonitorFault
from skeletonhunter.evaluation.ablations import EvidenceName
from skeletonhunter.evaluation.running import Diagnosis
from skeletonhunter.evaluation.scenarios import Scenario, parse_scenario
from tests.unit.scoring.cases import facts, fault, incident, monitor_fault, truth


class KnownBench:
    """Truth and incidents follow from the scenario's id alone. Without flow tables no offload is named."""

    def __init__(self, without: tuple[EvidenceName, ...] = ()) -> None:
        self.without = without

    def simulate(self, scenario: Scenario, folder: Path) -> Path:
        """An empty directory that carries the id."""
        if scenario.seed == 99:
            raise RuntimeError("the simulator broke")
        path = folder / scenario.id
        path.mkdir()
        return path

    def diagnose(self, recording: Path, without: EvidenceName | None = None) -> Diagnosis:
        """What the known engine says."""
        scenario = parse_scenario(recording.name)
        faults = _faults(scenario)
        if without == "flow-tables" and scenario.name == "offloading_failure":
            unsure = incident(None, kind="insufficient_evidence", localized=None, endpoints=("c1/r0",))
            return Diagnosis([unsure], facts(), truth(*faults))
        return Diagnosis(_incidents(scenario), facts(), truth(*faults))


def _faults(scenario: Scenario) -> list[Fault | MonitorFault]:
    if scenario.family == "issue":
        hidden = scenario.name == "gpu_direct_rdma_error" and scenario.seed == 3
        return [fault("rnic:h1/r0", scenario.name, begin=20 + scenario.seed, probe_visible=not hidden)]
    if scenario.family == "monitor":
        return [monitor_fault(scenario.name, "agent:h1", endpoints=("c1/r0",))]
    return [fault("port:leaf-2/3", kind="congestion")] if scenario.name == "congested" else []


def _incidents(scenario: Scenario) -> list[Incident]:
    onset = 20 + scenario.seed
    if scenario.name == "gid_change":
        return []
    if scenario.name == "bond_error":
        return [incident("rnic:h2/r0", "gid_change", "rnic", detected=onset + 4, endpoints=("c1/r0",), localized=50)]
    if scenario.family == "issue":
        return [incident("rnic:h1/r0", scenario.name, "rnic", detected=onset + 2, localized=onset + 3)]
    if scenario.name == "clock_bad":
        return [incident("rnic:h1/r0", endpoints=("c1/r0",))]
    return []
