"""The page of alerts and their JSON Schema, from the type of the body."""

from __future__ import annotations

from typing import Any

import msgspec

from skeletonhunter.reference.types_in_words import type_in_words
from skeletonhunter.settings import AlertSettings
from skeletonhunter.sinks.alert_body import AlertBody
from skeletonhunter.sinks.webhook import FIRST_WAIT_S, MAX_WAIT_S, RETRIED

_PAGE = """# Alerts

`skeletonhunter alert --webhook URL` sends an HTTP POST for each state of each incident to every webhook; so does
`skeletonhunter replay --webhook URL`. The body is JSON in the form below ([JSON Schema](alert.schema.json)).

- Any answer from 200 to 299 means delivered. No answer within `alerts.timeout_s` seconds, {retried} and 5xx are tried
  again, {attempts} times in all unless `alerts.attempts` says otherwise, after {first:g} s, twice that, and so on up to
  {most:g} s, with jitter; a longer `Retry-After` in seconds is honoured up to {most:g} s. Any other answer, a redirect
  included, is final.
- An incident that could not be delivered goes whole to the topic `incidents-dlq` with reason `delivery_failed`, then
  the next one has its turn. Offsets move after delivery or dead letter: a crash repeats an alert and loses none.
- `delivery`, also sent as header `Idempotency-Key`, is the same for every repetition of one state and differs between
  states: keep one of each. States of one incident come in order.
- Each webhook has its own consumer group, so one that is away does not delay another. A new webhook is told of all
  incidents that Kafka keeps; with `auto.offset.reset = "latest"` in `kafka.librdkafka`, of the next ones only.
- Logs name scheme, host and port of a webhook, never its path, query or user.

## Fields

{fields}

{definitions}
"""


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
    return _PAGE.format(
        retried=", ".join(map(str, sorted(RETRIED))),
        attempts=AlertSettings().attempts,
        first=FIRST_WAIT_S,
        most=MAX_WAIT_S,
        fields="\n".join(["| field | type | meaning |", "|---|---|---|", *rows]),
        definitions="\n\n".join(_definition(name) for name in ("Candidate", "Action")),
    )


def _definition(name: str) -> str:
    definition = msgspec.json.schema(AlertBody)["$defs"][name]
    rows = [f"| `{field}` | {type_in_words(part)} |" for field, part in definition["properties"].items()]
    return "\n".join([f"### {name}", "", definition["description"], "", "| field | type |", "|---|---|", *rows])
