"""An agent follows the maps and plans on Kafka: its own jobs come, change and end without a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.collectors.agents import Reader, agent, job_map, plan, publish, settings_file
from tests.integration.collectors.brokers import Broker

pytestmark = pytest.mark.kafka


def test_jobs_come_change_and_end(own_broker: Broker, tmp_path: Path) -> None:
    address = own_broker.address
    publish(address, "probe-plans", "j-1", plan([(1, 2), (2, 1)], version=3))  # its job does not live here yet
    publish(address, "endpoint-map", "elsewhere", job_map([7, 8]))
    publish(address, "probe-plans", "elsewhere", plan([(7, 8)], version=9))
    reader = Reader(address, ["agent-health"])
    with agent(settings_file(tmp_path, 1, address, ["probing"])) as running:
        reader.until(lambda values: len(values) >= 3)
        assert {(tuple(value["covers"]), value["plan_version"]) for value in reader.values} == {((), None)}
        publish(address, "endpoint-map", "j-1", job_map([1, 2], version=1))
        reader.until(lambda values: values[-1]["plan_version"] == 3)  # read again: it had passed by unread
        assert reader.values[-1]["covers"] == ["c-1/mlx5_0"]
        publish(address, "probe-plans", "j-1", plan([(1, 2)], version=4))
        reader.until(lambda values: values[-1]["plan_version"] == 4)
        publish(address, "endpoint-map", "j-1", job_map([2], version=2))  # moved away
        reader.until(lambda values: values[-1]["covers"] == [])
        assert running.stop() == 0
    reader.close()
