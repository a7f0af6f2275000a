"""What is a Grafana dashboard made of? Panels with one query each, and choices at the top.

``$__timeFilter(column)`` and ``$__timeInterval(column)`` are macros of Grafana's ClickHouse plug-in; ``$job``,
``$incident`` and ``$fabric`` are chosen at the top of a dashboard. Every query is run by a test, on data that a
simulated fault has left in a database.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Look = Literal["stat", "table", "timeseries"]

COLUMNS = 24
"""Width of Grafana's grid."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One query and its look; ``unit`` is Grafana's name of it."""

    title: str
    look: Look
    width: int
    height: int
    sql: str
    unit: str = "short"
    description: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A variable at the top of the dashboard, and the query of its values."""

    name: str
    label: str
    sql: str


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard. Its panels stand in rows, from left to right; ``since`` is the time that it shows at first."""

    uid: str
    title: str
    description: str
    choices: tuple[Choice, ...]
    panels: tuple[Panel, ...]
    since: str = "now-6h"


def placed(panels: tuple[Panel, ...]) -> Iterator[tuple[Panel, int, int]]:
    """Each panel with its place, x and y: a row is full at 24 columns, and as high as its highest panel."""
    x = y = height = 0
    for panel in panels:
        if x + panel.width > COLUMNS:
            x, y, height = 0, y + height, 0
        yield panel, x, y
        x, height = x + panel.width, max(height, panel.height)


def stat(title: str, sql: str, unit: str = "short", description: str = "") -> Panel:
    """One number."""
    return Panel(title, "stat", 6, 4, sql, unit, description)


JOB = Choice("job", "Job", "SELECT DISTINCT job FROM job_states ORDER BY job")
INCIDENT = Choice(
    "incident",
    "Incident",
    "SELECT incident FROM incidents_current WHERE $__timeFilter(time) ORDER BY onset_us DESC LIMIT 200",
)
