"""How long to wait for what is away? Twice as long each time up to a bound, plus jitter against crowds."""

from __future__ import annotations

import threading
from collections.abc import Callable

import tenacity
from tenacity.wait import wait_base

from skeletonhunter.sinks.connection import is_away


def backoff(first_s: float, most_s: float) -> wait_base:
    """Waits of ``first_s``, twice that, ... up to ``most_s``, each with a jitter of up to ``first_s``."""
    return tenacity.wait_exponential(multiplier=first_s, max=most_s) + tenacity.wait_random(0.0, first_s)


def while_clickhouse_is_away(
    stop: threading.Event, told: Callable[[tenacity.RetryCallState], None]
) -> tenacity.Retrying:
    """Tries again as long as ClickHouse is away; raises ``tenacity.RetryError`` when ``stop`` is set meanwhile."""
    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, Exception) and is_away(error)),
        wait=backoff(0.2, 15.0),
        sleep=tenacity.sleep_using_event(stop),
        stop=tenacity.stop_when_event_set(stop),
        before_sleep=told,
    )
