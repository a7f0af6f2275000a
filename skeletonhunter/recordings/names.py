"""Which names does a message tell? Names of tenants, jobs, fabrics, hosts, containers, switches, links and agents.

They stand in fields of their own, in endpoints (``<container>/<rnic>``), in nodes of a fabric, and in component ids.
A name that plays several parts counts as the first of ``KINDS``. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schemas.topics import topics

KINDS = ("host", "container", "switch", "link", "job", "tenant", "fabric", "agent")
"""What a name can be of; a name of several kinds is of the first."""

_OWN_FIELDS = {kind: kind for kind in KINDS if kind != "link"}
_LISTS = {"jobs": "job"}
_ENDPOINTS = frozenset(("src", "dst", "endpoint", "covers", "endpoints", "towards", "members"))
_COMPONENTS = frozenset(("device", "component", "target", "at", "next", "was", "watches"))
_OF_COMPONENT = {
    **{"vif": "container", "container": "container", "switch": "switch", "port": "switch", "link": "link"},
    **{"rnic": "host", "host": "host", "vswitch": "host", "tunnel": "host", "clock": "host", "agent": "agent"},
}
WORDS = frozenset((*_OF_COMPONENT, *KINDS, "config", "nodes", "links", *topics(), "mlx5", "rdma", "none"))
"""Words of the contract, which are no names where they stand in a text."""

Name = tuple[str, str]
"""(kind, name)"""


def names_in(value: Any) -> Iterator[Name]:
    """The names that a message, as JSON-like values, tells."""
    if isinstance(value, dict):
        for field, inner in value.items():
            yield from _in_field(field, inner)
            yield from names_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from names_in(inner)


def first_kinds(names: Mapping[str, set[str]]) -> dict[str, str]:
    """Each name with the kind that it counts as."""
    return {name: next(kind for kind in KINDS if kind in kinds) for name, kinds in names.items() if name}


def _in_field(field: str, value: Any) -> Iterator[Name]:
    if isinstance(value, str):
        if field in _OWN_FIELDS:
            yield _OWN_FIELDS[field], value
        elif field in _ENDPOINTS:
            yield from _of_endpoint(value)
        elif field in _COMPONENTS:
            yield from _of_component(value)
        elif field == "switch_port":
            yield "switch", value.rpartition("/")[0]
    elif isinstance(value, dict) and field == "gids":
        for endpoint in value:
            yield from _of_endpoint(endpoint)
    elif isinstance(value, list):
        yield from _in_list(field, value)


def _in_list(field: str, items: list[Any]) -> Iterator[Name]:
    for item in items:
        if isinstance(item, str) and field in _LISTS:
            yield _LISTS[field], item
        elif isinstance(item, str) and field in _ENDPOINTS:
            yield from _of_endpoint(item)
        elif isinstance(item, str) and field in _COMPONENTS:
            yield from _of_component(item)
        elif isinstance(item, str) and field == "path":
            yield "link", item
        elif isinstance(item, dict) and isinstance(item.get("id"), str):
            if field == "nodes":
                is_rnic = item.get("kind") == "rnic"
                yield ("host", item["id"].rpartition("/")[0]) if is_rnic else ("switch", item["id"])
            elif field == "links":
                yield "link", item["id"]


def _of_endpoint(text: str) -> Iterator[Name]:
    if "/" in text:
        yield "container", text.rpartition("/")[0]


def _of_component(text: str) -> Iterator[Name]:
    prefix, _, rest = text.partition(":")
    if prefix in _OF_COMPONENT and rest:
        kind = _OF_COMPONENT[prefix]
        yield kind, rest.rpartition("/")[0] if prefix in ("vif", "port", "rnic") and "/" in rest else rest
