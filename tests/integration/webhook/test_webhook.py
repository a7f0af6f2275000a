"""One alert to one receiver over real HTTP: when it is delivered, when it is tried again, and what is never told."""

from __future__ import annotations

import json
import logging
import shutil
import ssl
import subprocess
from pathlib import Path

import jsonschema
import pytest

from schemas.diagnosis import Incident
from skeletonhunter.alerting.forms import call_of
from skeletonhunter.alerting.signing import HEADER, is_genuine
from skeletonhunter.alerting.targets import Target, TargetError, plain_target
from skeletonhunter.settings import AlertSettings
from skeletonhunter.sinks.alert_body import AlertBody, alert_body
from skeletonhunter.sinks.webhook import FIRST_WAIT_S, MAX_WAIT_S, DeliveryError, WebhookSender, check_target
from tests.integration.webhook.listener import receiving
from tests.unit.sinks.messages import received_examples

pytestmark = pytest.mark.webhook

SCHEMA = json.loads((Path(__file__).parents[3] / "docs/reference/alert.schema.json").read_text())


def body() -> AlertBody:
    value = received_examples("incidents")[0].value
    assert isinstance(value, Incident)
    return alert_body(value)


LOOPBACK = ("127.0.0.0/8",)


def send(
    target: str | Target, attempts: int = 8, timeout_s: float = 5.0, allowed: tuple[str, ...] = LOOPBACK
) -> list[float]:
    """The waits between the attempts, seconds; none of them is really waited."""
    waits: list[float] = []
    target = plain_target(target) if isinstance(target, str) else target
    settings = AlertSettings(attempts=attempts, timeout_s=timeout_s, allow_networks=allowed)
    with WebhookSender(target, settings, waits.append) as sender:
        sender.deliver(call_of(target, body(), {}, 0))
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


def test_a_signature_goes_over_the_exact_bytes_and_is_made_anew_for_each_attempt() -> None:
    with receiving(503) as receiver:
        send(Target(plain_target(receiver.url).settings, receiver.url, key="shared"))
    assert len(receiver.calls) == 2
    for call in receiver.calls:
        now_s = int(call.headers[HEADER][2:].partition(",")[0])
        assert is_genuine(call.headers[HEADER], "shared", call.raw, now_s)
        assert not is_genuine(call.headers[HEADER], "shared", call.raw + b" ", now_s)
        assert not is_genuine(call.headers[HEADER], "other", call.raw, now_s)
        assert not is_genuine(call.headers[HEADER], "shared", call.raw, now_s + 301)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0x7f000001", "[::ffff:127.0.0.1]"])
def test_an_internal_address_is_refused_before_anything_is_sent(host: str) -> None:
    with receiving() as receiver:
        url = f"http://{host}:{receiver.port}/secret-token"
        with pytest.raises(
            DeliveryError, match=r"is loopback, expected a public one or one of alerts\.allow_networks$"
        ):
            send(url, allowed=())
        with pytest.raises(TargetError, match=r"its address \S+ is loopback") as caught:
            check_target(plain_target(url), AlertSettings())
    assert receiver.calls == []
    assert "secret-token" not in str(caught.value)


def test_the_metadata_service_stays_out_of_reach_while_loopback_is_allowed() -> None:
    with pytest.raises(DeliveryError, match=r"169\.254\.169\.254 is link-local"):
        send("http://169.254.169.254/latest/meta-data/")


def test_a_name_is_still_the_host_of_the_request() -> None:
    with receiving() as receiver:
        send(f"http://localhost:{receiver.port}/x", allowed=("127.0.0.0/8", "::1/128"))
    assert receiver.calls[0].headers["Host"] == f"localhost:{receiver.port}"


def test_the_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with receiving() as receiver:
        send(receiver.url)
    assert len(receiver.calls) == 1


def test_the_proxy_of_the_settings_is_used() -> None:
    with receiving() as proxy:
        settings = AlertSettings(proxy=f"http://127.0.0.1:{proxy.port}")
        target = plain_target("http://hooks.example/x")
        with WebhookSender(target, settings, lambda _: None) as sender:
            sender.deliver(call_of(target, body(), {}, 0))
    assert proxy.calls[0].path == "http://hooks.example/x"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_tls_is_checked_against_the_name_although_the_address_was_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate)]
    made += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(made, check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    everywhere = ("127.0.0.0/8", "::1/128")
    with receiving() as receiver:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        receiver.server.socket = context.wrap_socket(receiver.server.socket, server_side=True)
        send(f"https://localhost:{receiver.port}/x", allowed=everywhere)
        assert len(receiver.calls) == 1
        with pytest.raises(DeliveryError, match="no answer"):
            send(f"https://127.0.0.1:{receiver.port}/x", attempts=1, allowed=everywhere)  # not the certificate's name
    assert len(receiver.calls) == 1
