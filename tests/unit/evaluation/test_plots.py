"""Pictures: the data behind them is right, they are PNG files, and equal input gives equal bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.folding import DERIVED_CLOCK, derived_producer
from schemas.probing import ProbeResult, ProbeResults
from schemas.telemetry import QueueColumns, RnicColumns, RnicCounters, SwitchQueues
from schemas.truth import ISSUES
from skeletonhunter.evaluation.plot_series import plot_series
from skeletonhunter.evaluation.plots import plot_campaign
from skeletonhunter.evaluation.series import SeriesCollector, band, losses, medians
from skeletonhunter.scoring import pool, score
from tests.unit.scoring.cases import START_US, at, facts, fault, incident, truth

ENVELOPE = {"v": 1, "producer": derived_producer("t", "k", 0), "clock": DERIVED_CLOCK, "fabric": "fab"}
PNG = b"\x89PNG"


def probe(src: str, dst: str, second: float, rtt: float | None, lost: int = 0) -> ProbeResults:
    result = ProbeResult(
        dst=dst,
        t_us=at(second),
        kind="rdma",
        outcome="lost" if rtt is None else "reply",
        sent=10,
        lost=10 if rtt is None else lost,
        rtt_us=() if rtt is None else (rtt,),
    )
    return ProbeResults(**ENVELOPE, t_us=at(second), job="j1", src=src, plan_version=1, results=(result,))  # type: ignore[arg-type]


def gathered() -> SeriesCollector:
    """Two pairs for 60 s; from second 20 on, one is slow, then loses, then is dead."""
    series = SeriesCollector(START_US)
    for second in range(60):
        series.observe(probe("c2/r0", "c4/r0", second, 13.0))
        slow = 13.0 if second < 20 else 90.0
        series.observe(probe("c1/r0", "c3/r0", second, None if second > 50 else slow, lost=2 if second > 30 else 0))
    return series


def test_samples_are_gathered_by_pair_and_second() -> None:
    pair = gathered().pairs["c1/r0", "c3/r0"]
    assert medians(pair)[19] == 13.0
    assert medians(pair)[25] == 90.0
    assert 55 not in medians(pair)
    assert (losses(pair)[10], losses(pair)[40], losses(pair)[55]) == (0.0, 0.2, 1.0)
    assert pair.loss((0, 20)) == 0.0


def test_the_pair_that_changed_most_comes_first() -> None:
    series = gathered()
    assert series.most_changed([(20.0, 60.0)], frozenset(), 1) == [("c1/r0", "c3/r0")]
    assert series.most_changed([(20.0, 60.0)], frozenset({"c2/r0"}), 1) == [("c2/r0", "c4/r0")]


def test_throughput_is_known_between_good_counters_only() -> None:
    rnic = RnicColumns(
        rnic="r0",
        t_us=tuple(at(second) for second in range(6)),
        tx_bytes=(0, 125_000_000, None, 500_000_000, 10, 250_000_010),
        rx_bytes=(0,) * 6,
    )
    series = SeriesCollector(START_US)
    message = RnicCounters(**ENVELOPE, t_us=at(5), job="j1", container="c1", host="h1", rnics=(rnic,))  # type: ignore[arg-type]
    series.observe(message)
    assert series.gbps == {"c1/r0": {1: pytest.approx(1.0), 5: pytest.approx(2.0)}}


def test_deepest_queue_of_a_second() -> None:
    ports = tuple(
        QueueColumns(port=name, queue=3, t_us=(at(1.1), at(1.2)), depth_bytes=(depth, None))
        for name, depth in (("1", 700), ("2", 900))
    )
    series = SeriesCollector(START_US)
    series.observe(SwitchQueues(**ENVELOPE, t_us=at(2), switch="leaf", ports=ports))  # type: ignore[arg-type]
    assert series.queue_bytes == {1: 900}


def test_band_of_nothing_has_no_rows() -> None:
    assert band([]).shape == (0, 4)
    assert band([{1: 1.0, 2: 5.0}, {1: 3.0}])[:, 2].tolist() == [2.0, 5.0]


@pytest.mark.parametrize("faulty", [True, False])
def test_series_picture_is_the_same_bytes_each_time(tmp_path: Path, faulty: bool) -> None:
    wrong = truth(fault("rnic:h1/r0", "offloading_failure", endpoints=("c1/r0",))) if faulty else truth()
    said = [incident("rnic:h1/r0", "offloading_failure", "rnic"), incident(None, name="i2", localized=None)]
    one = plot_series("hand-made", gathered(), wrong, said, tmp_path / "one.png").read_bytes()
    assert one.startswith(PNG)
    assert one == plot_series("hand-made", gathered(), wrong, said, tmp_path / "two.png").read_bytes()


def test_campaign_pictures_are_drawn_with_and_without_anything_to_show(tmp_path: Path) -> None:
    scores = [
        score(truth(fault("rnic:h1/r0", issue)), [incident("rnic:h1/r0", issue, "rnic", confidence=n / 20)], facts())
        for n, issue in enumerate(ISSUES, 1)
    ]
    silent = [score(truth(fault("rnic:h1/r0", "gid_change")), [], facts())]
    for name, cases in (("full", scores), ("silent", silent), ("empty", [])):
        pictures = plot_campaign(cases, pool(cases), tmp_path / name)
        assert [picture.name for picture in pictures] == ["delays.png", "confusion.png", "confidence.png"]
        assert all(picture.read_bytes().startswith(PNG) for picture in pictures)
