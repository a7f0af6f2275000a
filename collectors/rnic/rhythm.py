"""When is the next sample due, so that all hosts sample at the same instants? At whole multiples of the period. Pure.

Every host samples at multiples of the period of its own clock (a disciplined clock is right to microseconds), not from
when its agent happened to start. Then both ends of a transfer are cut at the same instants, and counters of different
hosts can be compared second by second without interpolation. On the bundled healthy job, counters sampled so tell all
8 rails apart, counters sampled at random phases 2 of them (``docs/explanation/rnic-collectors.md``).

The agent asks for the period after each reading; the part of it that is off is put right here: a large error at once,
a small one (the lateness of the wake-up) by an eighth, so that single late turns do not matter. A clock that is set
is followed within a turn or two. An agent that saves asks every second, fourth ... time only and stretches the period;
how much it does is seen from the time between two readings. Cost: below 1 us.
"""

from __future__ import annotations

SMOOTHING = 8
LARGE = 10
"""An error beyond a tenth of the period is put right at once."""

MOST_STRETCHED = 64


class Rhythm:
    """Multiples of a period of the host's clock."""

    __slots__ = ("_asked_us", "_before_us", "_period_us")

    def __init__(self, period_s: float) -> None:
        self._period_us = max(1, round(period_s * 1e6))
        self._asked_us = float(self._period_us)
        self._before_us: int | None = None

    def next_s(self, t_us: int) -> float:
        """Seconds until the next reading is due, after the one at ``t_us`` was due."""
        period = self._period_us
        error = (t_us + period // 2) % period - period // 2
        correction = error if abs(error) * LARGE > period else error / SMOOTHING
        stretched = 1 if self._before_us is None else round((t_us - self._before_us) / self._asked_us)
        self._before_us = t_us
        self._asked_us = period - correction / min(max(stretched, 1), MOST_STRETCHED)
        return self._asked_us / 1e6
