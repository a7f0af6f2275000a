"""The reference pages and JSON Schemas, generated from the program, so that they cannot disagree with it.

``python -m skeletonhunter.reference`` writes them into a checkout; tests compare what is written with what would be.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from skeletonhunter.reference.agent import agent_page
from skeletonhunter.reference.alerts import alert_schema, alerts_page
from skeletonhunter.reference.command_line import command_line_page
from skeletonhunter.reference.configuration import configuration_page
from skeletonhunter.reference.cookbook import cookbook_page
from skeletonhunter.reference.dashboards import DASHBOARDS
from skeletonhunter.reference.json_schemas import json_schema_files
from skeletonhunter.reference.metrics import metrics_page
from skeletonhunter.reference.tables import tables_page
from skeletonhunter.reference.topics import topics_page

PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/topics.md": topics_page,
    "docs/reference/configuration.md": configuration_page,
    "docs/reference/agent.md": agent_page,
    "docs/reference/cli.md": command_line_page,
    "docs/reference/tables.md": tables_page,
    "docs/how-to/query-with-sql.md": cookbook_page,
    "docs/reference/alerts.md": alerts_page,
    "docs/reference/metrics.md": metrics_page,
    "docs/reference/alert.schema.json": alert_schema,
    **DASHBOARDS,
}
"""Path in the checkout -> text of the page."""


def generated_files() -> dict[str, str]:
    """All generated files by their path in the checkout."""
    return json_schema_files() | {path: page() for path, page in PAGES.items()}


def write(checkout: Path) -> list[str]:
    """Writes what has changed, removes schemas of versions that are gone, and names both."""
    files = generated_files()
    changed = []
    for path, text in files.items():
        target = checkout / path
        if not target.exists() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            changed.append(path)
    for orphan in sorted((checkout / "schemas/json").glob("*.json")):
        path = str(orphan.relative_to(checkout))
        if path not in files:
            orphan.unlink()
            changed.append(f"{path} (removed)")
    return changed
