"""What happens when a part fails? It alone is left alone for a while; the others do not notice.

After the first failure it is asked again after ``FIRST_WAIT_S``, then after twice that, and so on up to
``LONGEST_WAIT_S``; one success and it is as before. Each kind of failure (the exception's type and number) is logged
once until the part works again, with its trace if it is not an ``OSError`` or ``ValueError``: that is a bug of the
part, which costs this part and is no reason to be blind on a host.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from collectors.observing import Now, Observed
from schemas.instants import SECOND_US

log = logging.getLogger(__name__)

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0


class Supervised:
    """One part under watch. ``failures`` counts all; before ``again_us`` (monotonic) it is not asked.

    ``is_busy``: it was asked in another thread and has not answered yet.
    """

    def __init__(self, name: str, deliver: Callable[[Observed], None]) -> None:
        self.name = name
        self.failures = 0
        self.is_busy = False
        self._in_a_row = 0
        self.again_us = 0
        self._said: set[str] = set()
        self._deliver = deliver

    @property
    def is_down(self) -> bool:
        """Whether it failed when it was asked last."""
        return self._in_a_row > 0

    def may_ask(self, now: Now) -> bool:
        """False: it is left alone for a while longer."""
        return now.mono_us >= self.again_us

    def ask(self, question: Callable[[Now], Iterable[Observed]], now: Now) -> None:
        """Asks and delivers the facts."""
        if not self.may_ask(now):
            return
        try:
            self.answered(question(now))
        except Exception as error:  # a part takes down only itself, whatever it does
            self.failed(error, now)

    def answered(self, facts: Iterable[Observed]) -> None:
        """Delivers what it said; the part works."""
        for observed in facts:
            self._deliver(observed)
        self._worked()

    def failed(self, error: Exception, now: Now) -> None:
        """It failed."""
        self.failures += 1
        wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(self._in_a_row, 10))
        self._in_a_row += 1
        self.again_us = now.mono_us + round(wait_s * SECOND_US)
        kind = f"{type(error).__name__} {getattr(error, 'errno', None) or ''}"
        if kind in self._said:
            return
        self._said.add(kind)
        expected = isinstance(error, OSError | ValueError)
        log.warning("%s: failed: %s", self.name, error or kind, exc_info=None if expected else error)

    def _worked(self) -> None:
        if self._in_a_row:
            log.info("%s: works again after %d failures", self.name, self._in_a_row)
            self._in_a_row = 0
            self._said.clear()
