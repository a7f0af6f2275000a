"""How do columns of a switch become facts, and whose clock tells their instants?

A message holds at most ``MOST_COLUMNS`` queues, as brokers take about a megabyte; a large switch takes several.

The switch's clock counts, and both are kept. If they are more than ``MOST_SKEW_US`` apart, joining by the switch's
clock would mislead: the instants are ours then, and the skew is told, once until it is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from collectors.events.notices import Notice, Subject
from collectors.observing import Now, Observed

MOST_COLUMNS = 1_000
MOST_SKEW_US = 5_000_000


def facts_of(switch: str, columns: Sequence[dict[str, Any]], software: str | None, now: Now) -> Iterator[Observed]:
    """Messages with all columns."""
    for start in range(0, len(columns), MOST_COLUMNS):
        fields = {"switch": switch, "ports": list(columns[start : start + MOST_COLUMNS]), "software": software}
        yield Observed("switch-queues", f"switch-queues/{switch}", now.t_us, fields)


class SkewWatch:
    """Compares the clock of one switch with ours."""

    def __init__(self, switch: str) -> None:
        self._switch = switch
        self._is_skewed = False

    def step(self, device_us: int | None, received_us: int) -> tuple[int, list[Notice]]:
        """The instant that counts, and what is to be told. ``device_us`` None: the switch does not tell."""
        skew_us = device_us - received_us if device_us is not None else 0
        was, self._is_skewed = self._is_skewed, abs(skew_us) > MOST_SKEW_US
        if not self._is_skewed:
            return received_us if device_us is None else device_us, []
        return received_us, [] if was else [self._notice(skew_us)]

    def _notice(self, skew_us: int) -> Notice:
        return Notice(
            code="unknown",
            severity="warning",
            subject=Subject("switch", self._switch),
            text=f"the clock of {self._switch} is {skew_us / 1e6:.1f} s off ours; samples get our instants",
            values={"skew_us": skew_us},
        )
