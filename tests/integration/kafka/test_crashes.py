"""Workers that are killed, that come and that go in the middle of a replay must not show in its incidents."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from skeletonhunter.replaying.kafka import Cast
from skeletonhunter.replaying.kafka_services import Program, Services
from tests.kafka_bench import assert_same, toy_settings, toy_worker, toys_locally, toys_over_kafka
from tests.toy_pipeline import TOYS
from tests.toy_recordings import write_toy_recording
from tests.toys import at

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

SECONDS = 60


@dataclass
class Disturbances:
    """Starts and kills programs when the pipeline has come to given seconds of the recording."""

    kills: list[tuple[float, Program]] = field(default_factory=list)
    starts: list[tuple[float, Program]] = field(default_factory=list)
    done: list[str] = field(default_factory=list)

    def __call__(self, running: Services, handled_us: int) -> None:
        if self.starts and handled_us >= at(self.starts[0][0]):
            _, program = self.starts.pop(0)
            running.start(program)
            self.done.append(f"started {program.name}")
        if self.kills and handled_us >= at(self.kills[0][0]):
            _, program = self.kills.pop(0)
            running.children[program.name].kill()
            running.start(program)
            self.done.append(f"killed {program.name}")


@pytest.mark.parametrize("store", ["memory", "rocksdb"])
def test_a_worker_that_is_killed_and_started_again_says_the_same(
    broker: str, tmp_path: Path, store: Literal["memory", "rocksdb"]
) -> None:
    if store == "rocksdb":
        pytest.importorskip("rocksdict", reason="the extra rocksdb is not installed")
    recording = write_toy_recording(tmp_path / "recording", SECONDS, shuffled_by=3)
    worker = toy_worker()
    disturb = Disturbances(kills=[(25, worker)])
    cast = Cast((worker,), stages=TOYS, meanwhile=disturb)
    found = toys_over_kafka(recording, toy_settings(broker, tmp_path, store=store), cast)
    assert disturb.done == ["killed work"]
    assert_same(found, toys_locally(recording))


def test_a_worker_that_joins_and_one_that_is_killed_move_partitions_and_say_the_same(
    broker: str, tmp_path: Path
) -> None:
    recording = write_toy_recording(tmp_path / "recording", SECONDS, shuffled_by=4)
    first, second = toy_worker("first"), toy_worker("second")
    disturb = Disturbances(starts=[(10, second)], kills=[(40, first)])
    cast = Cast((first,), stages=TOYS, meanwhile=disturb)
    found = toys_over_kafka(recording, toy_settings(broker, tmp_path), cast, speed=5.0)
    assert disturb.done == ["started second", "killed first"]
    assert_same(found, toys_locally(recording))
