"""Metrics stay reachable: whatever a client does, whatever a reading raises, and when the machine lacks descriptors."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from collectors import exposing
from collectors.exposing import PATIENCE_S, _request, _serve, answer
from schemas.metrics import Reading

ASKED = b"GET /metrics HTTP/1.1\r\n\r\n"


class SmallClient:
    """A connection that sends ``pieces``."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces, self.heard, self.patience_s = iter(pieces), b"", 0.0

    def __enter__(self) -> SmallClient:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def settimeout(self, seconds: float) -> None:
        self.patience_s = seconds

    def recv(self, _most: int) -> bytes:
        return next(self.pieces, b"")

    def sendall(self, content: bytes) -> None:
        self.heard += content


class SmallServer:
    """Accepts what it is given, or raises it; then it is closed."""

    def __init__(self, *arrivals: SmallClient | OSError) -> None:
        self.arrivals = iter(arrivals)

    def accept(self) -> tuple[Any, None]:
        found = next(self.arrivals, None)
        if found is None:
            raise OSError(errno.EINVAL, "Invalid argument")
        if isinstance(found, OSError):
            raise found
        return found, None


def values() -> list[Reading]:
    return [Reading("agent_dropped_total", 3)]


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ECONNABORTED, errno.ENOBUFS])
def test_a_lack_of_descriptors_passes(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposing, "AGAIN_S", 0.0)
    client = SmallClient(ASKED)
    _serve(SmallServer(OSError(code, "not now"), client), values)  # type: ignore[arg-type]
    assert b"agent_dropped_total 3" in client.heard


@pytest.mark.parametrize("error", [ValueError("read twice"), KeyError("x"), AttributeError("gone")])
def test_a_reading_that_fails_is_said_and_asked_again(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Iterator[Reading]:
        raise error
        yield

    assert answer(ASKED.partition(b"\r\n")[0], broken).startswith(b"HTTP/1.1 503 ")
    assert [record.exc_info is not None for record in caplog.records] == [True]


def test_who_sends_a_byte_now_and_then_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    monkeypatch.setattr("time.monotonic", lambda: float(next(seconds)))
    client = SmallClient(*[b"x"] * 1000)
    with pytest.raises(TimeoutError):
        _request(client)  # type: ignore[arg-type]
    assert sum(1 for _ in client.pieces) > 1000 - 3 * PATIENCE_S
