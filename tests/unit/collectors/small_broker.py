"""A producer whose broker is a list: away, back, broken or short of topics as a test wants. In memory, no Kafka."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from collectors.publishing import Fate
from collectors.stamping import Stamped

Report = Callable[[Fate, str], None]


class SmallBroker:
    """A ``ProducerPort``: what was sent is confirmed at the next ``serve``, in order, while the broker is there."""

    def __init__(self) -> None:
        self.log: list[Stamped] = []
        self.is_there = True
        self.forgot_us = False
        self.renewed = 0
        self.room = 10_000
        self.missing: set[str] = set()
        self.largest = 1_000_000
        self._queue: deque[tuple[Stamped, Report]] = deque()

    def send(self, stamped: Stamped, report: Report) -> None:
        if len(self._queue) >= self.room:
            raise BufferError
        self._queue.append((stamped, report))

    def serve(self) -> None:
        while self.is_there and not self.forgot_us and self._queue:
            stamped, report = self._queue.popleft()
            if stamped.topic in self.missing:
                report(Fate.NO_TOPIC, "unknown topic")
            elif len(stamped.value) > self.largest:
                report(Fate.REFUSED, "too large")
            else:
                self.log.append(stamped)
                report(Fate.CONFIRMED, "")

    def renew(self) -> None:
        self.renewed += 1
        self.forgot_us = False
        self.break_down()

    def flush(self, patience_s: float) -> None:
        self.serve()

    def break_down(self, written: int = 0) -> None:
        """The producer breaks for good; ``written`` of what is under way had reached the broker, unknown to it."""
        queue, self._queue = self._queue, deque()
        self.log += [stamped for stamped, _ in list(queue)[:written]]
        for _, report in queue:
            report(Fate.FAILED, "fenced")
