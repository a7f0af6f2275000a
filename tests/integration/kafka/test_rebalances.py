"""Workers come, go and die in the middle of a fault that many partitions see: it stays one incident, word for word.

Six jobs in four partitions share the switches of one fabric, and one that several of them cross dies. While it is down
a worker joins, another is killed and a third leaves, so every partition moves, the fabric's own among them. What is
said must be what the local engine says, which knows neither partitions nor workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiokafka.partitioner import murmur2

from schemas.instants import SECOND_US
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.kafka import Cast, replay_with
from skeletonhunter.replaying.kafka_services import Program, Services, skeletonhunter
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.replaying.outcome import ReplayOutcome, incident_lines
from skeletonhunter.replaying.request import ReplayRequest
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.settings import Settings, WorkerSettings
from skeletonhunter.testbed.scenario import FabricPlan, FaultPlan, JobPlan, Scenario, TelemetryPlan
from tests.kafka_bench import kafka_settings

pytestmark = [pytest.mark.apache, pytest.mark.slow]

PARTITIONS, JOBS, SECONDS, FAULT_S, SPEED = 4, 6, 75, 30.0, 4.0
SCENARIO = Scenario(
    name="rebalances",
    seed=12,
    seconds=SECONDS,
    fabric=FabricPlan(hosts=2 * JOBS, hosts_per_leaf=4, spines=2),
    jobs=tuple(JobPlan(tp=8, pp=1, dp=2, period_s=10.0 + number) for number in range(JOBS)),
    faults=(FaultPlan(what="switch_offline", start_s=FAULT_S, end_s=float(SECONDS)),),
    telemetry=TelemetryPlan(bursts=False, flow_tables_s=30.0),
)
FIRST, SECOND, THIRD = (Program(name, skeletonhunter("work").command) for name in ("first", "second", "third"))


@dataclass
class Shifts:
    """What happens to the workers, each at a second of the recording that the pipeline must have come to."""

    begin_us: int
    plan: list[tuple[float, str, Callable[[Services], object]]]
    done: list[str] = field(default_factory=list)

    def __call__(self, running: Services, handled_us: int) -> None:
        if self.plan and handled_us - self.begin_us >= self.plan[0][0] * SECOND_US:
            _, what, act = self.plan.pop(0)
            act(running)
            self.done.append(what)


def killed(running: Services) -> None:
    running.children.pop("first").kill()
    running.start(THIRD)


def moves(begin_us: int) -> Shifts:
    """All of them while the switch is down: before its incident, while it is found, and after."""
    return Shifts(
        begin_us,
        [
            (FAULT_S + 1, "second joined", lambda running: running.start(SECOND)),
            (FAULT_S + 10, "first was killed, third joined", killed),
            (FAULT_S + 25, "second left", lambda running: running.stop(["second"])),
        ],
    )


def over_kafka(broker: str, folder: Path, recording: Recording, shifts: Shifts) -> ReplayOutcome:
    settings = Settings(
        kafka=kafka_settings(broker, PARTITIONS),
        worker=WorkerSettings(data_dir=str(folder / "data"), checkpoint_s=5.0),
    )
    return replay_with(Cast((FIRST,), meanwhile=shifts), ReplayRequest(recording, settings, speed=SPEED, broker=broker))


def partition_of(key: str) -> int:
    partition: int = (murmur2(key.encode()) & 0x7FFFFFFF) % PARTITIONS
    return partition


def test_a_fault_that_spans_partitions_stays_one_incident_while_workers_join_die_and_leave(
    broker: str, tmp_path: Path
) -> None:
    simulate_recording(SCENARIO, tmp_path / "recording", None)
    with Recording(tmp_path / "recording") as recording:
        expected = LocalReplay(Settings().parameters).run(recording)
    with Recording(tmp_path / "recording") as recording:
        shifts = moves(recording.manifest.start_us)
        found = over_kafka(broker, tmp_path, recording, shifts)

    (incident,) = expected.incidents()
    assert len({partition_of(job) for job in incident.jobs}) > 1, "the fault has to span partitions"
    assert shifts.done == ["second joined", "first was killed, third joined", "second left"]
    assert incident_lines(found.incidents()) == incident_lines(expected.incidents())
    assert incident_lines(found.updates) == incident_lines(expected.updates)
