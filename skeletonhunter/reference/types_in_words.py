"""A JSON Schema of one field, in a few words for a table."""

from __future__ import annotations

from typing import Any

from schemas.instants import LATEST_US
from schemas.json_schema import LARGEST, SMALLEST


def type_in_words(schema: dict[str, Any]) -> str:
    """``integer >= 0 or null``, ``list of [Burst](#burst)``, ...; ``|`` is escaped for Markdown tables."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(type_in_words(part) for part in schema["anyOf"])
    if "enum" in schema:
        return " \\| ".join("null" if word is None else f"`{word}`" for word in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    return _SHAPES.get(schema.get("type", "any"), _any)(schema)


def _any(schema: dict[str, Any]) -> str:
    return str(schema.get("type", "any JSON"))


def _integer(schema: dict[str, Any]) -> str:
    low, high = schema.get("minimum", SMALLEST), schema.get("maximum", LARGEST)
    if high == LATEST_US:  # by that an integer is known for an instant
        return "instant"
    return "integer" + _range(None if low == SMALLEST else low, None if high == LARGEST else high)


def _number(schema: dict[str, Any]) -> str:
    bounds = {name: schema[name] for name in _SIGNS if name in schema}
    if bounds.keys() == {"minimum", "maximum"}:
        return "number" + _range(schema["minimum"], schema["maximum"])
    return "number" + " and".join(f" {_SIGNS[name]} {bound:g}" for name, bound in bounds.items())


_SIGNS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f" {low:g} to {high:g}"
    return f" ≥ {low:g}" if low is not None else ""


def _string(schema: dict[str, Any]) -> str:
    return "text, not empty" if schema.get("minLength") else "text"


def _array(schema: dict[str, Any]) -> str:
    if "prefixItems" in schema:
        return "[" + ", ".join(type_in_words(item) for item in schema["prefixItems"]) + "]"
    inner = type_in_words(schema["items"])
    return f"list of ({inner})" if " or " in inner else f"list of {inner}"


def _object(schema: dict[str, Any]) -> str:
    return f"object: {type_in_words(schema['additionalProperties'])} by name"


_SHAPES = {"integer": _integer, "number": _number, "string": _string, "array": _array, "object": _object}
