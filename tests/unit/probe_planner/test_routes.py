"""Ports, and what they cover: against a slow count over the same paths, and what comes goes without a trace."""

from __future__ import annotations

import pickle
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from probe_planner.odds import no_odds
from probe_planner.parameters import PlannerParameters
from probe_planner.routes import Directed, Routes
from schemas.maps import Endpoint
from tests.simulated_jobs import Shape
from tests.unit.probe_planner.planning import edges_of, fabric, job_map

SPARSE = Shape(tp=2, pp=6, dp=1)
WIDE: dict[str, Any] = {"hosts_per_leaf": 1, "spines": 8}


def routed(shape: Shape, cabling: dict[str, Any], **bounds: Any) -> tuple[Routes, list[Directed], dict[str, Endpoint]]:
    places = {endpoint.endpoint: endpoint for endpoint in job_map(shape).endpoints}
    probes = [probe for a, b, _ in edges_of(shape) for probe in ((a, b), (b, a))]
    routes = Routes(PlannerParameters(**bounds), fabric(shape, **cabling))
    routes.take(probes, places)
    return routes, probes, places


def crossing(routes: Routes, places: dict[str, Endpoint]) -> dict[int, set[tuple[str, str, int]]]:
    """Probe paths (source, destination, port) by link, all turns together."""
    found: dict[int, set[tuple[str, str, int]]] = defaultdict(set)
    for probe, port in list(routes.port.items()):
        for each in (port, *routes.later.get(probe, ())):
            one = Routes(routes.parameters, routes.fabric, {probe: each})
            _, paths = one.paths([probe], places)
            for link in paths[0].tolist():
                if link >= 0:
                    found[link].add((*probe, each))
    return found


@pytest.mark.parametrize("cabling", [WIDE, {"hosts_per_leaf": 2, "spines": 3}, {**WIDE, "dual_tor": True}])
def test_the_coverage_is_what_a_slow_count_finds(cabling: dict[str, Any]) -> None:
    routes, _, places = routed(SPARSE, cabling)
    coverage, slow = routes.coverage(), crossing(routes, places)
    assert coverage is not None
    assert coverage.crossed == len(slow)
    assert coverage.told_apart == len({frozenset(probes) for probes in slow.values()})
    assert coverage.links >= coverage.crossed >= coverage.crossed_alpha
    assert coverage.told_apart <= coverage.classes


def test_turns_cover_what_single_ports_can_not() -> None:
    one, _, _ = routed(SPARSE, WIDE, most_turns=1)
    many, _, places = routed(SPARSE, WIDE, most_turns=16)
    before, after = one.coverage(), many.coverage()
    assert before is not None and after is not None
    assert before.crossed < before.links
    assert (after.crossed, after.crossed_alpha) == (after.links, after.links)
    assert after.told_apart == after.classes
    assert 1 < many.turns <= 16
    turns = many.port_turns(round_s=1.5)
    assert turns is not None and turns.turn_rounds == 20
    assert {len(ports) for _, _, ports in turns.changing} == {many.turns - 1}
    assert set(crossing(many, places)) == set(range(len(many.fabric.links)))  # type: ignore[union-attr]


def test_a_job_with_many_pairs_needs_no_turns() -> None:
    routes, _, _ = routed(Shape(tp=2, pp=4, dp=8), {"hosts_per_leaf": 4, "spines": 4})
    coverage = routes.coverage()
    assert coverage is not None
    assert (coverage.crossed_alpha, coverage.told_apart) == (coverage.links, coverage.classes)
    assert routes.turns == 1 and routes.port_turns(1.0) is None


def test_probes_that_go_leave_nothing_and_those_that_stay_keep_their_ports() -> None:
    routes, probes, places = routed(SPARSE, WIDE, most_turns=16)
    gone, stay = probes[:8], probes[8:]
    kept = {probe: (routes.port[probe], routes.later.get(probe)) for probe in stay}
    routes.drop(gone, places)
    assert {probe: (routes.port[probe], routes.later.get(probe)) for probe in stay} == kept
    coverage, slow = routes.coverage(), crossing(routes, places)
    assert coverage is not None
    assert coverage.crossed == len(slow)
    assert coverage.told_apart == len({frozenset(each) for each in slow.values()})
    routes.drop(stay, places)
    assert routes.crossings is not None
    for column in (routes.crossings.crossed, routes.crossings.able, routes.crossings.taken, routes.crossings.takable):
        assert not column.any()


def test_what_comes_back_after_a_pickle_is_covered_again() -> None:
    routes, probes, places = routed(SPARSE, WIDE, most_turns=16)
    routes.drop(probes[:8], places)
    copy = pickle.loads(pickle.dumps(routes))
    for each in (routes, copy):
        each.take(probes[:8], places)
    assert (copy.port, copy.later, copy.coverage()) == (routes.port, routes.later, routes.coverage())
    coverage = routes.coverage()
    assert coverage is not None and coverage.crossed == coverage.links


def test_without_a_map_or_an_address_a_probe_keeps_its_own_port() -> None:
    shape = Shape(tp=1, pp=1, dp=3)
    places = {endpoint.endpoint: endpoint for endpoint in job_map(shape).endpoints}
    probes = [probe for a, b, _ in edges_of(shape) for probe in ((a, b), (b, a))]
    plain = Routes(PlannerParameters())
    plain.take(probes, places)
    assert plain.coverage() is None and plain.port_turns(1.0) is None
    mapped = Routes(PlannerParameters(), fabric(shape, hosts_per_leaf=1))
    mapped.take(probes, {**places, probes[0][0]: strip(places[probes[0][0]])})
    coverage = mapped.coverage()
    assert coverage is not None and coverage.links > 0
    assert all(mapped.port[probe] == plain.port[probe] for probe in probes if probes[0][0] in probe)


def strip(endpoint: Endpoint) -> Endpoint:
    import msgspec

    return msgspec.structs.replace(endpoint, ip=None)


def test_own_ports_are_spread_within_their_range_and_stable() -> None:
    bounds = PlannerParameters(first_port=60_000, ports=16_384)
    found = []
    for _ in range(2):
        routes = Routes(bounds)
        routes.take([(f"a{i}", f"b{i * 7}") for i in range(500)], {})
        found.append(routes.port)
    assert found[0] == found[1]
    assert min(found[0].values()) >= 60_000 and max(found[0].values()) <= 65_535
    assert len(set(found[0].values())) > 400


def test_traced_paths_are_covered_with_a_stated_probability() -> None:
    shape = Shape(tp=1, pp=2, dp=1)
    routes, probes, places = routed(shape, {"method": "traced", "hosts_per_leaf": 1, "spines": 4}, most_turns=64)
    routes.settle_turns(places)
    coverage = routes.coverage()
    assert coverage is not None
    assert (coverage.method, coverage.confidence, coverage.told_apart) == ("probability", 0.99, None)
    assert coverage.crossed_alpha == coverage.links == 10
    assert set(routes.later) == set(probes)
    fewer, _, _ = routed(shape, {"method": "traced", "hosts_per_leaf": 1, "spines": 4}, most_turns=2)
    fewer.settle_turns(places)
    less = fewer.coverage()
    assert less is not None and less.crossed_alpha == 2, "only the access links are certain"


@pytest.mark.parametrize("ways", [2, 4, 8])
@pytest.mark.parametrize("alpha", [1, 2, 3])
def test_the_bound_never_claims_more_than_the_exact_probability(ways: int, alpha: int) -> None:
    pairs = 3
    odds = no_odds(ways)
    odds.allow(np.tile(np.arange(ways)[None, :, None], (pairs, 1, 1)))
    for turns in range(1, 65):
        exact = float(binom.cdf(min(alpha, pairs) - 1, pairs * turns, 1.0 / ways))
        if odds.crossed(alpha, turns, 0.99)[0]:
            assert exact <= 0.01
    assert odds.crossed(alpha, 64, 0.99)[:ways].all()
    odds.allow(np.tile(np.arange(ways)[None, :, None], (pairs, 1, 1)), -1)
    assert not odds.crossed(alpha, 64, 0.99).any()
