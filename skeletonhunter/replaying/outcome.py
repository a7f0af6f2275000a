"""What came of a replay? For both engines: incidents in all their states, what could not be read, and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from localization.coverage import Remark
from schemas.codec import BadRecord, encode
from schemas.diagnosis import Incident

KEPT_REFUSALS = 1000


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that became a dead letter: where it stood (``file:line``) and why."""

    place: str
    reason: str
    detail: str


@dataclass(slots=True)
class ReplayOutcome:
    """Everything that a replay has to tell.

    ``updates`` are all incident messages in order of emission; ``refusals`` the first dead letters, ``refused`` their
    number by reason; ``admissions`` how many arrivals the stages took as new, saw as duplicates or as late;
    ``emitted`` messages by topic; ``skipped`` topics of the recording that this version doesn't know;
    ``out_of_coverage`` what the recording tells of paths that no probe crosses and no incident speaks of.
    """

    updates: list[Incident] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    admissions: dict[str, int] = field(default_factory=dict)
    emitted: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    span_us: tuple[int, int] = (0, 0)
    skipped: tuple[str, ...] = ()
    out_of_coverage: tuple[Remark, ...] = ()

    def refuse(self, place: str, error: BadRecord) -> None:
        """Notes a dead letter."""
        self.refused[error.reason] += 1
        if len(self.refusals) < KEPT_REFUSALS:
            self.refusals.append(Refusal(place, error.reason, error.detail))

    def incidents(self) -> list[Incident]:
        """The last state of each incident, in order of onset."""
        last = {update.incident: update for update in self.updates}
        return sorted(last.values(), key=lambda incident: (incident.onset_us, incident.incident))


def incident_lines(incidents: list[Incident]) -> bytes:
    """The bytes of an ``incidents.ndjson``: one incident per line, as it stands in the topic."""
    return b"".join(encode("incidents", incident) + b"\n" for incident in incidents)


Progress = Callable[[int], None]
"""Is told how many lines have been read so far."""


def quiet(lines: int) -> None:
    """No progress is shown."""
