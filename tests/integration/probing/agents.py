"""Real probers on loopback addresses, driven by a loop that waits for their sockets: what tests of probing share."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Sequence

from collectors.observing import Now, Observed
from collectors.probing import Home, Prober, ProbingSettings
from schemas.envelope import Clock, Producer
from schemas.instants import SECOND_US
from schemas.maps import Endpoint, EndpointMap
from schemas.probing import ExpectedRound, ProbeBudget, ProbePlan, ProbeResult

ENVELOPE = {
    "v": 1,
    "t_us": 1,
    "producer": Producer(id="agent:test/maps", kind="test", boot="b", seq=1),
    "clock": Clock(source="none", offset_us=0.0, error_us=0.0),
    "fabric": "f",
    "job": "j",
}


def free_port() -> int:
    """A port that is free on all loopback addresses at the moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("0.0.0.0", 0))
        return int(probe.getsockname()[1])


def name_of(number: int) -> str:
    return f"c{number}/rnic0"


def listed(number: int, state: str = "ready", ip: str | None = None) -> Endpoint:
    return Endpoint(
        endpoint=name_of(number),
        container=f"c{number}",
        host=f"h{number}",
        rnic="rnic0",
        rail=0,
        ip=ip or f"127.0.0.{number + 1}",
        state=state,
    )


def endpoint_map(endpoints: Sequence[Endpoint], version: int = 1, state: str = "running") -> EndpointMap:
    return EndpointMap(**ENVELOPE, version=version, state=state, reason="test", endpoints=tuple(endpoints))


def plan(
    pairs: Sequence[tuple[int, int]], version: int = 1, pps: float | None = 200.0, mode: str = "basic", **more: float
) -> ProbePlan:
    """Each pair in a slot of its own, source ports from 50000 on; ``slot_s``: 50 ms unless given."""
    slots = tuple(((name_of(a), name_of(b), 50000 + i),) for i, (a, b) in enumerate(pairs))
    round_s = more.get("slot_s", 0.05) * len(slots)
    return ProbePlan(
        **ENVELOPE,
        plan=f"plan-{version}",
        version=version,
        skeleton_version=None,
        mode=mode,
        budget=ProbeBudget(round_s=None, pps_per_rnic=pps, targets_per_rnic=None),
        expected=ExpectedRound(round_s=round_s, probes=len(slots), lower_bound_s=round_s),
        slots=slots,
        excluded=(),
    )


class Driver:
    """Turns probers as the agent's loop does, and keeps what they say."""

    def __init__(self, probers: dict[int, Prober]) -> None:
        self.probers = probers
        self.said: list[Observed] = []
        self._due = dict.fromkeys(probers, 0)

    def run(self, until: Callable[[], bool], limit_s: float = 20.0) -> None:
        """Until something holds; fails after ``limit_s``."""
        end = time.monotonic() + limit_s
        while not until():
            assert time.monotonic() < end, f"it did not come about in {limit_s} s: {self.results()[-5:]}"
            self._turn()

    def run_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self.run(lambda: time.monotonic() >= end, seconds + 60.0)

    def _turn(self) -> None:
        fds = {prober.fileno(): prober for prober in self.probers.values()}
        wait_s = max(0.0, (min(self._due[n] for n in self.probers) - now().mono_us) / SECOND_US)
        readable, _, _ = select.select(list(fds), [], [], wait_s)
        for fd in readable:
            self.said += fds[fd].receive(now())
        for number, prober in self.probers.items():
            if now().mono_us >= self._due[number]:
                self.said += prober.collect(now())
                self._due[number] = now().mono_us + round(prober.period_s * SECOND_US)

    def results(self, src: int | None = None, dst: int | None = None) -> list[ProbeResult]:
        """All trains told so far."""
        return [
            result
            for observed in self.said
            for result in observed.fields["results"]
            if (src is None or observed.fields["src"] == name_of(src)) and (dst is None or result.dst == name_of(dst))
        ]

    def close(self) -> None:
        for prober in self.probers.values():
            self.said += prober.close(now())


def now() -> Now:
    return Now(time.time_ns() // 1000, time.monotonic_ns() // 1000)


def probers(numbers: Sequence[int], settings: ProbingSettings, key: bytes | None = None) -> Driver:
    """One agent for each number, on 127.0.0.<number + 1>."""
    return Driver({n: Prober(Home(host=f"h{n}"), settings, key) for n in numbers})
