"""A part of the agent: subscribes to a switch by gNMI, and tells what its queues hold.

pygnmi (extra ``gnmi``) is loaded only when a switch is configured. gRPC reads in a thread of its own; updates wait in a
bounded queue until the agent asks, and what is pushed out of it is counted and told. A stream that ends is begun anew
at the next question, with growing pauses. A switch that refuses (credentials, unknown paths) is a failure of the part,
one that cannot be reached is told as ``switch_unreachable`` after ``FAILURES`` tries.

Each update carries the switch's own instant; both clocks are kept. If they are more than ``MOST_SKEW_US`` apart,
joining by the switch's clock would mislead: ``t_us`` is then ours too, and the skew is told, once until it is gone.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from collectors.events.devices import Devices
from collectors.events.notices import Notice, Subject
from collectors.events.telling import Teller
from collectors.observing import Now, Observed
from collectors.switches.columns import QueueRows, Told
from collectors.switches.facts import SkewWatch, facts_of
from collectors.switches.openconfig import SUBSCRIPTIONS, readings_of, storms_of
from collectors.switches.sonic import FAILURES, unreachable
from collectors.switches.storms import StormWatch

MOST_WAITING = 10_000
LONGEST_PAUSE_S = 60.0
SETTLE_S = 0.5
"""gRPC's own thread, which watched the connection come up, must have noticed that nobody waits for it any more."""


class GnmiTarget(Struct, frozen=True, kw_only=True):
    """How a switch is reached. ``target``: of the prefix, such as ``COUNTERS_DB``; empty ``paths``: OpenConfig's."""

    switch: str
    host: str
    port: int = 9339
    username: str = ""
    password: str = ""
    insecure: bool = False
    root_certificate: str | None = None
    certificate: str | None = None
    key: str | None = None
    skip_verify: bool = False
    paths: tuple[str, ...] = ()
    sample_s: float = 1.0
    timeout_s: int = 5
    target: str = ""
    encoding: str = ""


class Arrived(Struct, frozen=True):
    """One update of a stream, and when it came."""

    message: dict[str, Any]
    received_us: int


class GnmiStream:
    """The thread that reads one switch's stream."""

    def __init__(self, target: GnmiTarget) -> None:
        self._target = target
        self.arrived: deque[Arrived] = deque(maxlen=MOST_WAITING)
        self.error: Exception | None = None
        self.pushed_out = 0
        self._call: Any = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"gnmi {target.switch}", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """Ends the stream, and waits for that."""
        self._closing.set()
        if self._call is not None:
            self._call.cancel()
        self._thread.join(self._target.timeout_s + 2 * SETTLE_S)

    def _run(self) -> None:
        try:
            self._read()
        except Exception as error:  # whatever gRPC raises is told by the part that owns the stream
            self.error = error

    def _read(self) -> None:
        from pygnmi.client import gNMIclient, telemetryParser

        each = self._target

        class Client(gNMIclient):  # type: ignore[misc]
            """pygnmi's stream of raw answers has no way to name the prefix's target."""

            def _build_subscriptionrequest(self, subscribe: Any, target: Any = None, extension: Any = None) -> Any:
                return super()._build_subscriptionrequest(subscribe, target or each.target or None, extension)

        options = [("grpc.keepalive_time_ms", 10_000), ("grpc.enable_http_proxy", 0)]
        client = Client(
            target=(each.host, each.port),
            username=each.username,
            password=each.password,
            insecure=each.insecure,
            path_root=each.root_certificate,
            path_cert=each.certificate,
            path_key=each.key,
            skip_verify=each.skip_verify,
            gnmi_timeout=each.timeout_s,
            grpc_options=options,
            no_qos_marking=True,
        )
        client.connect()
        settled = time.monotonic() + SETTLE_S
        try:
            self._call = client.subscribe(subscribe=self._request())
            for response in () if self._closing.is_set() else self._call:
                message = telemetryParser(response)
                if message and "update" in message:
                    self.pushed_out += len(self.arrived) == MOST_WAITING
                    self.arrived.append(Arrived(message["update"], time.time_ns() // 1_000))
        finally:
            time.sleep(max(0.0, settled - time.monotonic()))
            client.close()

    def _request(self) -> dict[str, Any]:
        each = self._target
        interval = round(each.sample_s * 1e9)
        entries = [
            {"path": path, "mode": "sample", "sample_interval": interval} for path in each.paths or SUBSCRIPTIONS
        ]
        request: dict[str, Any] = {"subscription": entries, "mode": "stream"}
        if each.encoding:
            request["encoding"] = each.encoding
        return request


class GnmiSwitch:
    """Listens to one switch."""

    def __init__(self, target: GnmiTarget, devices: Callable[[], Devices], period_s: float = 1.0) -> None:
        self.name, self.period_s = f"switch {target.switch}", period_s
        self._target = target
        self._rows, self._storms, self._skew = QueueRows(), StormWatch(target.switch), SkewWatch(target.switch)
        self._teller = Teller(f"switch/{target.switch}", devices)
        self._stream: GnmiStream | None = None
        self._software: str | None = None
        self._failures = self._pushed_out = 0
        self._again_us = 0

    def collect(self, now: Now) -> Iterator[Observed]:
        """Takes what has come since.

        Raises:
            OSError: the stream has ended; it is begun anew later.
        """
        stream = self._begun(now)
        if stream is None:
            return
        told, notices = self._drain(stream)
        columns = self._rows.take(told)
        if columns:
            self._failures = 0
            yield from facts_of(self._target.switch, columns, self._software, now)
        yield from self._teller.tell([(notice, None) for notice in notices], now)
        if stream.is_over and not stream.arrived and not columns:  # what came before the end is told first
            yield from self._ended(stream, now)

    def close(self, now: Now) -> tuple[Observed, ...]:  # noqa: ARG002 - as the agent calls it
        """Ends the stream."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        return ()

    def _begun(self, now: Now) -> GnmiStream | None:
        if self._stream is None and now.mono_us >= self._again_us:
            self._stream = GnmiStream(self._target)
        return self._stream

    def _ended(self, stream: GnmiStream, now: Now) -> Iterator[Observed]:
        """A stream is over: why, and when to try again."""
        self._stream = None
        self._failures += 1
        pause_s = min(LONGEST_PAUSE_S, 2.0 ** min(self._failures, 10))
        self._again_us = now.mono_us + round(pause_s * 1e6)
        why = _words(stream.error)
        if self._failures == FAILURES and _is_unreachable(stream.error):
            yield from self._teller.tell([(unreachable(self._target.switch, why), None)], now)
            return
        raise OSError(f"gNMI stream of {self._target.switch} ended: {why}")

    def _drain(self, stream: GnmiStream) -> tuple[list[Told], list[Notice]]:
        told: list[Told] = []
        notices: list[Notice] = []
        for _ in range(len(stream.arrived)):
            arrived = stream.arrived.popleft()
            device_us = (arrived.message.get("timestamp") or 0) // 1_000
            t_us, skewed = self._skew.step(device_us or None, arrived.received_us)
            notices += skewed
            told += self._readings(arrived, t_us, notices)
        if stream.pushed_out > self._pushed_out:
            lost = stream.pushed_out - self._pushed_out
            text = f"{lost} updates of {self._target.switch} came faster than they were read"
            subject = Subject("switch", self._target.switch)
            notices.append(Notice(code="unknown", severity="info", subject=subject, text=text))
        self._pushed_out = stream.pushed_out
        return told, notices

    def _readings(self, arrived: Arrived, t_us: int, notices: list[Notice]) -> Iterator[Told]:
        prefix = arrived.message.get("prefix") or ""
        for update in arrived.message.get("update", ()):
            path, value = update.get("path") or "", update.get("val")
            found = readings_of(path, value, prefix)
            self._software = found.software or self._software
            for reading in found.readings:
                yield Told(self._storms.believed(reading), t_us, arrived.received_us)
            notices += self._storms.step(storms_of(path, value, prefix))


def _is_unreachable(error: Exception | None) -> bool:
    """Whether nobody answered (and not: somebody refused)."""
    code = getattr(error, "code", None)
    name = getattr(code() if callable(code) else None, "name", type(error).__name__)
    return name in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "FutureTimeoutError")


def _words(error: Exception | None) -> str:
    if error is None:
        return "the switch ended it"
    details = getattr(error, "details", None)
    words = details() if callable(details) else str(error)
    return f"{type(error).__name__}: {words}"[:500]
