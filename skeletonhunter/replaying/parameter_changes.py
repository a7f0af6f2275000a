"""What is to be tried? Words like ``localization.window_s=20`` become settings, each name and value checked.

A name is the path of a parameter below ``parameters`` in the settings; the configuration page lists them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args, get_type_hints

import msgspec

from streams.parameters import Parameters


class ParameterError(ValueError):
    """A word that changes no parameter: one sentence with what was expected."""


def changes(words: Sequence[str]) -> dict[str, str]:
    """Settings by their full name, from words ``part.parameter=value``; values are checked when settings are loaded.

    Raises:
        ParameterError: a word that is none, an unknown name, or a name twice.
    """
    found: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or not name:
            raise ParameterError(f"--set {word}: expected <part>.<parameter>=<value>, such as time.lateness_s=3")
        _check(word, name.split("."))
        full = f"parameters.{name}"
        if full in found:
            raise ParameterError(f"--set {word}: {name} is set twice")
        found[full] = value
    return found


def _check(word: str, names: list[str]) -> None:
    hint: Any = Parameters
    for depth, name in enumerate(names):
        here = ".".join(names[:depth])
        fields = _fields(hint)
        if fields is None:
            raise ParameterError(f"--set {word}: {here} is a parameter, it has no parts")
        if name not in fields:
            of = f"{here} has" if here else "there is"
            raise ParameterError(f"--set {word}: {of} no parameter {name!r}, expected one of {', '.join(fields)}")
        hint = fields[name]
    if (fields := _fields(hint)) is not None:
        raise ParameterError(f"--set {word}: {'.'.join(names)} has parts, expected one of {', '.join(fields)}")


def _fields(hint: Any) -> dict[str, Any] | None:
    """The parameters of a part; None = it is no part but a parameter."""
    for inner in (hint, *get_args(hint)):
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            return get_type_hints(inner, include_extras=True)
    return None
