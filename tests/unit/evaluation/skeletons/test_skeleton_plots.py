"""Pictures of skeletons: the data behind them, and that every kind of job gives four PNG files of equal bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from schemas.folding import DERIVED_CLOCK, derived_producer
from schemas.maps import Parallelism
from schemas.skeletons import Group, SkeletonUpdate
from schemas.telemetry import RnicColumns, RnicCounters
from skeletonhunter.cli import build_cli
from skeletonhunter.evaluation.skeletons.layout import Spot, groups_of, spots_of
from skeletonhunter.evaluation.skeletons.plots import plot_skeletons
from skeletonhunter.evaluation.skeletons.traffic import JobTraffic, TrafficCollector
from tests.simulated_jobs import BEGIN_US, Shape, burst_messages, counter_messages, endpoint_map, fold, simulate
from tests.unit.evaluation.skeletons.judged import write_judged

SECOND = 1_000_000
PICTURES = ("bursts", "graph", "groups", "rhythm")


def update(*groups: Group, **more: object) -> SkeletonUpdate:
    given = {
        "state": "forming", "confidence": 0.0, "coverage": 0.0, "period_s": None, "edges": (), "reason": "", **more,
    }  # fmt: skip
    return SkeletonUpdate(
        v=1, t_us=BEGIN_US, producer=derived_producer("t", "j", 0), clock=DERIVED_CLOCK, fabric="f", job="j",
        skeleton="s", version=1, supersedes=None, endpoint_map_version=1, groups=groups, parallelism=Parallelism(),
        **given,
    )  # type: ignore[arg-type]  # fmt: skip


def test_rates_are_the_increase_of_counters() -> None:
    samples = [(BEGIN_US + n * SECOND, 125_000_000 * n) for n in range(5)]
    start_us, rates = JobTraffic(samples={"a": samples}).rates(["a", "b"])
    assert start_us == BEGIN_US
    assert rates[0].tolist() == pytest.approx([1.0, 1.0, 1.0, 1.0])
    assert np.isnan(rates[1]).all()


def test_resets_and_gaps_are_unknown() -> None:
    samples = [
        (BEGIN_US + n * SECOND, total) for n, total in ((0, 500), (1, 600), (2, 10), (3, 110), (10, 900), (11, 950))
    ]
    _, rates = JobTraffic(samples={"a": samples}).rates(["a"])
    assert np.isnan(rates[0]).tolist() == [False, True, False, *[True] * 7, False]


def test_unread_values_are_left_out() -> None:
    columns = RnicColumns(rnic="r", t_us=(1, 2, 3), tx_bytes=(5, None, 7), rx_bytes=(0, 0, 0))
    message = RnicCounters(
        v=1, t_us=3, producer=derived_producer("t", "k", 0), clock=DERIVED_CLOCK, fabric="f", job="j", container="c",
        host="h", rnics=(columns,),
    )  # fmt: skip
    collector = TrafficCollector()
    collector.observe("rnic-counters", "j", 0, message)
    assert collector.jobs["j"].samples == {"c/r": [(1, 5), (3, 7)]}


def test_spots_follow_pipelines_then_groups_then_names() -> None:
    groups = (
        Group(kind="pp", members=("a", "b"), rail=0),
        Group(kind="pp", members=("c", "d"), rail=0),
        Group(kind="dp", members=("e", "f"), rail=1),
    )
    spots = spots_of(update(*groups), {"a": 0, "b": 0, "c": 0, "d": 0, "e": 1, "f": 1, "g": 2, "h": 2})
    assert spots["d"] == Spot(0, 1, 1)
    assert spots["f"] == Spot(1, 0, 1)
    assert [name for name, spot in spots.items() if spot.rail == 2] == ["g", "h"]
    assert list(spots) == ["a", "c", "b", "d", "e", "f", "g", "h"]
    assert groups_of(update(*groups)) == {"e": 0, "f": 0}


def gathered(bursts: bool) -> tuple[SkeletonUpdate, TrafficCollector]:
    shape = Shape(tp=2, pp=2, dp=3)
    moved = simulate(shape, 80)
    messages = [endpoint_map(shape), *counter_messages(shape, moved, 80)]
    messages += burst_messages(shape, moved, 80) if bursts else []
    collector = TrafficCollector()
    for message in messages:
        collector.observe("", "j", 0, message)
    return fold(messages, 80)[0][-1].value, collector  # type: ignore[return-value]


@pytest.mark.parametrize("bursts", [True, False])
def test_four_pictures_of_equal_bytes(bursts: bool, tmp_path: Path) -> None:
    last, collector = gathered(bursts)
    one, other = (plot_skeletons([last], collector, tmp_path / name) for name in ("one", "other"))
    assert sorted(path.name for path in one) == [f"j-{picture}.png" for picture in PICTURES]
    for first, second in zip(one, other, strict=True):
        assert first.read_bytes().startswith(b"\x89PNG")
        assert first.read_bytes() == second.read_bytes()


def test_pictures_of_a_job_without_skeleton_or_traffic(tmp_path: Path) -> None:
    collector = TrafficCollector()
    collector.observe("", "j", 0, endpoint_map(Shape(tp=1, pp=1, dp=2)))
    assert len(plot_skeletons([update()], collector, tmp_path)) == 4


def test_infer_draws(tmp_path: Path) -> None:
    recording = write_judged(tmp_path / "rec")
    result = CliRunner().invoke(build_cli(), ["infer", str(recording), "--json", "--plots", str(tmp_path / "pictures")])
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == [f"j-{name}.png" for name in PICTURES]
