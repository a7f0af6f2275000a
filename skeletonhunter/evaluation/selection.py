"""Which part of a campaign is to be run? By parts of ids, subject, size, seed, and as one of several equal parts.

A part ``n/of`` is each ``of``-th scenario of those that are left, so that every part gets its share of the large ones.
The parts of a campaign may run on different machines; gathered in one folder ``scenarios/`` they are reported together
by a run without ``--part``, which finds all results known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from msgspec import Struct
from msgspec.structs import replace

from skeletonhunter.evaluation.scenarios import SIZES, SUBJECTS, Scenario, Size

MOST_SEEDS = 10_000


class SelectionError(ValueError):
    """An option that selects nothing or can't be understood: one sentence with the option."""


class Selection(Struct, frozen=True):
    """What to run; empty and null mean all. ``subjects``: ids of ``SUBJECTS``; ``part``: (n, of), n from 1."""

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    sizes: tuple[Size, ...] = ()
    seeds: tuple[int, ...] = ()
    part: tuple[int, int] | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return self == Selection()

    @property
    def text(self) -> str:
        """The options that select it, as they are typed, each after a space; subjects by their ids."""
        listed = {
            "subjects": ",".join(self.subjects),
            "sizes": ",".join(self.sizes),
            "seeds": ",".join(str(seed) for seed in self.seeds),
            "part": "/".join(str(number) for number in self.part or ()),
        }
        words = [f"--only {text}" for text in self.only] + [f"--skip {text}" for text in self.skip]
        return "".join(f" {word}" for word in [*words, *(f"--{name} {text}" for name, text in listed.items() if text)])

    def of(self, scenarios: Sequence[Scenario]) -> tuple[Scenario, ...]:
        """The scenarios that are selected, in their order."""
        left = [scenario for scenario in scenarios if self._takes(scenario)]
        if self.part is None:
            return tuple(left)
        number, parts = self.part
        return tuple(left[number - 1 :: parts])

    def _takes(self, scenario: Scenario) -> bool:
        return (
            wanted(scenario.id, self.only, self.skip)
            and (not self.subjects or scenario.subject in self.subjects)
            and (not self.sizes or scenario.size in self.sizes)
            and (not self.seeds or scenario.seed in self.seeds)
        )


def wanted(name: str, only: Sequence[str], skip: Sequence[str]) -> bool:
    """Whether the name holds one of ``only`` (empty = any) and none of ``skip``."""
    return (not only or any(part in name for part in only)) and not any(part in name for part in skip)


def select(
    filters: Selection, subjects: str | None, sizes: str | None, seeds: str | None, part: str | None
) -> Selection:
    """The selection by the texts of the options, beside what ``filters`` selects; null = not given.

    Raises:
        SelectionError: one of them selects nothing or can't be understood.
    """
    return replace(
        filters,
        subjects=() if subjects is None else parse_subjects(subjects),
        sizes=() if sizes is None else parse_sizes(sizes),
        seeds=() if seeds is None else parse_seeds(seeds),
        part=None if part is None else parse_part(part),
    )


def parse_subjects(text: str) -> tuple[str, ...]:
    """Subjects from a list with commas: an id, a name (``gid_change``), or a family (``issue``).

    Raises:
        SelectionError: one that is not known.
    """
    found: list[str] = []
    for word in _words(text):
        known = [subject for subject in SUBJECTS if word in _names_of(subject)]
        if not known:
            raise SelectionError(f"--subjects: there is no subject {word!r}, known: {', '.join(SUBJECTS)}")
        found += known
    return tuple(dict.fromkeys(found)) or _nothing("subjects", text)


def _names_of(subject: str) -> tuple[str, str, str]:
    scenario = Scenario(subject, "s", 1)
    return subject, scenario.name, scenario.family


def parse_sizes(text: str) -> tuple[Size, ...]:
    """Sizes from a list with commas.

    Raises:
        SelectionError: one that is not known.
    """
    words = _words(text)
    unknown = [word for word in words if word not in SIZES]
    if unknown:
        raise SelectionError(f"--sizes: there is no size {unknown[0]!r}, known: {', '.join(SIZES)}")
    return tuple(size for size in SIZES if size in words) or _nothing("sizes", text)


def parse_seeds(text: str) -> tuple[int, ...]:
    """Seeds from a list with commas of numbers and ranges, such as ``1-3,7``; in ascending order.

    Raises:
        SelectionError: what is neither.
    """
    seeds: set[int] = set()
    for word in _words(text):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", word)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if last < first or last - first >= MOST_SEEDS:
            raise SelectionError(f"--seeds: {word!r} is no seed and no range of seeds, such as 1-3,7")
        seeds.update(range(first, last + 1))
    return tuple(sorted(seeds)) or _nothing("seeds", text)


def parse_part(text: str) -> tuple[int, int]:
    """``2/4`` as (2, 4).

    Raises:
        SelectionError: it is not such a part.
    """
    found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    number, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= parts:
        raise SelectionError(f"--part: {text!r} is not n/of with 1 <= n <= of, such as 1/4")
    return number, parts


def _nothing(option: str, text: str) -> NoReturn:
    raise SelectionError(f"--{option}: {text!r} selects nothing")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
