"""With and without Kafka the same incidents, byte for byte: at any speed, in any order, on any number of partitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from skeletonhunter.replaying.kafka import Cast
from tests.kafka_bench import assert_same, toy_settings, toy_worker, toys_locally, toys_over_kafka
from tests.toy_pipeline import TOYS
from tests.toy_recordings import write_toy_recording

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize(
    ("partitions", "shuffled_by", "speed"),
    [(4, None, None), (1, 7, None), (3, 8, 20.0)],
    ids=["4 partitions", "shuffled, 1 partition", "shuffled, 3 partitions, 20 times real time"],
)
def test_both_engines_say_the_same(
    broker: str, tmp_path: Path, partitions: int, shuffled_by: int | None, speed: float | None
) -> None:
    expected = toys_locally(write_toy_recording(tmp_path / "in-order"))
    recording = write_toy_recording(tmp_path / "recording", shuffled_by=shuffled_by)
    cast = Cast((toy_worker(),), stages=TOYS)
    found = toys_over_kafka(recording, toy_settings(broker, tmp_path, partitions), cast, speed)
    assert len(expected.updates) > 40
    assert_same(found, expected)
    assert found.emitted == expected.emitted
    assert not found.refused


def test_stages_may_be_spread_over_workers(broker: str, tmp_path: Path) -> None:
    recording = write_toy_recording(tmp_path / "recording", seconds=20)
    workers = (toy_worker("first", "steps"), toy_worker("second", "verdicts"))
    found = toys_over_kafka(recording, toy_settings(broker, tmp_path, 2), Cast(workers, stages=TOYS))
    assert_same(found, toys_locally(recording))
