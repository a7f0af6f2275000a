"""The Markdown page of a campaign: every subject has its row, the paper stands beside, nothing breaks a table."""

from __future__ import annotations

from pathlib import Path

from skeletonhunter.evaluation.reporting import report
from skeletonhunter.evaluation.results import ResultStore
from skeletonhunter.evaluation.running import run_campaign
from skeletonhunter.evaluation.scenarios import SUBJECTS, Scenario
from skeletonhunter.evaluation.tables import markdown
from tests.unit.evaluation.bench import KnownBench


def page(folder: Path, *more: Scenario) -> str:
    scenarios = (*(Scenario(subject, "s", 1) for subject in SUBJECTS), *more)
    results = run_campaign(scenarios, KnownBench(), ResultStore(folder, "f"), 1, lambda result: None)
    return markdown(report("quick", "f", results), hold_s=6.0)


def test_every_subject_has_one_row_and_all_rows_of_a_table_are_equally_wide(tmp_path: Path) -> None:
    text = page(tmp_path)
    for subject in SUBJECTS:
        assert text.count(f"| {subject} |") == 1
    for block in text.split("\n\n"):
        widths = {line.count(" | ") for line in block.splitlines() if line.startswith("|")}
        assert len(widths) <= 1


def test_figures_stand_beside_the_paper_s(tmp_path: Path) -> None:
    text = page(tmp_path)
    assert "| precision of alarms | 98.2 % | 94.7 % (18 of 19;" in text
    assert "| recall, faults that probes can see | 99.3 % | 94.7 % (18 of 19;" in text
    assert "| component right, of alarms that name one | 95.7 % | 94.4 % (17 of 18;" in text
    assert "adds the 6 s for which it waits" in text


def test_what_was_missed_and_mistaken_is_listed(tmp_path: Path) -> None:
    text = page(tmp_path)
    assert "| bond_error | gid_change | 1 |" in text
    assert "| gid_change | missed | 1 |" in text
    assert "## Scenarios that failed" not in text


def test_failed_scenarios_are_listed(tmp_path: Path) -> None:
    assert "RuntimeError: the simulator broke" in page(tmp_path, Scenario(SUBJECTS[0], "s", 99))


def test_the_whole_matrix_stands_in_the_page_by_number(tmp_path: Path) -> None:
    rows = [line.split(" | ") for line in page(tmp_path).splitlines() if " bond_error | " in line and line[2:4] == "10"]
    (row,) = rows
    assert len(row) == 1 + 19 + 2  # the name, the issues, no issue, missed
    assert row[11].strip() == "1"  # bond_error is said to be issue 11, gid_change
    assert sum(cell.strip(" |").isdigit() for cell in row[1:]) == 1
