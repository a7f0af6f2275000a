"""What runs when? One thread, a heap of timers, and the file descriptors that have something to read.

Instants on the heap are microseconds of the clock that never steps back. After each wait the descriptors are served
before the timers: when the process was stopped for a while, what lies in the sockets is taken in before anybody
concludes from the time that it did not come.

A timer that fell behind is called once and keeps its rhythm; missed turns are not made up for. How late the timers
were is remembered (``take_worst_lag_us``): that is the scheduling lag of the process, its own long turns included.

Why not asyncio: its memory, see docs/decisions/0019. Cost: about 50 us of processor time a turn, the wait included.
"""

from __future__ import annotations

import heapq
import os
import selectors
import signal
import time
from collections.abc import Callable
from types import FrameType

from collectors.observing import Now
from schemas.instants import SECOND_US

Action = Callable[[Now], None]

LONGEST_WAIT_S = 60.0


def read_clocks() -> Now:
    """Both clocks of the host, now."""
    return Now(time.time_ns() // 1000, time.monotonic_ns() // 1000)


class Timer:
    """A call that is due at ``due_us``; ``cancel`` it when it is not wanted any more."""

    __slots__ = ("action", "due_us", "order")

    def __init__(self, due_us: int, order: int, action: Action) -> None:
        self.due_us = due_us
        self.order = order
        self.action: Action | None = action

    def __lt__(self, other: Timer) -> bool:
        return (self.due_us, self.order) < (other.due_us, other.order)

    def cancel(self) -> None:
        """It will not be called."""
        self.action = None


class Loop:
    """The event loop of the agent; ``clocks`` and ``selector`` are given by tests that do not want to wait."""

    def __init__(self, clocks: Callable[[], Now] = read_clocks, selector: selectors.BaseSelector | None = None) -> None:
        self.clocks = clocks
        self._selector = selector or selectors.DefaultSelector()
        self._heap: list[Timer] = []
        self._timers_made = 0
        self._worst_lag_us = 0
        self._stopped = False

    def at(self, due_us: int, action: Action) -> Timer:
        """Calls ``action`` once, when ``due_us`` has come."""
        self._timers_made += 1
        timer = Timer(due_us, self._timers_made, action)
        heapq.heappush(self._heap, timer)
        return timer

    def every(self, period_s: Callable[[], float], action: Action, first_us: int | None = None) -> None:
        """Calls ``action`` again and again; ``period_s`` is asked after each call."""
        due_us = self.clocks().mono_us if first_us is None else first_us

        def turn(now: Now) -> None:
            nonlocal due_us
            action(now)
            period_us = max(1, round(period_s() * SECOND_US))
            due_us += period_us
            behind_us = self.clocks().mono_us - due_us
            if behind_us > 0:
                due_us += -(-behind_us // period_us) * period_us
            self.at(due_us, turn)

        self.at(due_us, turn)

    def watch(self, fd: int, action: Action) -> None:
        """Calls ``action`` whenever ``fd`` has something to read."""
        self._selector.register(fd, selectors.EVENT_READ, action)

    def unwatch(self, fd: int) -> None:
        """``fd`` is not looked at any more."""
        self._selector.unregister(fd)

    def take_worst_lag_us(self) -> int:
        """How late the latest timer was since this was asked last."""
        worst, self._worst_lag_us = self._worst_lag_us, 0
        return worst

    def stop(self) -> None:
        """``run`` returns after the turn that is under way."""
        self._stopped = True

    def run(self) -> None:
        """Turns until ``stop`` is called."""
        while not self._stopped:
            self.turn()

    def turn(self) -> None:
        """Waits until something is due, serves what is readable, then what is due."""
        for key, _ in self._selector.select(self._wait_s()):
            key.data(self.clocks())
        now = self.clocks()
        until_us = now.mono_us
        while self._heap and self._heap[0].due_us <= until_us and not self._stopped:
            self._call(heapq.heappop(self._heap), now)
            if self._heap and self._heap[0].due_us <= until_us:
                now = self.clocks()

    def _call(self, timer: Timer, now: Now) -> None:
        if timer.action is None:
            return
        self._worst_lag_us = max(self._worst_lag_us, now.mono_us - timer.due_us)
        timer.action(now)

    def _wait_s(self) -> float:
        if not self._heap:
            return LONGEST_WAIT_S
        return min(LONGEST_WAIT_S, max(0.0, (self._heap[0].due_us - self.clocks().mono_us) / SECOND_US))

    def close(self) -> None:
        """Gives the selector back."""
        self._selector.close()


class Signals:
    """SIGTERM and SIGINT stop a loop, also while it waits. Restores the former handlers at the end.

    SIGHUP calls ``again`` in the loop's thread, if there is something to do again.
    """

    def __init__(self, loop: Loop, again: Callable[[], None] | None = None) -> None:
        self._loop, self._again, self._is_asked = loop, again, False
        numbers = (signal.SIGTERM, signal.SIGINT, *((signal.SIGHUP,) if again is not None else ()))
        self._before = {number: signal.getsignal(number) for number in numbers}
        self._reading, self._writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self) -> Signals:
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        for number in self._before:
            signal.signal(number, self._ask if number == signal.SIGHUP else self._stop)
        self._loop.watch(self._reading, self._drain)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._loop.unwatch(self._reading)
        os.close(self._reading)
        os.close(self._writing)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._loop.stop()

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self._is_asked = True

    def _drain(self, _now: Now) -> None:
        os.read(self._reading, 512)
        if self._is_asked and self._again is not None:
            self._is_asked = False
            self._again()
