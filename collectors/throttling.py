"""How does the agent use less when it uses too much? A ladder: every interval twice, four, eight times as long.

Over its budget in ``UP_AFTER`` measurements in a row it takes a step up, below ``EASE`` of it in ``DOWN_AFTER`` ones a
step down; where it stands is reported as ``throttled``. The top step is the last: the agent never goes silent, and the
health message keeps its rhythm. A measurement is the share of one core, percent, over one heartbeat.
"""

from __future__ import annotations

from msgspec import Struct

FACTORS = (1, 2, 4, 8)
UP_AFTER, DOWN_AFTER = 2, 6
EASE = 0.4


class Ladder(Struct, frozen=True):
    """Where the agent stands, and how many measurements in a row were over, or well below, the budget."""

    step: int = 0
    over: int = 0
    below: int = 0

    @property
    def factor(self) -> int:
        """By how much intervals are stretched."""
        return FACTORS[self.step]


def judge(ladder: Ladder, cpu_percent: float, budget_percent: float) -> Ladder:
    """The ladder after one more measurement."""
    over = ladder.over + 1 if cpu_percent > budget_percent else 0
    below = ladder.below + 1 if cpu_percent < EASE * budget_percent else 0
    if over >= UP_AFTER and ladder.step < len(FACTORS) - 1:
        return Ladder(ladder.step + 1)
    if below >= DOWN_AFTER and ladder.step > 0:
        return Ladder(ladder.step - 1)
    return Ladder(ladder.step, over, below)
