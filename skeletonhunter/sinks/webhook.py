"""How does an alert reach its receiver? An HTTP POST, tried again with exponential back-off and jitter.

Anything from 200 to 299 is delivered. No answer, 408, 425, 429 and 5xx are tried again (``Retry-After`` in seconds is
honoured up to ``MAX_WAIT_S``); other answers will not get better by trying, a redirect included. What is logged and
raised names scheme, host and port of the target only: paths, queries and user names of webhooks are secrets.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType
from urllib.parse import urlsplit

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from skeletonhunter.settings import AlertSettings
from skeletonhunter.sinks.alert_body import AlertBody, encode_body
from skeletonhunter.sinks.backoff import backoff

FIRST_WAIT_S = 0.5
MAX_WAIT_S = 60.0
RETRIED = frozenset((408, 425, 429))

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


def place_of(url: str) -> str:
    """Scheme, host and port of a target: what may be logged."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}"


class WebhookSender:
    """Delivers alerts to one target, one at a time. ``wait`` sleeps between attempts; it may raise to give up."""

    def __init__(self, url: str, settings: AlertSettings, wait: Wait) -> None:
        self.url = url
        self.place = place_of(url)
        self._client = httpx.Client(timeout=settings.timeout_s, follow_redirects=False)
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

    def deliver(self, body: AlertBody) -> None:
        """Returns when the target has taken it.

        Raises:
            DeliveryError: it has not, after all attempts.
        """
        content = encode_body(body)
        self._retrying(self._post, content, body.delivery)

    def _post(self, content: bytes, delivery: str) -> None:
        headers = {"Content-Type": "application/json", "Idempotency-Key": delivery, "User-Agent": "skeletonhunter"}
        try:
            response = self._client.post(self.url, content=content, headers=headers)
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


_backoff = backoff(FIRST_WAIT_S, MAX_WAIT_S)


def _wait_of(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked_s = error.after_s if isinstance(error, _LaterError) else 0.0
    return max(_backoff(state), min(asked_s, MAX_WAIT_S))


def _seconds(text: str | None) -> float:
    """Of ``Retry-After``; its other form, a date, is left to the back-off."""
    return float(text) if text and text.isdecimal() else 0.0
