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
    """One part under watch: ``ask`` it; ``failures`` counts all, ``is_down`` tells whether the last asking failed."""

    def __init__(self, name: str, deliver: Callable[[Observed], None]) -> None:
        self.name = name
        self.failures = 0
        self._in_a_row = 0
        self._again_us = 0
        self._said: set[str] = set()
        self._deliver = deliver

    @property
    def is_down(self) -> bool:
        """Whether it failed when it was asked last."""
        return self._in_a_row > 0

    def again_us(self) -> int:
        """On the monotonic clock: before this instant it is not asked."""
        return self._again_us

    def ask(self, question: Callable[[Now], Iterable[Observed]], now: Now) -> bool:
        """Asks and delivers the facts; False = it failed, or is still left alone."""
        if now.mono_us < self._again_us:
            return False
        try:
            for observed in question(now):
                self._deliver(observed)
        except Exception as error:  # a part takes down only itself, whatever it does
            self._failed(error, now)
            return False
        self._worked()
        return True

    def _failed(self, error: Exception, now: Now) -> None:
        self.failures += 1
        wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(self._in_a_row, 10))
        self._in_a_row += 1
        self._again_us = now.mono_us + round(wait_s * SECOND_US)
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
