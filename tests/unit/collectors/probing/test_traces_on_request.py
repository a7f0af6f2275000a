"""A prober that is asked for paths traces the pairs that it probes itself, and answers nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from collectors.observing import RequestReader
from collectors.probing.paths import Fabric
from collectors.probing.prober import Home, Prober
from collectors.probing.settings import ProbingSettings
from schemas.instants import SECOND_US
from tests.unit.collectors.maps_by_hand import evidence_request
from tests.unit.collectors.probing.test_paths import A, B, leaf_spine

FLOW = ("c/mlx5_0", "d/mlx5_0", 50_000)


@pytest.fixture
def prober() -> Iterator[Prober]:
    """It has the endpoint c/mlx5_0, and has just traced its flow to d/mlx5_0."""
    one = Prober(Home(host="h-1"), ProbingSettings(trace_s=60.0))
    lane = SimpleNamespace(close=lambda: None, transports={}, is_polled=False)
    one._sender.lanes["c/mlx5_0"] = lane  # type: ignore[assignment]
    one._sender.tracer.take_fabric(Fabric(leaf_spine()))
    assert one._sender.tracer.wants(FLOW, (A, B), SECOND_US)
    yield one
    one._epoll.close()


def test_a_request_for_its_pair_makes_it_due(prober: Prober) -> None:
    assert isinstance(prober, RequestReader)
    prober.take_request(evidence_request("h-1", kind="traceroute"))
    assert prober._sender.tracer.wants(FLOW, (A, B), 3 * SECOND_US)


def test_flow_tables_and_pairs_of_others_are_not_its_business(prober: Prober) -> None:
    prober.take_request(evidence_request("h-1"))
    prober._sender.lanes.clear()
    prober.take_request(evidence_request("h-1", kind="traceroute"))
    assert not prober._sender.tracer.wants(FLOW, (A, B), 3 * SECOND_US)
