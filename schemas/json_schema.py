"""What may a consumer in another language rely on? JSON Schemas (2020-12) of every topic and version, from the types.

They describe the wire: further RNIC counters stand beside ``tx_bytes``, and integers have the bounds that the codec
keeps. What JSON Schema can say about several fields at once is added here (``CONDITIONS``); what it can't say is shown
by the invalid examples that it accepts (``schemas/examples``). Meanings of fields come from ``schemas/fields.yaml``.
Nothing of this runs when messages are read.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import msgspec
import yaml

from schemas.envelope import Value
from schemas.history import type_of
from schemas.topics import Topic

Json = dict[str, Any]

SMALLEST, LARGEST = -(2**63), 2**64 - 1
"""Range of integers that JSON readers here take for integers."""

_NOTHING_SENT: Json = {
    "if": {"properties": {"sent": {"const": 0}}},
    "then": {
        "properties": {
            "outcome": {"enum": ["not_sent", "target_not_ready"]},
            "lost": {"const": 0},
            "rtt_us": {"maxItems": 0},
        }
    },
    "else": {"properties": {"outcome": {"enum": ["lost", "reply"]}}},
}
_TABLE_OF_RNIC: Json = {
    "if": {"properties": {"table": {"const": "rnic"}}},
    "then": {"properties": {"rnic": {"type": "string"}}},
}
CONDITIONS: dict[str, Json] = {"ProbeResult": _NOTHING_SENT, "FlowTables": _TABLE_OF_RNIC}
"""Rules between fields that JSON Schema can express, by type."""


def json_schema(spec: Topic, version: int) -> Json:
    """The JSON Schema of one version of a topic's value.

    Raises:
        KeyError: the topic has no such version.
    """
    value_type = type_of(spec, version)
    (root,), defs = msgspec.json.schema_components([value_type], schema_hook=_anything)
    types = struct_types(value_type)
    for name, definition in defs.items():
        _describe(definition, types[name])
    _bound_integers(defs)
    top = defs.pop(root["$ref"].rpartition("/")[2])
    top["properties"]["v"] = {"const": version, "description": top["properties"]["v"]["description"]}
    top["required"] = ["v", *(name for name in top["required"] if name != "v")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:skeletonhunter:{spec.topic}:v{version}",
        "title": spec.topic,
        "description": f"{spec.description} Kafka key: {key_in_words(spec)}.",
        **{name: part for name, part in top.items() if name not in ("title", "description")},
        "$defs": dict(sorted(defs.items())),
    }


def _anything(custom: type) -> Json:
    """Free-form values (``object``) are whatever JSON there is."""
    if custom is not object:
        raise NotImplementedError
    return {"title": "any JSON"}


def key_in_words(spec: Topic) -> str:
    """The Kafka key of a topic, as documented."""
    return "as of the record that could not be used" if spec.key == "key" else f"the value's `{spec.key}`"


def struct_types(root: type[Value]) -> dict[str, type[msgspec.Struct]]:
    """All struct types inside a value's type by name, itself included."""
    found: dict[str, type[msgspec.Struct]] = {}
    _collect(msgspec.inspect.type_info(root), found)
    return found


def _collect(node: object, found: dict[str, type[msgspec.Struct]]) -> None:
    if isinstance(node, msgspec.inspect.StructType):
        if node.cls.__name__ in found:
            return
        found[node.cls.__name__] = node.cls
    if isinstance(node, msgspec.Struct):
        for name in node.__struct_fields__:
            _collect(getattr(node, name), found)
    elif isinstance(node, tuple):
        for inner in node:
            _collect(inner, found)


@cache
def meanings() -> dict[str, dict[str, str]]:
    """What each field means, by type and field name on the wire."""
    text = (resources.files("schemas") / "fields.yaml").read_text()
    return msgspec.convert(yaml.safe_load(text), dict[str, dict[str, str]])


def meaning(value_type: type, field: str) -> str:
    """What a field of a type means; inherited fields are described with the type that declares them.

    Raises:
        KeyError: it is not described.
    """
    for ancestor in value_type.__mro__:
        name = ancestor.__name__.removesuffix("V1")
        if field in meanings().get(name, {}):
            return meanings()[name][field]
    raise KeyError(f"schemas/fields.yaml does not describe {value_type.__name__}.{field}")


def _describe(definition: Json, value_type: type[msgspec.Struct]) -> None:
    properties = definition["properties"]
    for name in properties:
        properties[name] = {"description": meaning(value_type, name), **properties[name]}
    if "description" in definition:
        definition["description"] = definition["description"].replace("``", "`")
    if value_type.__name__ == "RnicColumns":
        _spread(definition)
    definition.update(CONDITIONS.get(value_type.__name__, {}))


def _spread(definition: Json) -> None:
    """On the wire further counters have no ``counters`` around them; what is no list there is an unknown field."""
    counters = definition["properties"].pop("counters")
    definition["additionalProperties"] = {
        "description": counters["description"],
        "anyOf": [counters["additionalProperties"], {"not": {"type": "array"}}],
    }


def _bound_integers(part: Any) -> None:
    if isinstance(part, dict):
        if part.get("type") == "integer":
            part.setdefault("minimum", SMALLEST)
            part.setdefault("maximum", LARGEST)
        for inner in part.values():
            _bound_integers(inner)
    elif isinstance(part, list):
        for inner in part:
            _bound_integers(inner)
