"""The examples of ``schemas/examples``: for each topic valid messages, and invalid ones each with its reason."""

from __future__ import annotations

from functools import cache
from importlib import resources

import msgspec

REFUSES = "refuses"
"""What an example says when JSON Schema refuses it too; else it says why JSON Schema can't."""


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One message with its Kafka key and arrival. ``reason`` and ``detail`` (words in it) are of invalid ones."""

    shows: str
    key: str | None
    arrival_us: int
    value: msgspec.Raw
    reason: str | None = None
    detail: str = ""
    json_schema: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether the codec must take it."""
        return self.reason is None

    @property
    def beyond_json_schema(self) -> bool:
        """Whether it is refused by a rule about its fields that JSON Schema can't express."""
        return self.reason == "invalid_value" and self.json_schema != REFUSES


@cache
def examples() -> dict[str, dict[str, Example]]:
    """All examples by topic and file name without ``.json``, valid ones first, ``typical`` before the others."""
    found: dict[str, dict[str, Example]] = {}
    for folder in sorted((resources.files("schemas") / "examples").iterdir(), key=lambda entry: entry.name):
        named = {
            entry.name.removesuffix(".json"): msgspec.json.decode(entry.read_bytes(), type=Example)
            for entry in folder.iterdir()
        }
        found[folder.name] = dict(sorted(named.items(), key=_place))
    return found


def _place(item: tuple[str, Example]) -> tuple[bool, bool, str]:
    name, example = item
    return not example.is_valid, not name.startswith("typical"), name
