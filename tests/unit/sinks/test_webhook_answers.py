"""Whatever a receiver answers, an alert is delivered, tried again or given up; the sender never ends or hangs on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from skeletonhunter.alerting.forms import Call
from skeletonhunter.alerting.targets import plain_target
from skeletonhunter.settings import AlertSettings
from skeletonhunter.sinks.webhook import DeliveryError, WebhookSender

Answer = Callable[[httpx.Request], httpx.Response]


class Body(httpx.SyncByteStream):
    """Pieces of an answer, and how many were read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces, self.read = pieces, 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.read += len(piece)
            yield piece


def endless() -> Iterator[bytes]:
    for number in range(1000):
        assert number < 999, "the answer is read for ever"
        yield b"x" * 65536


def broken() -> Iterator[bytes]:
    yield b"o"
    raise httpx.ReadError("the connection is gone")


def deliver(monkeypatch: pytest.MonkeyPatch, answer: Answer, delivery: str = "inc-1/1/open") -> None:
    client = httpx.Client(transport=httpx.MockTransport(answer))
    monkeypatch.setattr("skeletonhunter.sinks.webhook._client", lambda _: client)
    with WebhookSender(plain_target("https://hooks.example/x"), AlertSettings(attempts=2), lambda _: None) as sender:
        sender.deliver(Call("https://hooks.example/x", b"{}", delivery))


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_an_answer_that_can_not_be_unpacked_is_an_answer(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    headers = {"Content-Encoding": encoding}
    deliver(monkeypatch, lambda _: httpx.Response(200, headers=headers, stream=Body(iter([b"no such thing"]))))
    with pytest.raises(DeliveryError, match="answered 404"):
        deliver(monkeypatch, lambda _: httpx.Response(404, headers=headers, stream=Body(iter([b"no such thing"]))))


def test_an_answer_without_an_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    body = Body(endless())
    deliver(monkeypatch, lambda _: httpx.Response(200, stream=body))
    assert body.read <= 2 * 65536


def test_what_was_taken_is_not_told_again_because_the_rest_of_the_answer_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(202, stream=Body(broken()))

    deliver(monkeypatch, answer)
    assert len(asked) == 1


def test_an_incident_may_have_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, stream=Body(iter([b"ok"])))

    deliver(monkeypatch, answer, "störung\r\n-1/1/open")
    assert asked[0].headers["Idempotency-Key"] == "st%C3%B6rung%0D%0A-1/1/open"
