"""When does time pass in a replay? The event clock of a recording, and its ticks. Pure.

The clock is the running maximum over messages of min(``t_us``, ``arrival_us``): a producer whose clock runs ahead can't
hurry it, and late data doesn't turn it back. A tick stands at each whole second that the clock reaches, before the
message that reached it. Where nothing was recorded for more than ``MAX_TICKS`` seconds, seconds are not counted one by
one: one tick at the end of the gap does. After the last message comes one final tick at the time of the clock.
"""

from __future__ import annotations

from dataclasses import dataclass

SECOND_US = 1_000_000
MAX_TICKS = 600


@dataclass(slots=True)
class EventClock:
    """``now_us`` is event time so far, None = nothing was seen."""

    now_us: int | None = None

    def pass_to(self, t_us: int, arrival_us: int) -> range | tuple[int, ...]:
        """Takes note of a message and returns the instants of the ticks that belong before it (mostly none)."""
        at_us = min(t_us, arrival_us)
        before_us = self.now_us
        if before_us is not None and at_us <= before_us:
            return ()
        self.now_us = at_us
        last = at_us // SECOND_US
        first = last if before_us is None else before_us // SECOND_US + 1
        if last < first:
            return ()
        if last - first >= MAX_TICKS:
            first = last
        return range(first * SECOND_US, last * SECOND_US + 1, SECOND_US)
