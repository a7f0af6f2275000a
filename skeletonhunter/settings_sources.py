"""Where does a setting come from? Collects them from file, environment and flags, and remembers each one's place."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

PREFIX = "SKELETONHUNTER_"
TEST_PREFIX = f"{PREFIX}TEST_"
"""Variables of the test suite are not settings."""


class SettingsError(ValueError):
    """Settings that can't be used; the text names the place, the field and what was expected."""


class Sources:
    """Settings as a tree of names, later sources over earlier ones, and the place that each came from."""

    def __init__(self, settings: type[msgspec.Struct]) -> None:
        self.settings = settings
        self.tree: dict[str, Any] = {}
        self.places: dict[str, str] = {}
        self.file: Path | None = None

    def add_file(self, path: Path) -> None:
        """Settings of a TOML file."""
        self.file = path
        try:
            text = path.read_text()
            self.tree = tomllib.loads(text)
        except FileNotFoundError as error:
            raise SettingsError(f"{path}: there is no such file") from error
        except OSError as error:
            raise SettingsError(f"{path}: can't be read: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path}: not TOML: {error}") from error
        for name, line in _lines(text).items():
            self.places[name] = f"{path}, line {line}"

    def add_environment(self, environment: Mapping[str, str]) -> None:
        """Settings of variables such as ``SKELETONHUNTER_KAFKA__URL``."""
        for variable, text in sorted(environment.items()):
            if not variable.startswith(PREFIX) or variable.startswith(TEST_PREFIX):
                continue
            place = f"environment variable {variable}"
            names = variable.removeprefix(PREFIX).lower().split("__")
            if len(names) == 1:
                raise SettingsError(f"{place}: expected {PREFIX}<SECTION>__<FIELD>, with two underscores between them")
            self._put(names, self._from_text(names, text, place), place)

    def add_flags(self, flags: Mapping[str, object]) -> None:
        """Settings of the command line, ``section.field`` to a value or a text; None = not given."""
        for name, value in flags.items():
            place, names = f"flag for {name}", name.split(".")
            if value is not None:
                known = self._from_text(names, value, place) if isinstance(value, str) else value
                self._put(names, known, place)

    def error(self, detail: str) -> SettingsError:
        """The error with the place of the setting that ``detail`` complains about."""
        return SettingsError(f"{self._place_of(detail)}: {detail}")

    def _place_of(self, detail: str) -> str:
        path = re.search(r" - at `\$\.?([^`\[]*)", detail)
        unknown = re.search(r"unknown field `([^`]+)`", detail)
        names = [part for part in (path[1] if path else "").split(".") if part] + ([unknown[1]] if unknown else [])
        whole = ".".join(names)
        below = (place for name, place in self.places.items() if name.startswith(f"{whole}."))
        for depth in range(len(names), 0, -1):
            if ".".join(names[:depth]) in self.places:
                return self.places[".".join(names[:depth])]
            if depth == len(names) and (place := next(below, None)):
                return place
        return str(self.file or "settings")

    def _put(self, names: list[str], value: object, place: str) -> None:
        tree = self.tree
        for depth, name in enumerate(names[:-1], start=1):
            tree = tree.setdefault(name, {})
            if not isinstance(tree, dict):
                raise self.error(f"Expected a section, got a value - at `$.{'.'.join(names[:depth])}`")
        tree[names[-1]] = value
        self.places[".".join(names)] = place

    def _from_text(self, names: list[str], text: str, place: str) -> object:
        """The value that a text stands for: lists are separated by commas, tables are JSON."""
        hint: Any = self.settings
        for name in names:
            hint = get_type_hints(hint, include_extras=True).get(name) if isinstance(hint, type) else None
        items = _inner(hint)
        try:
            if get_origin(items) is tuple:
                return [item.strip() for item in text.split(",") if item.strip()]
            if get_origin(items) is dict:
                return _table(text, place)
            return msgspec.convert(text, hint, strict=False) if hint else text
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            shown = "" if isinstance(items, type) and issubclass(items, msgspec.Struct) else f", got {text!r}"
            raise SettingsError(f"{place}: {error}{shown}") from error


def _table(text: str, place: str) -> object:
    """A table in JSON; what is no JSON is not repeated, because tables may hold secrets."""
    try:
        return msgspec.json.decode(text.encode())
    except msgspec.DecodeError as error:
        raise SettingsError(f"{place}: {error}, expected a table as JSON") from error


def _inner(hint: Any) -> Any:
    return _inner(get_args(hint)[0]) if hasattr(hint, "__metadata__") else hint


def _lines(text: str) -> dict[str, int]:
    """Line number of each section and field, as far as plain ``[section]`` and ``field =`` lines tell."""
    lines: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[{1,2}([\w.-]+)\]", line):
            section = header[1]
            lines.setdefault(section, number)  # of several tables in a list the first
        elif assignment := re.match(r"\s*([\w.-]+)\s*=", line):
            lines[f"{section}.{assignment[1]}" if section else assignment[1]] = number
    return lines
