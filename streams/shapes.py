"""Can this program read that checkpoint? A fingerprint of everything that a state is made of.

A state is a pickle: it holds objects of our classes, and the parameters that its engine was built with. One that was
written by a version whose classes have other fields would fail at some later moment, and one that was written with
other parameters would go on with them unnoticed. So each mark names the shape of what it covers, and a partition whose
mark names another one is folded again from its topics.

The shape is a digest of the names and fields of all dataclasses and structs of the packages that states come from, and
of the parameters. Cost: once per process, the import of these packages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

import msgspec

from streams.parameters import Parameters

PACKAGES = ("schemas", "skeleton", "probe_planner", "localization", "streams")
DIGEST_BYTES = 8


def shape_of(parameters: Parameters) -> str:
    """The shape of states that this program writes with these parameters, 16 hex digits."""
    return _digest(_classes(), msgspec.json.encode(parameters, order="deterministic").decode())


@cache
def _classes() -> str:
    lines = {line for name in PACKAGES for module in _modules(name) for line in _described(module)}
    return _digest(*sorted(lines))


def _digest(*texts: str) -> str:
    return blake2b("\n".join(texts).encode(), digest_size=DIGEST_BYTES).hexdigest()


def _modules(package: str) -> Iterator[ModuleType]:
    root = import_module(package)
    yield root
    for found in walk_packages(root.__path__, f"{package}."):
        yield import_module(found.name)


def _described(module: ModuleType) -> Iterator[str]:
    """A line for each class of a module that has fields."""
    for value in vars(module).values():
        if not isinstance(value, type) or value.__module__ != module.__name__:
            continue
        names = _fields(value)
        if names is not None:
            yield f"{module.__name__}.{value.__qualname__} {' '.join(names)}"


def _fields(kind: type) -> tuple[str, ...] | None:
    if is_dataclass(kind):
        return tuple(f"{field.name}:{field.type}" for field in fields(kind))
    if issubclass(kind, msgspec.Struct):
        return kind.__struct_fields__
    return None
