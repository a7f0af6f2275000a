"""What do the users of a job want with its skeleton? Settings and messages: switched off, or further pairs.

Either may switch a job off; pairs of both are added. An added pair is an edge of kind ``user`` in every version of the
skeleton, also within a host or between rails, unless it is an edge already. Pairs with endpoints that the job does not
have (yet) wait, and are named in the evidence. A job that is switched off has no edges at all, and nothing is
remembered of its traffic. Cost: O(pairs) per version.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.skeletons import Edge, SkeletonOverride
from skeleton.membership import Membership
from skeleton.parameters import SkeletonParameters

USER = "user"
NAMED = 5
"""So many unknown endpoints are named."""


@dataclass(frozen=True, slots=True)
class Wish:
    """``disabled`` by whom, and why ("" = not); ``edges``: pairs in ascending order."""

    disabled: str = ""
    edges: tuple[tuple[str, str], ...] = ()


def read_wish(job: str, override: SkeletonOverride | None, parameters: SkeletonParameters) -> Wish:
    """What settings and the newest message want of a job."""
    rules = [rule for rule in parameters.overrides if rule.job == job]
    edges = {tuple(sorted(pair)) for rule in rules for pair in rule.edges if pair[0] != pair[1]}
    disabled = "switched off in the settings" if any(rule.disabled for rule in rules) else ""
    if override is not None:
        edges |= {tuple(sorted(pair)) for pair in override.edges if pair[0] != pair[1]}
        if override.disabled and not disabled:
            disabled = "switched off by its users" + (f": {override.reason}" if override.reason else "")
    return Wish(disabled, tuple((a, b) for a, b in sorted(edges)))


def augment(edges: tuple[Edge, ...], wish: Wish, membership: Membership) -> tuple[tuple[Edge, ...], dict[str, object]]:
    """The edges with those that users want, in ascending order; and what is to be said of it."""
    if not wish.edges:
        return edges, {}
    names, known = set(membership.names), {(a, b) for a, b, _ in edges}
    added = [(a, b, USER) for a, b in wish.edges if a in names and b in names and (a, b) not in known]
    unknown = sorted({name for pair in wish.edges for name in pair if name not in names})
    said: dict[str, object] = {"user_edges": len(added)}
    if unknown:
        said["user_endpoints_unknown"] = unknown[:NAMED]
    return tuple(sorted([*edges, *added])), said
