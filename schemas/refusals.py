"""Why can a value not be used, in words that name the field and what was expected?

msgspec says what and where, but of a wrong word not which ones are right, and of a wrong entry of a mapping not which
one it is. This module walks the type along msgspec's path and adds that. It runs for bad records only.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

_PLACE = re.compile(r"^(?P<what>.*) - at `\$(?P<path>.*)`$", re.DOTALL)
_WORD = re.compile(r"^Invalid enum value (?P<got>.*)$", re.DOTALL)
_STEP = re.compile(r"\.(?P<name>\w+)|\[(?P<index>\d+|\.\.\.)\]")


def explain(error: msgspec.ValidationError, wire: object, value_type: Any) -> str:
    """The sentence of ``error``, raised when ``wire`` was converted to ``value_type``, with names and expectations."""
    found = _PLACE.match(str(error))
    if not found:
        return str(error)
    path, reached = _walk(found["path"], wire, value_type)
    return f"{_what(found['what'], reached)} - at `{path}`"


def _what(what: str, reached: Any) -> str:
    word = _WORD.match(what)
    if not word or get_origin(reached) is not Literal:
        return what
    return f"Expected one of {', '.join(map(repr, get_args(reached)))}, got {word['got']}"


def _walk(path: str, wire: Any, value_type: Any) -> tuple[str, Any]:
    """The path with the names of mapping entries filled in, and the type at its end (None = lost track)."""
    named = "$"
    for step in _STEP.finditer(path):
        value_type = _plain(value_type)
        if step["index"] == "...":
            name = _failing_entry(wire, _below(value_type, None))
            named += f".{name}"
            value_type, wire = _below(value_type, None), wire[name] if name is not None else None
        elif step["index"]:
            index = int(step["index"])
            named += f"[{index}]"
            value_type, wire = _below(value_type, index), wire[index]
        else:
            named += f".{step['name']}"
            value_type, wire = _below(value_type, step["name"]), wire[step["name"]]
    return named, _plain(value_type)


def _plain(hint: Any) -> Any:
    """The type without its annotations, and of "something or null" the something."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    some = [arg for arg in get_args(hint) if arg is not type(None)]
    is_optional = type(None) in get_args(hint) and len(some) == 1
    return _plain(some[0]) if is_optional else hint


def _below(hint: Any, step: str | int | None) -> Any:
    """The type one step down: of a field, of an element, or (None) of the entries of a mapping."""
    origin, args = get_origin(hint), get_args(hint)
    if isinstance(step, str) and isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        attribute = dict(zip(hint.__struct_encode_fields__, hint.__struct_fields__, strict=True)).get(step, step)
        return get_type_hints(hint, include_extras=True).get(attribute)
    if origin is tuple and isinstance(step, int):
        return args[0] if args[1:] == (...,) else args[step]
    if origin is dict and step is None:
        return args[1]
    return None


def _failing_entry(wire: Any, value_type: Any) -> str | None:
    for name, entry in wire.items():
        try:
            msgspec.convert(entry, value_type)
        except msgspec.ValidationError:
            return str(name)
    return None
