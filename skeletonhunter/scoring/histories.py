"""The states of each incident, in the order in which they were written: the last one holds, the first set the time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from schemas.diagnosis import Incident


class History(NamedTuple):
    """All known states of one incident, at least one."""

    states: tuple[Incident, ...]

    @property
    def last(self) -> Incident:
        """The state that holds."""
        return self.states[-1]

    @property
    def complete(self) -> bool:
        """Whether the opening message is known. Without it the incident's own instants are all there is."""
        return any(state.state == "open" for state in self.states)

    @property
    def heard_us(self) -> int:
        """When the first message said that there is an incident."""
        return min(state.t_us for state in self.states) if self.complete else self.last.detected_us

    @property
    def localized_us(self) -> int | None:
        """When a message first named the component that holds at last; never before the incident's own claim."""
        if self.last.component is None or not self.complete:
            return self.last.localized_us
        heard_us = min(state.t_us for state in self.states if state.component == self.last.component)
        return max(heard_us, self.last.localized_us or 0)

    @property
    def retracted(self) -> bool:
        """Whether the network was blamed at first and is no longer."""
        return self.last.kind != "network_fault" and any(state.kind == "network_fault" for state in self.states)


def gather(incidents: Iterable[Incident]) -> tuple[History, ...]:
    """One history per incident id, ordered by id."""
    states: dict[str, list[Incident]] = {}
    for incident in incidents:
        states.setdefault(incident.incident, []).append(incident)
    return tuple(History(tuple(states[name])) for name in sorted(states))
