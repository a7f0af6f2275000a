"""The Grafana dashboards as files that Grafana provisions: panels and choices in Grafana's JSON (schema 39)."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from skeletonhunter.reference.board_fleet import FLEET
from skeletonhunter.reference.board_incident import INCIDENT_BOARD
from skeletonhunter.reference.board_job import JOB_BOARD
from skeletonhunter.reference.board_monitor import MONITOR
from skeletonhunter.reference.panels import Board, Choice, Panel, placed

Json = dict[str, Any]

BOARDS: tuple[Board, ...] = (FLEET, JOB_BOARD, INCIDENT_BOARD, MONITOR)
TAG = "skeletonhunter"
DATASOURCE = {"type": "grafana-clickhouse-datasource", "uid": "clickhouse"}
_TIME_SERIES, _TABLE = 0, 1  # how the plug-in is to shape an answer


def dashboard(board: Board) -> str:
    """The file of a dashboard."""
    model: Json = {
        "uid": board.uid,
        "title": board.title,
        "description": board.description,
        "tags": [TAG],
        "links": [
            {"type": "dashboards", "title": "SkeletonHunter", "tags": [TAG], "keepTime": True, "includeVars": True}
        ],
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "refresh": "10s",
        "time": {"from": board.since, "to": "now"},
        "timezone": "utc",
        "templating": {"list": [_choice(choice) for choice in board.choices]},
        "panels": [_panel(number, *place) for number, place in enumerate(placed(board.panels), start=1)],
    }
    return msgspec.json.format(msgspec.json.encode(model), indent=2).decode() + "\n"


def _choice(choice: Choice) -> Json:
    return {
        "name": choice.name,
        "label": choice.label,
        "type": "query",
        "datasource": DATASOURCE,
        "query": choice.sql,
        "refresh": 2,
        "sort": 0,
        "multi": False,
        "includeAll": False,
    }


def _panel(number: int, panel: Panel, x: int, y: int) -> Json:
    is_series = panel.look == "timeseries"
    target = {
        "refId": "A",
        "datasource": DATASOURCE,
        "editorType": "sql",
        "queryType": "timeseries" if is_series else "table",
        "format": _TIME_SERIES if is_series else _TABLE,
        "rawSql": panel.sql,
    }
    return {
        "id": number,
        "title": panel.title,
        "description": panel.description,
        "type": panel.look,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height},
        "datasource": DATASOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "options": {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "/.*/"}} if panel.look == "stat" else {},
        "targets": [target],
    }


DASHBOARDS = {f"deploy/grafana/dashboards/{board.uid}.json": partial(dashboard, board) for board in BOARDS}
"""Path in the checkout -> text of the file."""
