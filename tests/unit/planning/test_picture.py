"""The picture of a schedule shows who does what when, and is the same bytes each time."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from skeletonhunter.planning.picture import EXTRA, IDLE, SOURCE, TARGET, plot_schedule, schedule_cells
from tests.simulated_jobs import Shape
from tests.unit.probe_planner.planning import Planning, fabric, job_map, rnics, skeleton, suspects

SHAPE = Shape(tp=2, pp=2, dp=4)


@pytest.fixture
def planning() -> Planning:
    planning = Planning()
    planning.tell(job_map(SHAPE), skeleton(SHAPE), fabric(SHAPE))
    return planning


def test_cells_say_who_sends_answers_or_idles(planning: Planning) -> None:
    plan = planning.plan
    names = sorted(rnics(job_map(SHAPE).endpoints))
    cells = schedule_cells(plan, names)
    assert cells.shape == (len(names), len(plan.slots))
    for number, slot in enumerate(plan.slots):
        busy = {src: SOURCE for src, _, _ in slot} | {dst: TARGET for _, dst, _ in slot}
        assert [int(cell) for cell in cells[:, number]] == [busy.get(name, IDLE) for name in names]


def test_extra_probes_are_marked(planning: Planning) -> None:
    before = len(planning.plan.slots)
    planning.tell(suspects(1, rnic__h000_slash_mlx5_0=2))
    names = sorted(rnics(job_map(SHAPE).endpoints))
    cells = schedule_cells(planning.plan, names)
    assert (cells[:, :before] != EXTRA).all()
    assert set(np.unique(cells[:, before:])) == {IDLE, EXTRA}
    assert int((cells == EXTRA).sum()) == 2 * len(planning.plan.extra)


def test_the_picture_is_written_and_equal_plans_are_equal_bytes(planning: Planning, tmp_path: Path) -> None:
    one = plot_schedule(planning.plan, tmp_path / "one.png").read_bytes()
    assert one.startswith(b"\x89PNG") and len(one) > 10_000
    assert plot_schedule(planning.plan, tmp_path / "two.png").read_bytes() == one
    planning.tell(job_map(SHAPE, 2, {0: "gone"}), skeleton(SHAPE, 2, 2))
    assert plot_schedule(planning.plan, tmp_path / "three.png").read_bytes() != one


def test_an_empty_plan_has_a_picture_too(planning: Planning, tmp_path: Path) -> None:
    planning.tell(msgspec.structs.replace(job_map(SHAPE, 3), state="ended"))
    assert planning.plan.mode == "disabled"
    assert plot_schedule(planning.plan, tmp_path / "empty.png").exists()
