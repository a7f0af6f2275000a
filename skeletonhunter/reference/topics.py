"""The page of all topics: with it and the JSON Schemas a consumer in any language can be written."""

from __future__ import annotations

from importlib import resources
from typing import Any

import msgspec

from schemas.codec import REASONS
from schemas.envelope import JobMessage, Message
from schemas.json_schema import json_schema, key_in_words
from schemas.topics import Topic, dead_letters, topics
from skeletonhunter.reference.examples import Example, examples
from skeletonhunter.reference.types_in_words import type_in_words

Json = dict[str, Any]

_ENVELOPE_TYPES = ("Producer", "Clock")
_ENVELOPES = {
    len(JobMessage.__struct_fields__): "The fields of the [envelope](#the-envelope) with `job` and `tenant`, and:",
    len(Message.__struct_fields__): "The fields of the [envelope](#the-envelope) without `job` and `tenant`, and:",
    0: "It has no envelope. Its fields:",
}


def topics_page() -> str:
    """``docs/reference/topics.md``."""
    parts = [_introduction(), _overview(), _envelope()]
    described: set[str] = set(_ENVELOPE_TYPES)
    for spec in topics().values():
        parts.append(_topic(spec, described))
    parts.append(_dead_letters(described))
    return "\n\n".join(parts) + "\n"


def _introduction() -> str:
    return (resources.files("skeletonhunter.reference") / "topics.intro.md").read_text().strip()


def _overview() -> str:
    rows = [
        f"| [`{spec.topic}`](#{spec.topic}) | `{spec.key}` | {', '.join(spec.producers)} | {', '.join(spec.consumers)} "
        f"| {_keeps(spec)} | {spec.newest} |"
        for spec in topics().values()
    ]
    head = "| topic | key | written by | read by | Kafka keeps | version |\n|---|---|---|---|---|---|"
    return "\n".join(["## Overview", "", head, *rows])


def _keeps(spec: Topic) -> str:
    if spec.cleanup == "compact":
        return "the newest of each key"
    return "everything" if spec.retention_hours is None else f"{spec.retention_hours} hours"


def _envelope() -> str:
    schema = json_schema(topics()["job-progress"], 1)
    own = [name for name in schema["properties"] if name in JobMessage.__struct_fields__]
    parts = [
        "## The envelope",
        "Every message has these fields; `job` and `tenant` only where it is about one job.",
        _fields({"properties": {name: schema["properties"][name] for name in own}, "required": schema["required"]}),
    ]
    parts += [_definition(name, schema["$defs"][name]) for name in _ENVELOPE_TYPES]
    return "\n\n".join(parts)


def _topic(spec: Topic, described: set[str]) -> str:
    schema = json_schema(spec, spec.newest)
    inherited = _envelope_fields(spec)
    own = {name: part for name, part in schema["properties"].items() if name not in inherited}
    parts = [
        f"## {spec.topic}",
        spec.description,
        _facts(spec),
        _ENVELOPES[len(inherited)],
        _fields({"properties": own, "required": schema["required"]}),
    ]
    for name, definition in schema["$defs"].items():
        if name not in described:
            described.add(name)
            parts.append(_definition(name, definition))
    named = examples().get(spec.topic, {})
    return "\n\n".join([*parts, *_beyond_json_schema(named), *_example(named)])


def _envelope_fields(spec: Topic) -> tuple[str, ...]:
    for envelope in (JobMessage, Message):
        if issubclass(spec.value_type, envelope):
            return envelope.__struct_fields__
    return ()


def _facts(spec: Topic) -> str:
    schemas = ", ".join(f"[v{v}](../../schemas/json/{spec.topic}.v{v}.json)" for v in sorted(spec.versions))
    lines = [
        f"- Kafka key: {key_in_words(spec)}. Kafka keeps {_keeps(spec)}.",
        f"- Written by {', '.join(spec.producers)}; read by {', '.join(spec.consumers)}.",
        f"- JSON Schema: {schemas}.",
    ]
    if spec.lasting:
        lines.append("- A message holds until a later one replaces it: one that comes late still counts, from then on.")
    if len(spec.versions) > 1:
        lines += [f"- Version {version}: {words}." for version, words in sorted(spec.versions.items())]
    return "\n".join(lines)


def _definition(name: str, definition: Json) -> str:
    return "\n\n".join([f"### {name}", definition["description"].replace("\n", " "), _fields(definition)])


def _fields(definition: Json) -> str:
    required = definition.get("required", [])
    rows = [
        f"| `{name}` | {type_in_words(part)} | {_presence(name in required, part)} | {_cell(part['description'])} |"
        for name, part in definition["properties"].items()
    ]
    further = definition.get("additionalProperties")
    if further:
        rows.append(f"| *(any other)* | {type_in_words(further['anyOf'][0])} | optional | {further['description']} |")
    return "\n".join(["| field | type | presence | meaning |", "|---|---|---|---|", *rows])


def _presence(required: bool, part: Json) -> str:
    if required:
        return "always"
    default = part.get("default")
    return "optional" if default in (None, {}, "") else f"optional, {msgspec.json.encode(default).decode()} if absent"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _beyond_json_schema(named: dict[str, Example]) -> list[str]:
    rules = {
        f"- {example.shows}"
        for example in named.values()
        if example.beyond_json_schema and example.reason == "invalid_value"
    }
    return ["Rules that the JSON Schema cannot express:\n\n" + "\n".join(sorted(rules))] if rules else []


def _example(named: dict[str, Example]) -> list[str]:
    if not named:
        return []
    example = next(iter(named.values()))
    text = bytes(example.value).decode().replace("\n  ", "\n")
    return [f"Example, with key `{example.key}`. {example.shows}", f"```json\n{text}\n```"]


def _dead_letters(described: set[str]) -> str:
    reasons = "\n".join(["| reason | what is wrong |", "|---|---|", *(f"| `{r}` | {w} |" for r, w in REASONS.items())])
    return _topic(dead_letters(), described) + f"\n\n### Reasons\n\n{reasons}"
