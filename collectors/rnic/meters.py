"""What may be published of a counter, so that a reader who knows one rule makes no mistake? Pure.

The rule of the contract: a decrease, or a new boot, is a reset and the delta across it is unknown; null is unknown.
A kernel's counter breaks it in five ways, and each is turned into one of these two:

- it stops at its ceiling: null, because what was counted since is unknown;
- it wraps at 32 bits: carried on, when nothing else of the port decreased, the wrap needs no more bytes than the line
  could carry, and it could carry less than one whole turn; else it is a decrease;
- the driver was loaded again, or another file is read now, and the new value happens to be larger than the old one:
  counted from the first value on, so that it begins at zero and the decrease can be seen;
- it rose by more bytes than the line could carry since it last moved: the same, with the reason ``TOO_FAST``, unless it
  happens three times in a row, because then the rate is what is wrong;
- it decreased: passed on, as it came.

Units: ``factor`` times the kernel's number. Time only as an argument, microseconds. Cost: 1 us per value.
"""

from __future__ import annotations

from collectors.rnic.counter_text import Unread

TURN = 2**32
NEAR_TURN = 2**31
SLACK = 1.1
SLACK_BYTES = 1_000_000
BELIEVED = 3
"""After so many impossible rises in a row the rate is not believed any more."""


class Meter:
    """One counter. ``reason``: why the last value was null, or what was wrong with it."""

    __slots__ = ("_base", "_ceiling", "_fresh", "_saturated", "_shown", "factor", "raw", "reason", "seen_above")

    def __init__(self, factor: int = 1, ceiling: int = 0) -> None:
        self.factor = factor
        self.raw = -1
        self.reason: Unread | None = None
        self.seen_above = False
        self._ceiling = ceiling
        self._base = 0
        self._shown = -1
        self._fresh = False
        self._saturated = False

    def begin_anew(self) -> None:
        """From the next value on nothing is comparable with what was before."""
        self._fresh = self.raw >= 0
        self.seen_above = False

    def falls(self, raw: int | Unread) -> bool:
        """Whether ``raw`` is less than the last number."""
        return type(raw) is int and raw < self.raw

    def take(self, raw: int | Unread) -> int | None:
        """What to publish for a reading."""
        if type(raw) is not int:
            self.reason = raw  # type: ignore[assignment]
            return None
        if raw == self.raw and not self._fresh and self.reason is None:
            return self._shown
        if raw == self._ceiling and raw:
            self.reason = Unread.CEILING
            self._saturated = True
            return None
        if raw > self._ceiling:
            self._ceiling, self._saturated = 0, False
        self.reason = None
        if self._fresh or raw < self.raw or (self._saturated and self.raw >= 0):
            self._restart(raw)
        self.seen_above = self.seen_above or raw >= TURN
        self.raw = raw
        self._shown = raw * self.factor + self._base
        return self._shown

    def carry(self) -> None:
        """The 32-bit counter has turned over once."""
        self._base += TURN * self.factor
        self.raw -= TURN

    def _restart(self, raw: int) -> None:
        """Shows a decrease: the new number as it is when it is one, else counted from here."""
        self._base = 0 if raw * self.factor < self._shown else -raw * self.factor
        self._fresh = self._saturated = False


class ByteMeter(Meter):
    """A byte counter of a port, held against what the line can carry."""

    __slots__ = ("_impossible", "_moved_us", "limited")

    def __init__(self, factor: int, ceiling: int = 0) -> None:
        super().__init__(factor, ceiling)
        self.limited = True
        self._moved_us = 0
        self._impossible = 0

    def change(self, factor: int, ceiling: int) -> None:
        """Another file is read from now on; what was shown stays comparable because it is in bytes."""
        self.factor, self._ceiling, self._saturated = factor, ceiling, False

    def take_bytes(self, raw: int | Unread, t_us: int, line_gbps: float | None, others_fell: bool) -> int | None:
        """What to publish for a reading at ``t_us`` (a clock that never steps back).

        ``line_gbps`` None: not known, or no bound. ``others_fell``: another counter of the port decreased just now.
        """
        strange = None
        if type(raw) is int and self.raw >= 0 and not self._fresh and raw != self.raw:
            room = None if line_gbps is None else _room(line_gbps, t_us - self._moved_us)
            if raw < self.raw:
                if room is not None and not others_fell and self._turned(raw, room):
                    self.carry()
            elif room is not None and self.limited:
                strange = self._judge((raw - self.raw) * self.factor > room)
        if raw != self.raw:
            self._moved_us = t_us
        shown = self.take(raw)
        if strange is not None:
            self.reason = strange
        return shown

    def _turned(self, raw: int, room: float) -> bool:
        needed = (raw + TURN - self.raw) * self.factor
        near = NEAR_TURN <= self.raw < TURN and not self.seen_above
        return near and needed <= room < TURN * self.factor

    def _judge(self, impossible: bool) -> Unread | None:
        self._impossible = self._impossible + 1 if impossible else 0
        if not impossible:
            return None
        if self._impossible >= BELIEVED:
            self.limited = False
            return None
        self.begin_anew()
        return Unread.TOO_FAST


def _room(line_gbps: float, elapsed_us: int) -> float:
    """Bytes that the line can carry in that time, with some slack for blunt instants."""
    return line_gbps * 125.0 * elapsed_us * SLACK + SLACK_BYTES
