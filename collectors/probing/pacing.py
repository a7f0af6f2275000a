"""How much may be sent now? A token bucket: ``rate`` per second on the long run, ``burst`` at once.

Instants are microseconds of a clock that does not step back; should one, no tokens are made. Cost: 0.3 us a question.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from schemas.instants import SECOND_US


class TokenBucket:
    """Starts full."""

    __slots__ = ("_burst", "_last_us", "_rate", "_tokens")

    def __init__(self, rate: float, burst: float) -> None:
        if rate <= 0.0 or burst < 1.0:
            raise ValueError(f"a rate must be above 0 and a burst at least 1, not {rate} and {burst}")
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._last_us: int | None = None

    def limit(self, rate: float, burst: float) -> None:
        """From now on another rate and burst."""
        self._rate, self._burst = rate, burst
        self._tokens = min(self._tokens, burst)

    def take(self, now_us: int) -> bool:
        """Whether one more may go; if so, it is counted."""
        if self._last_us is not None and now_us > self._last_us:
            self._tokens = min(self._burst, self._tokens + (now_us - self._last_us) * self._rate / SECOND_US)
        self._last_us = now_us
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def put_back(self) -> None:
        """What was taken last did not go after all."""
        self._tokens = min(self._burst, self._tokens + 1.0)


class Fairness:
    """One bucket over all and one for each asker, so that a single one can't use up what is there for everybody.

    Memory is bounded: of more than ``most`` askers the one that asked longest ago is forgotten.
    """

    def __init__(self, rate: float, rate_each: float, most: int = 4096) -> None:
        self._all = TokenBucket(rate, max(1.0, rate))
        self._rate_each = rate_each
        self._most = most
        self._each: OrderedDict[Hashable, TokenBucket] = OrderedDict()

    def limit(self, rate: float, rate_each: float) -> None:
        """From now on other rates; each asker begins anew."""
        self._all.limit(rate, max(1.0, rate))
        self._rate_each = rate_each
        self._each.clear()

    def take(self, asker: Hashable, now_us: int) -> bool:
        """Whether this asker may be served now; if so, it is counted."""
        bucket = self._each.get(asker)
        if bucket is None:
            bucket = self._each[asker] = TokenBucket(self._rate_each, max(1.0, self._rate_each))
            if len(self._each) > self._most:
                self._each.popitem(last=False)
        self._each.move_to_end(asker)
        if not bucket.take(now_us):
            return False
        if self._all.take(now_us):
            return True
        bucket.put_back()
        return False
