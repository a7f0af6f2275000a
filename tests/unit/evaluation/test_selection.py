"""Parts of a campaign: what the options select, that parts add up to the whole, and what is said of wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from skeletonhunter.evaluation.results import ResultStore
from skeletonhunter.evaluation.running import run_campaign
from skeletonhunter.evaluation.scenarios import SUBJECTS, Scenario, campaign
from skeletonhunter.evaluation.selection import (
    Selection,
    SelectionError,
    parse_part,
    parse_seeds,
    parse_sizes,
    parse_subjects,
)
from tests.unit.evaluation.bench import KnownBench


def test_subjects_sizes_and_seeds_are_selected_together() -> None:
    chosen = Selection(
        subjects=parse_subjects("gid_change, monitor"), sizes=parse_sizes("m,s"), seeds=parse_seeds("14-15")
    )
    found = chosen.of(campaign("full"))
    assert {(s.size, s.seed) for s in found} == {("s", 14), ("m", 15)}
    assert {s.subject for s in found} == {
        "issue-11-gid_change",
        *(subject for subject in SUBJECTS if subject.startswith("monitor-")),
    }
    assert not chosen.whole
    assert Selection().of(campaign("full")) == campaign("full")


def test_parts_share_out_the_campaign_and_its_large_scenarios() -> None:
    full = campaign("full")
    parts = [Selection(part=parse_part(f"{n}/4")).of(full) for n in range(1, 5)]
    assert sorted(s for part in parts for s in part) == sorted(full)
    for part in parts:
        assert abs(len(part) - len(full) / 4) < 1
        assert sum(s.size == "l" for s in part) in (7, 8)


def test_parts_run_apart_are_reported_together_without_running_again(tmp_path: Path) -> None:
    scenarios = tuple(Scenario(subject, "s", 1) for subject in SUBJECTS)
    for number in (1, 2):
        part = Selection(part=(number, 2)).of(scenarios)
        run_campaign(part, KnownBench(), ResultStore(tmp_path / str(number), "f"), 1, lambda _: None)
        (tmp_path / "all").mkdir(exist_ok=True)
        for path in (tmp_path / str(number)).glob("*.json"):
            path.rename(tmp_path / "all" / path.name)
    before = {path: path.read_bytes() for path in (tmp_path / "all").iterdir()}
    results = run_campaign(scenarios, KnownBench(), ResultStore(tmp_path / "all", "f"), 1, lambda _: None)
    assert [result.scenario for result in results] == [scenario.id for scenario in scenarios]
    assert {path: path.read_bytes() for path in (tmp_path / "all").iterdir()} == before


def test_seeds_are_numbers_and_ranges() -> None:
    assert parse_seeds("7,1-3,2") == (1, 2, 3, 7)


@pytest.mark.parametrize(
    ("parse", "text", "complaint"),
    [
        (parse_subjects, "gid_chance", "--subjects: there is no subject 'gid_chance', known: issue-01-crc_error"),
        (parse_sizes, "s,xl", "--sizes: there is no size 'xl', known: s, m, l"),
        (parse_seeds, "3-1", "--seeds: '3-1' is no seed and no range of seeds, such as 1-3,7"),
        (parse_seeds, "one", "--seeds: 'one' is no seed and no range of seeds, such as 1-3,7"),
        (parse_seeds, "1-99999999", "--seeds: '1-99999999' is no seed"),
        (parse_seeds, " , ", "--seeds: ' , ' selects nothing"),
        (parse_part, "5/4", "--part: '5/4' is not n/of with 1 <= n <= of, such as 1/4"),
        (parse_part, "0/4", "--part: '0/4' is not n/of"),
        (parse_part, "quarter", "--part: 'quarter' is not n/of"),
    ],
)
def test_what_selects_nothing_is_refused(parse: Callable[[str], object], text: str, complaint: str) -> None:
    with pytest.raises(SelectionError) as caught:
        parse(text)
    assert str(caught.value).startswith(complaint)
