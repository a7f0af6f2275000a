"""What differs between two lists of incidents? Pure.

Incidents are matched by id; then, because an id depends on the onset and another onset gives another id, what is left
by kind and component with the nearest onset, and then by kind and shared endpoints with the nearest onset, both within
``NEAR_US``. What is still left is gone (only before) or new (only after). Cost: O(n m) for the few that have no twin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from schemas.diagnosis import Incident

NEAR_US = 60_000_000
ENVELOPE = frozenset(("v", "t_us", "producer", "clock"))
INSTANTS = ("onset_us", "detected_us", "localized_us", "resolved_us")
WORDY = ("evidence", "trace")
"""Fields of which only is told that they differ."""


@dataclass(frozen=True, slots=True)
class Change:
    """An incident in both lists and the fields that differ: (before, after); instants in seconds of difference too."""

    before: Incident
    after: Incident
    fields: dict[str, tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Difference:
    """Incidents that are only before, only after, or in both and not the same."""

    gone: tuple[Incident, ...]
    new: tuple[Incident, ...]
    changed: tuple[Change, ...]
    same: int

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.gone or self.new or self.changed)


def difference(before: Sequence[Incident], after: Sequence[Incident]) -> Difference:
    """Compares last states of incidents, each id once per list."""
    left, right = list(before), list(after)
    pairs: list[tuple[Incident, Incident]] = []
    for match in (_same_id, _same_component, _same_endpoints):
        pairs += _matched(left, right, match)
    changes = [Change(one, other, _fields(one, other)) for one, other in pairs]
    changed = sorted((each for each in changes if each.fields), key=lambda each: _place(each.after))
    return Difference(
        gone=tuple(sorted(left, key=_place)),
        new=tuple(sorted(right, key=_place)),
        changed=tuple(changed),
        same=len(changes) - len(changed),
    )


def as_json(found: Difference) -> dict[str, Any]:
    """The same for a program."""
    return {
        "gone": [msgspec.to_builtins(each) for each in found.gone],
        "new": [msgspec.to_builtins(each) for each in found.new],
        "changed": [
            {
                "before": each.before.incident,
                "after": each.after.incident,
                "fields": {name: {"before": one, "after": other} for name, (one, other) in each.fields.items()},
            }
            for each in found.changed
        ],
        "same": found.same,
    }


def as_lines(found: Difference) -> list[str]:
    """The same for a person."""
    lines = [f"gone     {_told(each)}" for each in found.gone]
    lines += [f"new      {_told(each)}" for each in found.new]
    for each in found.changed:
        lines.append(f"changed  {_told(each.after)}")
        lines += [f"         {_field(name, *values)}" for name, values in each.fields.items()]
    counts = f"{len(found.gone)} gone, {len(found.new)} new, {len(found.changed)} changed, {found.same} the same"
    return [*lines, counts]


def _told(incident: Incident) -> str:
    what = incident.issue or incident.kind
    return f"{incident.incident}  {what} {incident.component or 'no component named'} ({incident.state})"


def _field(name: str, before: Any, after: Any) -> str:
    if name in WORDY:
        return f"{name}: not the same"
    if name in INSTANTS and before is not None and after is not None:
        return f"{name}: {(after - before) / 1e6:+.3f} s"
    return f"{name}: {_word(before)} -> {_word(after)}"


def _word(value: Any) -> str:
    if value is None:
        return "none"
    return ", ".join(map(_word, value)) if isinstance(value, list | tuple) else str(value)


def _fields(before: Incident, after: Incident) -> dict[str, tuple[Any, Any]]:
    one, other = msgspec.to_builtins(before), msgspec.to_builtins(after)
    return {name: (one[name], other[name]) for name in one if name not in ENVELOPE and one[name] != other[name]}


def _matched(
    left: list[Incident], right: list[Incident], match: Callable[[Incident, Incident], bool]
) -> Iterable[tuple[Incident, Incident]]:
    """Takes the pairs that match out of both lists, nearest onsets first."""
    candidates = sorted(
        ((abs(a.onset_us - b.onset_us), a.incident, b.incident, a, b) for a in left for b in right if match(a, b)),
        key=lambda each: each[:3],
    )
    for _, _, _, one, other in candidates:
        if one in left and other in right:
            left.remove(one)
            right.remove(other)
            yield one, other


def _same_id(one: Incident, other: Incident) -> bool:
    return one.incident == other.incident


def _same_component(one: Incident, other: Incident) -> bool:
    near = abs(one.onset_us - other.onset_us) <= NEAR_US
    return near and one.kind == other.kind and one.component is not None and one.component == other.component


def _same_endpoints(one: Incident, other: Incident) -> bool:
    near = abs(one.onset_us - other.onset_us) <= NEAR_US
    return near and one.kind == other.kind and not set(one.endpoints).isdisjoint(other.endpoints)


def _place(incident: Incident) -> tuple[int, str]:
    return incident.onset_us, incident.incident
