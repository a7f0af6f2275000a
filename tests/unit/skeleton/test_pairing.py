"""Doubts of one rail that other rails, or a wish for certain links, settle; degrees of parallelism; slow drivers."""

from __future__ import annotations

import dataclasses

import numpy as np

from schemas.maps import Parallelism
from skeleton.admission import least_regularity, refusal, since_first_burst
from skeleton.counters import CounterSeries
from skeleton.degrees import check_degrees, estimate_degrees
from skeleton.membership import Membership
from skeleton.pairing import certain_links, chains_of, restrict, settle_by_rails
from skeleton.parameters import SkeletonParameters
from skeleton.periodicity import Period, job_activity
from skeleton.resampling import Traffic
from skeleton.structure import RailFinding

HOSTS = ("1", "2", "3", "4")
JOB = Membership(
    1,
    tuple(f"{host}/{rail}" for rail in range(3) for host in HOSTS),
    tuple(rail for rail in range(3) for _ in HOSTS),
    HOSTS * 3,
    HOSTS * 3,
)


def rail(number: int, *links: tuple[int, int]) -> RailFinding:
    """Hosts 1 and 2 are the first stage, 3 and 4 the second."""
    first = 4 * number
    members = tuple(range(first, first + 4))
    return RailFinding(
        number,
        members,
        "paired",
        (members[:2], members[2:]),
        links=tuple((first + a, first + b) for a, b in links),
        ordered=True,
    )


STRAIGHT = ((0, 2), (1, 3))
CROSSED = ((0, 3), (1, 2))
DOUBT = (*STRAIGHT, *CROSSED)


def test_other_rails_settle_a_doubt() -> None:
    findings = settle_by_rails([rail(0, *STRAIGHT), rail(1, *STRAIGHT), rail(2, *DOUBT)], JOB)
    assert findings[2].links == ((8, 10), (9, 11))
    assert findings[2].replicas == ((8, 10), (9, 11))
    assert (findings[2].twins(), rail(2, *DOUBT).twins()) == (0, 2)


def test_one_rail_alone_settles_nothing() -> None:
    assert settle_by_rails([rail(0, *STRAIGHT), rail(2, *DOUBT)], JOB)[1] == rail(2, *DOUBT)


def test_rails_that_contradict_each_other_settle_nothing() -> None:
    rails = [rail(0, *STRAIGHT), rail(0, *STRAIGHT), rail(1, *CROSSED), rail(1, *CROSSED), rail(2, *DOUBT)]
    assert settle_by_rails(rails, JOB)[4] == rail(2, *DOUBT)


def test_half_a_wish_settles_nothing() -> None:
    assert restrict(rail(0, *DOUBT), {(0, 2)}) == rail(0, *DOUBT)
    assert certain_links(rail(0, *DOUBT)) == set()
    assert chains_of(rail(0, *DOUBT)) is None


def draws(groups: list[list[int]]) -> Traffic:
    """Balances of 12 endpoints, equal within a group of pairs: first stages send what second stages receive."""
    rng = np.random.default_rng(1)
    tx, rx = np.full((12, 300), 1e6), np.full((12, 300), 1e6)
    for group in groups:
        sent = rng.exponential(1e8, 300)
        for first, last in zip(group[::2], group[1::2], strict=True):
            tx[first] += sent
            rx[last] += sent
    return Traffic(0, tx, rx)


def known(number: int) -> RailFinding:
    finding = rail(number, *STRAIGHT)
    return dataclasses.replace(finding, replicas=chains_of(finding) or ())


def test_rails_that_act_as_one_are_a_tensor_group() -> None:
    findings = [known(0), known(1), known(2)]
    together = draws([[0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11]])
    apart = draws([[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11]])
    assert estimate_degrees(findings, together, JOB, True) == Parallelism(tp=3, pp=2, dp=2)
    assert estimate_degrees(findings, apart, JOB, True) == Parallelism(tp=1, pp=2, dp=6)


def test_replicas_in_step_leave_the_published_estimate() -> None:
    in_step = draws([list(range(0)), [0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11]])
    assert estimate_degrees([known(0), known(1), known(2)], in_step, JOB, True) == Parallelism(tp=3, pp=2, dp=2)


def test_degrees_of_a_scheduler_are_checked() -> None:
    found = Parallelism(tp=3, pp=2, dp=2)
    assert check_degrees(found, None, 12) == (found, None)
    agreeing = Parallelism(tp=1, pp=2, dp=6)
    assert check_degrees(found, agreeing, 12) == (agreeing, "used")
    assert check_degrees(found, Parallelism(tp=1, pp=4, dp=3), 12) == (found, "contradicted")
    assert check_degrees(found, Parallelism(tp=2, pp=2, dp=2), 12) == (found, "contradicted")
    assert check_degrees(Parallelism(), agreeing, 12) == (Parallelism(), "unchecked")


def counters(increments: list[float]) -> CounterSeries:
    values = np.array(increments, dtype=np.float32)
    return CounterSeries(np.arange(len(values), dtype=np.int64) * 1_000_000, values, values)


def test_samples_of_counters_that_were_not_refreshed_are_left_out() -> None:
    samples = counters([np.nan, *[0.0, 8e5] * 20]).fresh()
    assert (np.diff(samples.t_us)[1:] == 2_000_000).all()
    assert (samples.tx[1:] == 8e5).all()


def test_an_idle_endpoint_is_no_slow_driver() -> None:
    bursty = [0.0, 0.0, 0.0, 5e9, 5e9, 0.0, 0.0, 1e9] * 6
    assert len(counters([np.nan, *bursty]).fresh().t_us) == len(bursty) + 1


def test_evidence_counts_from_the_first_burst() -> None:
    tx = np.full((3, 100), 4e5)
    tx[:, 60::10] = 1e9
    assert since_first_burst(Traffic(0, tx, tx)).seconds == 40
    assert since_first_burst(Traffic(0, tx * 0, tx)).seconds == 100


def test_keep_alives_are_no_traffic() -> None:
    quiet = np.full((3, 100), 4e5)
    quiet[:, ::10] = 6e5
    assert (
        refusal(Traffic(0, quiet, quiet), job_activity(quiet), Period(10.0, 1.0, 10.0), SkeletonParameters())[0]
        == "silent"
    )


def test_few_seconds_must_be_more_regular_than_many() -> None:
    period = Period(8.0, 0.5, 3.0)
    assert least_regularity(24, period, SkeletonParameters()) == 0.75
    assert least_regularity(600, period, SkeletonParameters()) == 0.4
