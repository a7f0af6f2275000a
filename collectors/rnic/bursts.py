"""Where do bursts begin and end, and how many bytes are they? Edge detection on byte counters of one port. Pure.

A burst is bytes without a pause. The counter is sampled every 10 to 100 ms; an interval between two samples is *active*
when it moved more than ``quiet_bytes_s`` allows, and more than ``ack_share`` of the other direction (acknowledgements).
A burst is a run of active intervals, with what the quiet intervals right before and after it moved beyond the usual
background: so its bytes are those of the transfer, whatever the phase of the samples, and both ends of it agree.

Edges are finer than an interval: within the first and the last one the transfer is taken to run as fast as in their
neighbour, so ``start = b - bytes / rate``. A burst of one interval is that interval. Error: less than one interval.

Edge cases. Pauses shorter than two intervals may be missed. A sample that could not be read lengthens the interval. A
decrease ends the burst at the sample before; the bytes across it are unknown. Late samples (a starved agent) give long
intervals, and edges as blunt as these. A driver that refreshes its counters less often than they are sampled shows as a
rise that the line can't carry: samples that are no refresh are then left out, and edges are as blunt as the refresh.
Time: ``mono_us`` never steps back and gives lengths; ``t_us`` places the start. Units: bytes, microseconds.
Cost: 2 us per sample and direction; memory constant but for finished bursts.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Direction = Literal["tx", "rx"]

BACKGROUND_SHARE = 1 / 16
"""Weight of a new quiet interval in the background."""

LINE_SLACK = 1.15
LINE_SLACK_BYTES = 1_000_000
COARSEST_US = 5_000_000
ENOUGH_FINE = 20
"""After so many quick changes in a row a counter is not taken to be refreshed seldom any more."""
MOST_WAITING = 4_096


class Found(NamedTuple):
    """One burst: instants by the host's clock."""

    start_us: int
    end_us: int
    bytes: int
    direction: Direction


class Sensing(NamedTuple):
    """When something counts: rates in bytes per second, ``line_bytes_s`` 0 = not known, ``longest_us`` of a burst."""

    quiet_bytes_s: float = 20e6
    ack_share: float = 0.01
    line_bytes_s: float = 0.0
    longest_us: int = 60_000_000


class _Run:
    """An open burst: ends of its first and last interval, bytes there and in all, rates of their neighbours."""

    __slots__ = ("before", "bytes", "first", "first_end", "last", "last_start", "second", "start", "until", "wall")

    def __init__(self, start: int, end: int, moved: int, before: float, wall: int) -> None:
        self.start, self.first_end, self.first, self.before, self.wall = start, end, moved, before, wall
        self.last_start, self.until, self.last = start, end, moved
        self.second = self.bytes = 0.0
        self.bytes = moved + before

    def extend(self, start: int, end: int, moved: int) -> None:
        if not self.second:
            self.second = moved / (end - start)
        self.last_start, self.until = start, end
        self.bytes += moved
        self.last = moved


class Side:
    """One direction of one port."""

    __slots__ = (
        "_background",
        "_calm",
        "_changed",
        "_coarse",
        "_fine",
        "_left",
        "_previous",
        "_run",
        "at",
        "direction",
        "value",
    )

    def __init__(self, direction: Direction) -> None:
        self.direction = direction
        self.at = -1
        self.value = 0
        self._run: _Run | None = None
        self._previous = 0.0
        self._background = 0.0
        self._left = 0.0
        self._calm = False
        self._changed = -1
        self._coarse = self._fine = 0

    @property
    def resolution_us(self) -> int:
        """How seldom the driver refreshes the counter; 0: at least as often as it is sampled."""
        return self._coarse

    @property
    def is_open(self) -> bool:
        """Whether a burst is going on, as far as the samples tell."""
        return self._run is not None

    def forget(self) -> None:
        """Nothing is known any more; the next sample begins anew."""
        self.at, self._run, self._left, self._calm, self._changed = -1, None, 0.0, False, -1

    def moved(self, mono_us: int, value: int, line_bytes_s: float) -> int | None:
        """Bytes since the sample before; None: there is none, or the counter was not refreshed since."""
        if self.at < 0 or value < self.value or mono_us <= self.at:
            return None
        moved, elapsed = value - self.value, mono_us - self.at
        if not moved:
            return None if elapsed < self._coarse else 0
        if self._coarse:
            self._fine = self._fine + 1 if 2 * elapsed < self._coarse else 0
            self._coarse = 0 if self._fine >= ENOUGH_FINE else self._coarse
        if line_bytes_s and moved > line_bytes_s * elapsed / 1e6 * LINE_SLACK + LINE_SLACK_BYTES and self._changed >= 0:
            self._coarse = max(self._coarse, min(mono_us - self._changed, COARSEST_US))
            if self._run is None:
                self.at = max(self._changed, mono_us - self._coarse)
        return moved

    def step(self, mono_us: int, wall: int, value: int, moved: int, active: bool) -> _Ended | None:
        """Takes an interval; the burst that ended before it, if one did."""
        start, self.at, self.value = self.at, mono_us, value
        if moved:
            self._changed = mono_us
        run = self._run
        if active:
            if run is None:
                self._run = _Run(start, mono_us, moved, self._left, wall)
            else:
                self._previous = run.last / (run.until - run.last_start)
                run.extend(start, mono_us, moved)
            self._left, self._calm = 0.0, False
            return None
        beyond = max(moved - self._background * (mono_us - start), 0.0)
        if run is None:
            if self._calm:
                self._background += (moved / (mono_us - start) - self._background) * BACKGROUND_SHARE
            self._left, self._calm = beyond, True
            return None
        self._run, self._left, self._calm = None, 0.0, False
        return _Ended(run, beyond, mono_us, self._previous)

    def begin(self, mono_us: int, value: int) -> _Ended | None:
        """A first sample, or one after a reset; the burst that was going on until then."""
        run, self._run = self._run, None
        self.at, self.value, self._left, self._calm, self._changed = mono_us, value, 0.0, False, -1
        return None if run is None else _Ended(run, 0.0, run.until, self._previous)

    def cut(self, longest_us: int) -> _Ended | None:
        """A part of a burst that has lasted too long."""
        run = self._run
        if run is None or run.until - run.start < longest_us:
            return None
        self._run = None
        return _Ended(run, 0.0, run.until, self._previous)


class _Ended(NamedTuple):
    """A burst that is over: bytes behind it, until when at most, rate before its last interval."""

    run: _Run
    behind: float
    limit: int
    rate_before: float

    def found(self, direction: Direction) -> Found:
        run = self.run
        first_rate = max(run.second, run.first / (run.first_end - run.start))
        first_length = run.first_end - run.start
        back = min((run.first + run.before) / first_rate, 2 * first_length) if first_rate else first_length
        start = run.first_end - round(back)
        if run.until == run.first_end:
            end = min(run.until + round(self.behind / first_rate), self.limit)
        else:
            last_rate = max(self.rate_before, run.last / (run.until - run.last_start))
            end = min(run.last_start + round((run.last + self.behind) / last_rate), self.limit)
        end = max(end, start)
        return Found(max(start + run.wall, 0), max(end + run.wall, 0), round(run.bytes + self.behind), direction)


class BurstDetector:
    """Bursts of one port, both directions."""

    __slots__ = ("_found", "rx", "sensing", "tx")

    def __init__(self, sensing: Sensing) -> None:
        self.sensing = sensing
        self.tx, self.rx = Side("tx"), Side("rx")
        self._found: list[Found] = []

    def sample(self, t_us: int, mono_us: int, tx: int | None, rx: int | None) -> None:
        """Takes one sample: cumulative bytes, None = could not be read."""
        wall = t_us - mono_us
        line = self.sensing.line_bytes_s
        sent = None if tx is None else self.tx.moved(mono_us, tx, line)
        received = None if rx is None else self.rx.moved(mono_us, rx, line)
        sent_since, received_since = self.tx.at, self.rx.at
        if tx is not None:
            self._take(self.tx, (mono_us, wall, tx), sent, received if sent_since == received_since else None)
        if rx is not None:
            self._take(self.rx, (mono_us, wall, rx), received, sent if sent_since == received_since else None)

    def take(self) -> list[Found]:
        """Bursts that ended since the last call, in order of their ends."""
        found, self._found = self._found, []
        found.sort(key=lambda one: (one.end_us, one.start_us, one.direction))
        return found

    @property
    def is_open(self) -> bool:
        """Whether a burst is going on: it may have ended within the last interval already."""
        return self.tx.is_open or self.rx.is_open

    def forget(self) -> None:
        """The device is another one, or away: nothing is comparable any more."""
        for side in (self.tx, self.rx):
            self._keep(side.begin(-1, 0), side)
            side.forget()

    def _take(self, side: Side, now: tuple[int, int, int], moved: int | None, other: int | None) -> None:
        mono_us, wall, value = now
        if moved is None:
            if side.at < 0 or value < side.value:
                self._keep(side.begin(mono_us, value), side)
            return
        sensing = self.sensing
        active = moved * 1e6 > sensing.quiet_bytes_s * (mono_us - side.at)
        if active and other is not None:
            active = moved > sensing.ack_share * other
        ended = side.step(mono_us, wall, value, moved, active)
        if ended is not None:
            self._keep(ended, side)
        elif active:
            self._keep(side.cut(sensing.longest_us), side)

    def _keep(self, ended: _Ended | None, side: Side) -> None:
        if ended is not None and len(self._found) < MOST_WAITING:
            self._found.append(ended.found(side.direction))
