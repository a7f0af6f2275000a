"""The first Grafana dashboard as a file that Grafana provisions: panels and choices in Grafana's JSON (schema 39)."""

from __future__ import annotations

from typing import Any

import msgspec

from skeletonhunter.reference.panels import CHOICES, PANELS, Choice, Panel

Json = dict[str, Any]

DATASOURCE = {"type": "grafana-clickhouse-datasource", "uid": "clickhouse"}
_TIME_SERIES, _TABLE = 0, 1  # how the plug-in is to shape an answer


def dashboard() -> str:
    """``deploy/grafana/dashboards/skeletonhunter.json``."""
    model: Json = {
        "uid": "skeletonhunter",
        "title": "SkeletonHunter",
        "description": "What broke in the network of the training cluster, how sure, why, and what to do.",
        "tags": ["rdma", "network"],
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "refresh": "10s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "utc",
        "templating": {"list": [_choice(choice) for choice in CHOICES]},
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS, start=1)],
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


def _panel(number: int, panel: Panel) -> Json:
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
        "gridPos": {"x": panel.x, "y": panel.y, "w": panel.width, "h": panel.height},
        "datasource": DATASOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "options": {},
        "targets": [target],
    }
