"""Has any figure of skeletons become worse? Figures against those measured before, in one TOML file.

Sections: ``[slack]`` how much worse still passes (``share`` of shares, ``relative`` of everything else); ``[traces]``
and ``[simulated-<n>]`` (n simulated training jobs) the values. A recording that is not there is not compared; a job of
a recording that is there and has vanished is a failure. ``bless`` writes the values of this run down.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from skeletonhunter.evaluation.skeletons.summary import SkeletonReport
from skeletonhunter.evaluation.skeletons.traces import TraceRow
from skeletonhunter.evaluation.tolerances import Regression, TolerancesError

BUNDLED = Path(__file__).with_name("tolerances.toml")

HIGHER_IS_BETTER = frozenset({"as_expected", "recall", "precision", "dp_ari", "position_ari", "right", "exact", "soon"})
"""Last parts of a figure's key; of all other figures less is better."""

SHARES = HIGHER_IS_BETTER | {"unusual_trusted", "period_error", "leaf_ari"}


class SkeletonSlack(Struct, frozen=True, forbid_unknown_fields=True):
    """How much worse than before still passes."""

    share: float
    relative: float


class SkeletonTolerances(Struct, frozen=True):
    """The file."""

    slack: SkeletonSlack
    figures: dict[str, dict[str, float]]


def read_skeleton_tolerances(path: Path) -> SkeletonTolerances:
    """The tolerances in a file.

    Raises:
        TolerancesError: naming file and field.
    """
    try:
        tree = tomllib.loads(path.read_text())
        slack = msgspec.convert(tree.pop("slack", {}), SkeletonSlack)
        return SkeletonTolerances(slack, msgspec.convert(tree, dict[str, dict[str, float]]))
    except OSError as error:
        raise TolerancesError(f"{path}: can't be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise TolerancesError(f"{path}: {error}") from error


def skeleton_figures(report: SkeletonReport) -> dict[str, dict[str, float]]:
    """The guarded figures that have a value, by section of the file."""
    found = {"traces": {key: value for row in report.rows for key, value in _of_row(row)}}
    if report.simulated:
        found[f"simulated-{report.simulated}"] = dict(_of_simulated(report))
    return found


def skeleton_regressions(report: SkeletonReport, before: SkeletonTolerances) -> list[Regression]:
    """The guarded figures that are worse than allowed, in the order of the file."""
    now = skeleton_figures(report)
    present = {row.recording for row in report.rows}
    found = []
    for section, figures in before.figures.items():
        for key, value in figures.items():
            if section in now and (section != "traces" or key.partition(".")[0] in present):
                found.append(Regression(key, now[section].get(key), value, _limit(key, value, before.slack)))
    return [item for item in found if _is_worse(item)]


def bless_skeletons(path: Path, before: SkeletonTolerances, report: SkeletonReport) -> None:
    """Writes this run's figures into the file as what later ones are compared with; keeps sections of other runs."""
    lines = [
        "# Figures of skeletons that later runs are compared with; written by: skeletonhunter evaluate --bless",
        "",
    ]
    lines += ["[slack]", *(f"{name} = {value}" for name, value in msgspec.to_builtins(before.slack).items())]
    for section, figures in {**before.figures, **skeleton_figures(report)}.items():
        lines += ["", f"[{section}]", *(f'"{key}" = {value:.4f}' for key, value in figures.items())]
    path.write_text("\n".join(lines) + "\n")


def _of_row(row: TraceRow) -> Iterator[tuple[str, float]]:
    score = row.score
    if score.expect != "unknown":
        wanted = row.trusted > 0 if score.expect == "skeleton" else not row.trusted
        yield f"{row.key}.as_expected", float(wanted)
    names = (
        ("recall", "precision", "ratio", "dp_ari", "position_ari") if score.true_ratio is not None else ("leaf_ari",)
    )
    for name in (*names, "period_error"):
        value = getattr(score, name)
        if value is not None:
            yield f"{row.key}.{name}", value


def _of_simulated(report: SkeletonReport) -> Iterator[tuple[str, float]]:
    values: dict[str, float | None] = {"unusual_trusted": report.unusual_trusted.share}
    for level in report.calibration:
        values[f"calibration-{level.confidence:g}.right"] = level.together.share
        values[f"calibration-{level.confidence:g}-narrowed.right"] = level.narrowed.share
    for paper in report.paper:
        values[f"{paper.name}.{paper.view}.exact"] = float(paper.exact)
        values[f"{paper.name}.{paper.view}.pairs"] = float(paper.found)
    for training in report.training:
        for name, counted in (("right", training.right), ("exact", training.exact), ("soon", training.soon)):
            values[f"training.{training.view}.{name}"] = counted.share
        values[f"training.{training.view}.excess"] = training.excess
    yield from ((key, value) for key, value in values.items() if value is not None)


def _limit(key: str, before: float, slack: SkeletonSlack) -> float:
    figure = key.rpartition(".")[2]
    if figure in HIGHER_IS_BETTER:
        return before - slack.share
    return before + slack.share if figure in SHARES else before * (1.0 + slack.relative)


def _is_worse(item: Regression) -> bool:
    if item.now is None:
        return True
    if math.isclose(item.now, item.limit, abs_tol=1e-4):
        return False
    better = item.figure.rpartition(".")[2] in HIGHER_IS_BETTER
    return item.now < item.limit if better else item.now > item.limit
