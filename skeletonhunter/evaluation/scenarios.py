"""Which cases does a campaign consist of, and what are they called for ever?

A scenario's id is ``<subject>-<size>-s<seed>``, such as ``issue-09-offloading_failure-m-s07``: it never changes
meaning, so figures of different days can be compared. Issue numbers are the paper's (Table 1). Sizes are of fabrics:
s, m, l.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

from msgspec import Struct

from schemas.truth import ISSUES, MonitorFaultKind

Size = Literal["s", "m", "l"]
SIZES: tuple[Size, ...] = get_args(Size)
CampaignName = Literal["quick", "full"]

SUBJECTS: tuple[str, ...] = (
    *(f"issue-{number:02d}-{issue}" for number, issue in enumerate(ISSUES, start=1)),
    *(f"monitor-{kind}" for kind in get_args(MonitorFaultKind)),
    "control-healthy",
    "control-congested",
    "double-two_faults",
    "double-both_layers",
)
"""What can be wrong in a scenario: an issue, a monitor fault, nothing, congestion, two faults at once."""

_ID = re.compile(r"(?P<subject>.+)-(?P<size>[sml])-s(?P<seed>\d{2,})")


class Scenario(Struct, frozen=True, order=True):
    """One case. The seed decides all that is drawn: placement, severity, onset, noise."""

    subject: str
    size: Size
    seed: int

    @property
    def id(self) -> str:
        """The permanent id."""
        return f"{self.subject}-{self.size}-s{self.seed:02d}"

    @property
    def family(self) -> str:
        """``issue``, ``monitor``, ``control`` or ``double``."""
        return self.subject.partition("-")[0]

    @property
    def name(self) -> str:
        """The subject without family and number: an issue, a monitor fault, ``healthy`` ..."""
        return re.sub(r"^[a-z]+-(\d\d-)?", "", self.subject)


def parse_scenario(text: str) -> Scenario:
    """The scenario of that id.

    Raises:
        ValueError: naming what is wrong with the id.
    """
    found = _ID.fullmatch(text)
    if found is None:
        raise ValueError(f"scenario {text!r} is not <subject>-<size>-s<seed>, such as {SUBJECTS[8]}-m-s07")
    if found["subject"] not in SUBJECTS:
        raise ValueError(f"scenario {text!r}: unknown subject {found['subject']!r}, known: {', '.join(SUBJECTS)}")
    size: Size = found["size"]  # type: ignore[assignment]
    return Scenario(found["subject"], size, int(found["seed"]))


_SEEDS: dict[CampaignName, dict[Size, range]] = {
    "quick": {"s": range(1, 2)},
    "full": {"s": range(1, 15), "m": range(15, 20), "l": range(20, 21)},
}
"""Seeds per size. Every subject of the full campaign has twenty; quick is a part of full."""


def campaign(name: CampaignName) -> tuple[Scenario, ...]:
    """The scenarios of a campaign, large ones first so that the last worker is not left with one."""
    return tuple(
        Scenario(subject, size, seed)
        for size in reversed(SIZES)
        for seed in _SEEDS[name].get(size, ())
        for subject in SUBJECTS
    )
