"""One alert to one receiver over real HTTP: when it is delivered, when it is tried again, and what is never told."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import jsonschema
import pytest

from schemas.diagnosis import Incident
from skeletonhunter.settings import AlertSettings
from skeletonhunter.sinks.alert_body import AlertBody, alert_body
from skeletonhunter.sinks.webhook import FIRST_WAIT_S, MAX_WAIT_S, DeliveryError, WebhookSender
from tests.integration.webhook.listener import receiving
from tests.unit.sinks.messages import received_examples

pytestmark = pytest.mark.webhook

SCHEMA = json.loads((Path(__file__).parents[3] / "docs/reference/alert.schema.json").read_text())


def body() -> AlertBody:
    value = received_examples("incidents")[0].value
    assert isinstance(value, Incident)
    return alert_body(value)


def send(url: str, attempts: int = 8, timeout_s: float = 5.0) -> list[float]:
    """The waits between the attempts, seconds; none of them is really waited."""
    waits: list[float] = []
    with WebhookSender(url, AlertSettings(attempts=attempts, timeout_s=timeout_s), waits.append) as sender:
        sender.deliver(body())
    return waits


def test_the_receiver_gets_the_published_body_once() -> None:
    with receiving() as receiver:
        assert send(receiver.url) == []
    [call] = receiver.calls
    jsonschema.Draft202012Validator(SCHEMA).validate(call.body)
    assert call.path == "/hooks/secret-token?key=hidden"
    assert call.headers["Content-Type"] == "application/json"
    assert call.headers["Idempotency-Key"] == call.body["delivery"] == body().delivery


@pytest.mark.parametrize("status", [0, 408, 425, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again_with_growing_waits(status: int) -> None:
    with receiving(status, status, status) as receiver:
        waits = send(receiver.url)
    assert len(receiver.calls) == 4
    assert len(set(receiver.deliveries)) == 1
    for number, wait_s in enumerate(waits):
        assert FIRST_WAIT_S * 2**number <= wait_s <= FIRST_WAIT_S * (2**number + 1)


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 410, 422])
def test_what_will_not_get_better_is_not_tried_again(status: int) -> None:
    with receiving(status, headers={"Location": "http://127.0.0.1:1/"}) as receiver:
        with pytest.raises(DeliveryError, match=f"answered {status}, expected 200 to 299"):
            send(receiver.url)
        assert len(receiver.calls) == 1


def test_attempts_are_bounded() -> None:
    with receiving(*[503] * 10) as receiver:
        with pytest.raises(DeliveryError, match="answered 503"):
            send(receiver.url, attempts=3)
        assert len(receiver.calls) == 3


@pytest.mark.parametrize(
    ("asked", "least_s"), [("7", 7.0), ("86400", MAX_WAIT_S), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.5)]
)
def test_the_wish_of_the_receiver_is_honoured_within_bounds(asked: str, least_s: float) -> None:
    with receiving(429, headers={"Retry-After": asked}) as receiver:
        [wait_s] = send(receiver.url)
    assert least_s <= wait_s <= max(least_s, 1.0)


def test_nobody_there_is_no_answer_and_no_secret_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    url = "http://user:hidden@127.0.0.1:1/hooks/secret-token?key=hidden"
    with pytest.raises(DeliveryError) as caught:
        send(url, attempts=2)
    assert str(caught.value) == "http://127.0.0.1:1: no answer (ConnectError)"
    assert "attempt 1, next in" in caplog.text
    assert "hidden" not in caplog.text
    assert "secret-token" not in caplog.text


def test_a_receiver_that_does_not_answer_in_time_is_tried_again(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
        with pytest.raises(DeliveryError, match=r"no answer \(ReadTimeout\)"):
            send(url, attempts=2, timeout_s=0.1)
