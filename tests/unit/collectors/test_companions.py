"""Translators beside the parts: requests for evidence become demands, within the agent's own limits."""

from __future__ import annotations

from collectors.companions import LEAST_S, DemandOnRequest
from tests.unit.collectors.maps_by_hand import evidence_request


class Counter:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def demand(self) -> None:
        self.asked += 1


def test_flow_tables_are_demanded_at_most_once_in_a_while() -> None:
    now_s = [100.0]
    counter = Counter()
    demand = DemandOnRequest(counter, lambda: now_s[0])
    for second, asked in ((100.0, 1), (100.0 + LEAST_S - 0.1, 1), (100.0 + LEAST_S, 2)):
        now_s[0] = second
        demand.take_request(evidence_request("h-1"))
        assert counter.asked == asked


def test_traceroutes_are_nothing_that_a_flow_table_could_answer() -> None:
    counter = Counter()
    DemandOnRequest(counter, lambda: 100.0).take_request(evidence_request("h-1", kind="traceroute"))
    assert counter.asked == 0
