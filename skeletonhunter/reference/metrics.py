"""The page of metrics, from their declarations."""

from __future__ import annotations

from importlib import resources

from schemas.metrics import METRICS, PREFIX, Metric, Part

_TITLES: dict[Part, str] = {
    "work": "Workers (`work`)",
    "sink": "ClickHouse sinks (`sink`)",
    "alert": "Alert senders (`alert`)",
    "collect": "Agents (`collect`)",
}


def metrics_page() -> str:
    """``docs/reference/metrics.md``."""
    page = (resources.files("skeletonhunter.reference") / "metrics.page.md").read_text()
    return page.format(parts="\n\n".join(_of_part(part) for part in _TITLES))


def _of_part(part: Part) -> str:
    rows = [_row(metric) for metric in METRICS if part in metric.parts]
    return "\n".join([f"## {_TITLES[part]}", "", "| metric | labels | kind | meaning |", "|---|---|---|---|", *rows])


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{PREFIX}{metric.name}` | {labels} | {metric.kind} | {metric.help} |"
