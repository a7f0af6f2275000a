"""The page of alerts and their JSON Schema, from the type of the body."""

from __future__ import annotations

from importlib import resources
from typing import Any

import msgspec

from skeletonhunter.alerting.forms import HOLD_S, LABELS
from skeletonhunter.alerting.pages import ALERTMANAGER_AGAIN_S
from skeletonhunter.alerting.severity import FELT, OTHERS, WEAK, WIDE_ENDPOINTS
from skeletonhunter.alerting.signing import HEADER, TOLERANCE_S
from skeletonhunter.reference.types_in_words import type_in_words
from skeletonhunter.settings import AlertSettings
from skeletonhunter.sinks.alert_body import AlertBody
from skeletonhunter.sinks.webhook import FIRST_WAIT_S, MAX_WAIT_S, RETRIED


def _severities() -> str:
    rows = [
        f"| `network_fault`, `insufficient_evidence` | {f'`{symptom}`' if symptom else 'none'} | {severity} | {why} |"
        for symptom, (severity, why) in FELT.items()
    ]
    rows += [f"| `{kind}` | any | {severity} | {why} |" for kind, (severity, why) in OTHERS.items()]
    return "\n".join(rows)


def alert_schema() -> str:
    """``docs/reference/alert.schema.json``."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "SkeletonHunter alert",
        **msgspec.json.schema(AlertBody),
    }
    return msgspec.json.format(msgspec.json.encode(schema, order="deterministic"), indent=2).decode() + "\n"


def alerts_page() -> str:
    """``docs/reference/alerts.md``."""
    definition = msgspec.json.schema(AlertBody)["$defs"]["AlertBody"]
    rows = [
        f"| `{name}` | {type_in_words(part)} | {part['description']} |"
        for name, part in definition["properties"].items()
        if name != "format"
    ]
    rows.insert(0, "| `format` | the number 1 | Version of this form; it changes when a field is renamed. |")
    page = (resources.files("skeletonhunter.reference") / "alerts.page.md").read_text()
    return page.format(
        retried=", ".join(map(str, sorted(RETRIED))),
        attempts=AlertSettings().attempts,
        first=FIRST_WAIT_S,
        most=MAX_WAIT_S,
        again=ALERTMANAGER_AGAIN_S,
        hold=HOLD_S,
        severities=_severities(),
        wide=WIDE_ENDPOINTS,
        weak=WEAK,
        header=HEADER,
        tolerance=TOLERANCE_S,
        labels=", ".join(f"`{name}`" for name in LABELS),
        fields="\n".join(["| field | type | meaning |", "|---|---|---|", *rows]),
        definitions="\n\n".join(_definition(name) for name in ("Candidate", "Action")),
    )


def _definition(name: str) -> str:
    definition = msgspec.json.schema(AlertBody)["$defs"][name]
    rows = [f"| `{field}` | {type_in_words(part)} |" for field, part in definition["properties"].items()]
    return "\n".join([f"### {name}", "", definition["description"], "", "| field | type |", "|---|---|", *rows])
