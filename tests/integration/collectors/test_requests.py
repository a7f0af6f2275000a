"""An agent brings flow tables when localization asks its host for them, and not when it asks others or too long ago."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.collectors.agents import Reader, agent, job_map, publish, settings_file
from tests.integration.collectors.brokers import Broker

pytestmark = pytest.mark.kafka

DUMP = """\
ufid:00000000-0000-0000-0000-000000000001, recirc_id(0),in_port(veth1),eth_type(0x0800),ipv4(src=10.0.1.5,\
dst=10.0.0.9), packets:10, bytes:1000, used:0.1s, offloaded:yes, dp:tc, actions:veth2
"""


def request(host: str, expires_s: float = 60.0) -> dict[str, Any]:
    """The fields of a request for the flow tables of a host."""
    return {
        "request": f"request-{host}-{expires_s:g}",
        "incident": "incident-1",
        "kind": "flow-tables",
        "host": host,
        "endpoints": ["c-1/mlx5_0"],
        "towards": [],
        "reason": "a test wants them",
        "expires_us": time.time_ns() // 1000 + round(expires_s * 1e6),
    }


def test_a_request_brings_the_tables_out_of_turn(own_broker: Broker, tmp_path: Path) -> None:
    address = own_broker.address
    dump = tmp_path / "dump"
    dump.write_text(DUMP)
    publish(address, "endpoint-map", "j-1", job_map([1, 2]))
    more = f'[flows]\nperiod_s = 3600\novs = ["cat", "{dump}"]\novs_offloaded = []'
    reader = Reader(address, ["flow-tables", "agent-health"])
    with agent(settings_file(tmp_path, 1, address, ["flow-tables"], more)) as running:
        reader.until(lambda values: any(value["covers"] for value in values if "covers" in value))
        reader.until(lambda values: any("table" in value for value in values))  # the first one comes by itself
        dump.write_text(DUMP.replace("packets:10", "packets:77"))
        publish(address, "evidence-requests", None, request("h-2"))
        publish(address, "evidence-requests", None, request("h-1", expires_s=-1.0))
        heartbeats = len(reader.values) + 3
        reader.until(lambda values: len(values) >= heartbeats)
        assert len(reader.of("flow-tables")) == 1
        publish(address, "evidence-requests", None, request("h-1"))
        reader.until(lambda values: len(reader.of("flow-tables")) == 2)
        answer = reader.of("flow-tables")[-1]
        assert (answer["host"], answer["table"], answer["complete"]) == ("h-1", "vswitch", True)
        assert {flow["packets"] for flow in answer["flows"]} == {77}
        assert running.stop() == 0
    reader.close()
    assert "h-1 is asked for flow-tables: a test wants them" in (tmp_path / "agent-1.log").read_text()
