"""Found faults and false blames, counted as the referees of the localization cases count them.

A blamed link counts whatever its direction; a link, its two ports and (access links) its RNIC are one component; a
faulty switch is found when it, or at least half of its links, are blamed, and blames of single links of it count
neither way. Time, issue and confidence play no part: every component that a network fault names at last is a blame,
each place once. Congestion is no fault here, so blaming it is false.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from schemas.diagnosis import Incident
from schemas.truth import Truth
from skeletonhunter.scoring.facts import RecordingFacts
from skeletonhunter.scoring.histories import gather
from skeletonhunter.scoring.places import Places


class BlameCount(Struct, frozen=True, kw_only=True):
    """Of one or more recordings. Precision is null without blames, recall without faults."""

    traces: int
    faults: int
    found: int
    false_blames: int

    @property
    def precision(self) -> float | None:
        """Found faults over all blames."""
        blames = self.found + self.false_blames
        return self.found / blames if blames else None

    @property
    def recall(self) -> float | None:
        """Found faults over faults."""
        return self.found / self.faults if self.faults else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of both."""
        both = self.found + self.false_blames + self.faults
        return 2 * self.found / both if both else None


def count_blames(truth: Truth, incidents: Sequence[Incident], facts: RecordingFacts) -> BlameCount:
    """The count of one recording."""
    last = [history.last for history in gather(incidents)]
    blamed = [state.component for state in last if state.kind == "network_fault" and state.component is not None]
    faults = [fault.component for fault in truth.faults if fault.kind == "network_fault"]
    return count_components(faults, blamed, Places(facts))


def count_components(faults: Iterable[str], blamed: Iterable[str], places: Places) -> BlameCount:
    """As ``count_blames``, from component ids."""
    faulty = {_place(component, places): component for component in faults}
    said = {_place(component, places) for component in blamed}
    links = {
        place: places.links_of.get(name[7:], set()) for place, name in faulty.items() if name.startswith("switch:")
    }
    by_half = {place for place, own in links.items() if own and 2 * len(_links(said) & own) >= len(own)}
    neutral = {place for place in said if any(_links([place]) & own for own in links.values())}
    found = (said & faulty.keys()) | by_half
    return BlameCount(traces=1, faults=len(faulty), found=len(found), false_blames=len(said - faulty.keys() - neutral))


def add_counts(counts: Sequence[BlameCount]) -> BlameCount:
    """The pooled count."""
    return BlameCount(
        traces=sum(count.traces for count in counts),
        faults=sum(count.faults for count in counts),
        found=sum(count.found for count in counts),
        false_blames=sum(count.false_blames for count in counts),
    )


def _place(component: str, places: Places) -> str:
    """One name for a link, its ports and its RNIC; anything else keeps its id."""
    cables = places.cables(component)
    return f"link:{min(cables)}" if len(cables) == 1 else places.plain(component)


def _links(said: Iterable[str]) -> set[str]:
    return {place[5:] for place in said if place.startswith("link:")}
