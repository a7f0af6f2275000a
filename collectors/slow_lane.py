"""Where does work go that may block: commands, requests over a network, a first word with Kafka? Into one other thread.

One piece of work after another; what it returns is handed to the loop's thread, which alone touches the agent's state.
A thread that hangs delays the others in this lane and nobody else. Work that comes while the lane has ``MOST_WAITING``
pieces is refused. At the end the lane is left behind: a daemon thread never keeps the agent from ending.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from queue import Full, SimpleQueue
from threading import Thread
from typing import TypeVar

from collectors.loop import Loop
from collectors.observing import Now

Result = TypeVar("Result")
Work = Callable[[], Callable[[], None]]
"""Runs in the lane; returns what is to run in the loop."""

MOST_WAITING = 64


class SlowLane:
    """A thread beside ``loop``."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._work: SimpleQueue[Work] = SimpleQueue()
        self._done: deque[Callable[[], None]] = deque()
        self._reading, self._writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._thread: Thread | None = None

    def submit(
        self, work: Callable[[], Result], then: Callable[[Result], None], failed: Callable[[Exception], None]
    ) -> None:
        """Runs ``work`` in the lane, then ``then`` with its result or ``failed`` with its exception in the loop.

        Raises:
            queue.Full: too much is waiting.
        """
        if self._work.qsize() >= MOST_WAITING:
            raise Full

        def run() -> Callable[[], None]:
            try:
                result = work()
            except Exception as error:
                caught = error
                return lambda: failed(caught)
            return lambda: then(result)

        self._start()
        self._work.put(run)

    def _start(self) -> None:
        if self._thread is None:
            self._loop.watch(self._reading, self._deliver)
            self._thread = Thread(target=self._run, name="slow-lane", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            self._done.append(self._work.get()())
            os.write(self._writing, b"x")

    def _deliver(self, _now: Now) -> None:
        os.read(self._reading, 4096)
        while self._done:
            self._done.popleft()()
