"""What do schedulers and collective libraries say of a job's ranks? Read from an endpoint map, not yet believed.

- *order*: ranks, where all are given, or the order of its containers, where the map's reason says that they stand in
  rank order (RNICs of a container as listed);
- *chains*: groups of kind ``pp``, as ``{"pp": [[endpoint, ...], ...]}`` or ``[{"kind": "pp", "members": [...]}, ...]``.
Whatever else ``groups`` holds is left alone. How hints are checked against traffic: ``corroboration``; degrees of
parallelism: ``degrees``. Cost: O(endpoints).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.maps import EndpointMap

Chains = tuple[tuple[int, ...], ...]

RANK_ORDER = "in rank order"


@dataclass(frozen=True, slots=True)
class Hints:
    """Order: position of each endpoint, by its index in the membership; chains: endpoint indices in pipeline order."""

    order: tuple[int, ...] | None = None
    chains: Chains = ()


NO_HINTS = Hints()


def read_hints(value: EndpointMap, names: Sequence[str]) -> Hints:
    """The hints of a map for the endpoints ``names``."""
    index = {name: number for number, name in enumerate(names)}
    present = [e for e in value.endpoints if e.endpoint in index and e.state != "gone"]
    order: tuple[int, ...] | None = None
    if present and all(e.rank is not None for e in present):
        position = {e.endpoint: e.rank or 0 for e in present}
        order = tuple(position[name] for name in names)
    elif RANK_ORDER in value.reason:
        position = {e.endpoint: number for number, e in enumerate(present)}
        order = tuple(position[name] for name in names)
    chains = [[index[name] for name in members if name in index] for members in _listed(value.groups, "pp")]
    return Hints(order, tuple(tuple(chain) for chain in chains if len(chain) > 1))


def _listed(groups: object, kind: str) -> list[list[str]]:
    """Member lists of a kind in groups of either known shape; none for any other shape."""
    if isinstance(groups, dict):
        found = groups.get(kind, [])
    elif isinstance(groups, list | tuple):
        found = [one.get("members") for one in groups if isinstance(one, dict) and one.get("kind") == kind]
    else:
        found = []
    lists = [one for one in found if isinstance(one, list | tuple)] if isinstance(found, list | tuple) else []
    return [[name for name in one if isinstance(name, str)] for one in lists]
