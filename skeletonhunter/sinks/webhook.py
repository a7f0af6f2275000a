"""How does an alert reach its receiver? An HTTP POST, tried again with exponential back-off and jitter.

Anything from 200 to 299 is delivered. No answer, 408, 425, 429 and 5xx are tried again (``Retry-After`` in seconds is
honoured up to ``MAX_WAIT_S``); other answers will not get better by trying, a redirect included. What else an answer
says matters to nobody: it is not unpacked, and no more than ``DRAINED_BYTES`` of it are read. What is logged and
raised names scheme, host and port of the target only: paths, queries and user names of webhooks are secrets. Where the
connection may lead is judged by ``skeletonhunter.alerting.addresses``.
"""

from __future__ import annotations

import logging
import string
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from urllib.parse import quote

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from skeletonhunter.alerting.addresses import ForbiddenAddressError, GuardedTransport, check_url, networks
from skeletonhunter.alerting.forms import Call
from skeletonhunter.alerting.signing import HEADER, signature
from skeletonhunter.alerting.targets import Target, TargetError
from skeletonhunter.settings import AlertSettings
from skeletonhunter.sinks.backoff import backoff

FIRST_WAIT_S = 0.5
MAX_WAIT_S = 60.0
RETRIED = frozenset((408, 425, 429))
DRAINED_BYTES, DRAINED_S = 65_536, 5.0
_AS_IT_IS = string.punctuation.replace("%", "")
"""Of a delivery's name what stands in a header as it is, beside letters and digits."""

_log = logging.getLogger(__name__)
for _name in ("httpx", "httpcore"):  # they log whole URLs
    logging.getLogger(_name).setLevel(logging.WARNING)

Wait = Callable[[float], None]
"""Waits that many seconds."""


class DeliveryError(RuntimeError):
    """An alert that did not arrive; the text holds no secret."""


class _LaterError(DeliveryError):
    """It may arrive later; ``after_s`` as the receiver wishes."""

    def __init__(self, text: str, after_s: float = 0.0) -> None:
        super().__init__(text)
        self.after_s = after_s


def check_target(target: Target, settings: AlertSettings) -> None:
    """Refuses at the start what would be refused at three in the morning; a name that nobody knows now may come later.

    Raises:
        TargetError: the target has an address that may not be reached.
    """
    if settings.proxy is not None:
        return
    try:
        check_url(httpx.URL(target.url), networks(settings.allow_networks))
    except ForbiddenAddressError as error:
        raise TargetError(f"target {target.name!r}, {target.place}: {error}") from error
    except OSError as error:
        _log.warning("%s: the name can't be resolved now: %s", target.place, error.strerror)


class WebhookSender:
    """Delivers alerts to one target, one at a time. ``wait`` sleeps between attempts; it may raise to give up.

    ``attempts`` is how many the last delivery took, ``requests`` how many there were in all.
    """

    def __init__(self, target: Target, settings: AlertSettings, wait: Wait) -> None:
        self.target = target
        self.place = target.place
        self.attempts = self.requests = 0
        self._client = _client(settings)
        self._retrying = Retrying(
            stop=stop_after_attempt(settings.attempts),
            wait=_wait_of,
            retry=retry_if_exception_type(_LaterError),
            sleep=wait,
            before_sleep=self._log_attempt,
            reraise=True,
        )

    def __enter__(self) -> WebhookSender:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def deliver(self, call: Call) -> None:
        """Returns when the target has taken it.

        Raises:
            DeliveryError: it has not, after all attempts.
        """
        self.attempts = 0
        self._retrying(self._post, call)

    def _post(self, call: Call) -> None:
        self.attempts += 1
        self.requests += 1
        known_by = quote(call.delivery, safe=_AS_IT_IS)
        headers = {"Content-Type": "application/json", "Idempotency-Key": known_by, "User-Agent": "skeletonhunter"}
        if self.target.key is not None:
            headers[HEADER] = signature(self.target.key, call.content, int(time.time()))
        try:
            with self._client.stream(
                "POST", call.url, content=call.content, headers=headers | call.headers
            ) as response:
                _drain(response)
        except ForbiddenAddressError as error:
            raise DeliveryError(f"{self.place}: {error}") from None
        except httpx.TransportError as error:
            raise _LaterError(f"{self.place}: no answer ({type(error).__name__})") from None
        status = response.status_code
        if status in RETRIED or status >= 500:
            raise _LaterError(f"{self.place}: answered {status}", _seconds(response.headers.get("Retry-After")))
        if not response.is_success:
            raise DeliveryError(f"{self.place}: answered {status}, expected 200 to 299")

    def _log_attempt(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        pause_s = state.next_action.sleep if state.next_action else 0.0
        _log.warning("%s, attempt %d, next in %.1f s", error, state.attempt_number, pause_s)


def _drain(response: httpx.Response) -> None:
    """Reads a short answer to its end, so that the connection can be used again; the rest of another one is left."""
    ends_s, left = time.monotonic() + DRAINED_S, DRAINED_BYTES
    with suppress(httpx.HTTPError):  # the status has come, which is what counts
        for piece in response.iter_raw():
            left -= len(piece)
            if left < 0 or time.monotonic() > ends_s:
                return


def _client(settings: AlertSettings) -> httpx.Client:
    """No redirects, and nothing from the environment."""
    if settings.proxy is not None:
        return httpx.Client(timeout=settings.timeout_s, follow_redirects=False, trust_env=False, proxy=settings.proxy)
    guard = GuardedTransport(networks(settings.allow_networks))
    return httpx.Client(timeout=settings.timeout_s, follow_redirects=False, trust_env=False, transport=guard)


_backoff = backoff(FIRST_WAIT_S, MAX_WAIT_S)


def _wait_of(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked_s = error.after_s if isinstance(error, _LaterError) else 0.0
    return max(_backoff(state), min(asked_s, MAX_WAIT_S))


def _seconds(text: str | None) -> float:
    """Of ``Retry-After``; its other form, a date, is left to the back-off."""
    return float(text) if text and text.isdecimal() else 0.0
