"""Has any figure become worse? Campaign figures against those that were measured before, in one TOML file.

The file holds, per campaign, the value of each guarded figure, and in ``[slack]`` how much worse still passes:
``share`` in shares (0.01 = one point of a hundred), ``relative`` of delays and rates, ``delay_s`` seconds more on top.
A figure that has become better is no failure; ``bless`` writes the new values down. A guarded figure that has vanished
is one.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from skeletonhunter.evaluation.reporting import CampaignReport
from skeletonhunter.scoring import Figures

BUNDLED = Path(__file__).with_name("tolerances.toml")

HIGHER_IS_BETTER = (
    "detection.precision.share",
    "detection.recall.share",
    "localization.component.share",
    "localization.component_class.share",
    "localization.issue.share",
    "localization.named.share",
    "bystanders.monitor_found.share",
    "bystanders.congestion_recognised.share",
    "steps.saved",
)
LOWER_IS_BETTER = (
    "detection.false_alarms.per_hour",
    "delays.detection.mean_s",
    "delays.localization.mean_s",
    "delays.detection_to_localization.mean_s",
    "quarantines.unnecessary.share",
    "bystanders.monitor_called_network.share",
    "bystanders.congestion_called_network.share",
    "bystanders.network_called_congestion.share",
    "calibration.expected_error",
)
OVERALL_ONLY = frozenset({"calibration.expected_error"})
"""Figures that say nothing of a handful of alarms, so they are not guarded per subject."""

MAY_VANISH = frozenset({"quarantines.unnecessary.share"})
"""Figures of what is best not asked for at all: not to be counted any more is no regression."""


class TolerancesError(ValueError):
    """A tolerances file that can't be used: one sentence with file and field."""


class Slack(Struct, frozen=True, forbid_unknown_fields=True):
    """How much worse than before still passes."""

    share: float
    relative: float
    delay_s: float


class Tolerances(Struct, frozen=True, forbid_unknown_fields=True):
    """The file. Keys of ``quick`` and ``full``: ``overall.<figure>`` or ``<subject>.<figure>``."""

    slack: Slack
    quick: dict[str, float] = {}
    full: dict[str, float] = {}


class Regression(Struct, frozen=True):
    """A figure that is worse than allowed, or gone (``now`` null)."""

    figure: str
    now: float | None
    before: float
    limit: float

    def __str__(self) -> str:
        now = "not counted any more" if self.now is None else f"{self.now:.4g}"
        return f"{self.figure} is {now}, was {self.before:.4g}, and {self.limit:.4g} is the limit"


def read_tolerances(path: Path) -> Tolerances:
    """The tolerances in a file.

    Raises:
        TolerancesError: naming file and field.
    """
    try:
        return msgspec.convert(tomllib.loads(path.read_text()), Tolerances)
    except OSError as error:
        raise TolerancesError(f"{path}: can't be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise TolerancesError(f"{path}: {error}") from error


def guarded_figures(report: CampaignReport) -> dict[str, float]:
    """The guarded figures of a campaign that have a value, by their key in the file."""
    groups: dict[str, Figures] = {"overall": report.overall, **report.subjects}
    return {
        f"{group}.{figure}": value
        for group, figures in groups.items()
        for figure, value in _values(figures)
        if value is not None and (group == "overall" or figure not in OVERALL_ONLY)
    }


def regressions(report: CampaignReport, before: Mapping[str, float], slack: Slack) -> list[Regression]:
    """The guarded figures that are worse than allowed, in the order of the file."""
    now = guarded_figures(report)
    found = [Regression(key, now.get(key), value, _limit(key, value, slack)) for key, value in before.items()]
    return [item for item in found if _is_worse(item)]


def bless(path: Path, tolerances: Tolerances, report: CampaignReport) -> None:
    """Writes the campaign's figures into the file as what later ones are compared with."""
    campaigns = {"quick": tolerances.quick, "full": tolerances.full, report.campaign: guarded_figures(report)}
    lines = ["# Figures that later runs are compared with; written by: skeletonhunter evaluate --bless", "", "[slack]"]
    lines += [f"{name} = {value}" for name, value in msgspec.to_builtins(tolerances.slack).items()]
    for name, figures in campaigns.items():
        lines += ["", f"[{name}]", *(f'"{key}" = {value:.6f}' for key, value in figures.items())]
    path.write_text("\n".join(lines) + "\n")


def _values(figures: Figures) -> Iterator[tuple[str, float | None]]:
    wire = msgspec.to_builtins(figures)
    for figure in (*HIGHER_IS_BETTER, *LOWER_IS_BETTER):
        value: Any = wire
        for part in figure.split("."):
            value = value[part]
        yield figure, value


def _limit(key: str, before: float, slack: Slack) -> float:
    figure = key.partition(".")[2]
    if figure.endswith("mean_s"):
        return before * (1 + slack.relative) + slack.delay_s
    if figure.endswith("per_hour"):
        return before * (1 + slack.relative)
    return before - slack.share if figure in HIGHER_IS_BETTER else before + slack.share


def _is_worse(item: Regression) -> bool:
    figure = item.figure.partition(".")[2]
    if item.now is None:
        return figure not in MAY_VANISH
    if math.isclose(item.now, item.limit, abs_tol=1e-6):
        return False
    return item.now < item.limit if figure in HIGHER_IS_BETTER else item.now > item.limit
