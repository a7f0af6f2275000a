"""Which pairs may be probed, in which order of importance, and which endpoints are left out and why.

Only endpoints that are ``ready`` are probed: what is still starting has a half-built network stack, and a probe to it
would raise a false alarm. Without a trusted skeleton the pairs are the *basic list*: same rail, different host. It
holds every pair that a rail-optimised job can use between hosts and is about 8 times shorter than the full mesh. With
a trusted skeleton they are its edges.

Importance decides only what a budget keeps: pipeline edges first (a replica has few of them and each is on the critical
path), then clique edges by the distance of their ends around the ring of the rail's endpoints, so that a short list
still reaches every endpoint equally. Cost: O(pairs log pairs).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemas.maps import Endpoint, EndpointMap
from schemas.probing import Exclusion
from schemas.skeletons import SkeletonUpdate

KIND_RANK = {"pp": 0, "emb": 1, "ep": 2, "dp": 3}
"""Kinds of edges by importance; others come last."""

NamePair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of endpoint names (ascending), the most important first, and the endpoints that are in none of them."""

    pairs: tuple[NamePair, ...]
    excluded: tuple[Exclusion, ...]


def basic_candidates(endpoint_map: EndpointMap, most: int) -> Candidates:
    """Ready endpoints of one rail on different hosts, by distance around the rail's ring; at most ``most`` pairs."""
    rails = _by_rail(_ready(endpoint_map))
    pairs: list[NamePair] = []
    for gap in range(1, max(map(len, rails), default=0) // 2 + 1):
        ring = [pair for rail in rails for pair in _at_gap(rail, gap)]
        if len(pairs) + len(ring) > most:
            break
        pairs.extend(ring)
    return Candidates(tuple(pairs), _excluded(endpoint_map, pairs, "no ready peer on its rail on another host"))


def skeleton_candidates(endpoint_map: EndpointMap, skeleton: SkeletonUpdate) -> Candidates:
    """The skeleton's edges whose ends are ready and on different hosts."""
    ready = {endpoint.endpoint: endpoint for endpoint in _ready(endpoint_map)}
    place = {e.endpoint: (index, len(rail)) for rail in _by_rail(ready.values()) for index, e in enumerate(rail)}
    ranked: dict[NamePair, tuple[int, int]] = {}
    for a, b, kind in skeleton.edges:
        if a in ready and b in ready and ready[a].host != ready[b].host:
            pair = (a, b) if a < b else (b, a)
            rank = (KIND_RANK.get(kind, len(KIND_RANK)), _ring_distance(place[a], place[b]))
            ranked[pair] = min(rank, ranked.get(pair, rank))
    pairs = sorted(ranked, key=lambda pair: (ranked[pair], pair))
    return Candidates(tuple(pairs), _excluded(endpoint_map, pairs, "no skeleton edge to a ready endpoint"))


def within_targets(pairs: Iterable[NamePair], targets: int | None) -> list[NamePair]:
    """The pairs, most important first, that leave no endpoint with more than ``targets`` peers; None = all."""
    if targets is None:
        return list(pairs)
    peers: dict[str, int] = {}
    kept = []
    for a, b in pairs:
        if peers.get(a, 0) < targets and peers.get(b, 0) < targets:
            peers[a] = peers.get(a, 0) + 1
            peers[b] = peers.get(b, 0) + 1
            kept.append((a, b))
    return kept


def _ready(endpoint_map: EndpointMap) -> list[Endpoint]:
    return [endpoint for endpoint in endpoint_map.endpoints if endpoint.state == "ready"]


def _by_rail(endpoints: Iterable[Endpoint]) -> list[list[Endpoint]]:
    rails: dict[int, list[Endpoint]] = {}
    for endpoint in sorted(endpoints, key=lambda endpoint: endpoint.endpoint):
        rails.setdefault(endpoint.rail, []).append(endpoint)
    return [rails[rail] for rail in sorted(rails)]


def _at_gap(rail: Sequence[Endpoint], gap: int) -> list[NamePair]:
    size = len(rail)
    if 2 * gap > size:
        return []
    starts = range(gap if 2 * gap == size else size)  # opposite ends of an even ring meet once
    found = []
    for start in starts:
        a, b = rail[start], rail[(start + gap) % size]
        if a.host != b.host:
            found.append((a.endpoint, b.endpoint) if a.endpoint < b.endpoint else (b.endpoint, a.endpoint))
    return found


def _ring_distance(a: tuple[int, int], b: tuple[int, int]) -> int:
    apart = abs(a[0] - b[0])
    return min(apart, max(a[1], b[1]) - apart)


def _excluded(endpoint_map: EndpointMap, pairs: Sequence[NamePair], why: str) -> tuple[Exclusion, ...]:
    probed = {name for pair in pairs for name in pair}
    reasons = {"ready": why, "starting": "not ready: its container is starting", "gone": "gone"}
    return tuple(
        Exclusion(endpoint=endpoint.endpoint, why=reasons[endpoint.state])
        for endpoint in sorted(endpoint_map.endpoints, key=lambda endpoint: endpoint.endpoint)
        if endpoint.endpoint not in probed
    )
