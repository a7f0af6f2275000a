"""What no agent may write, streams conclude: an agent that stops, and one whose clock is bad, seen through the engines.

Trains come from the agents' own bookkeeping: those who probe the stopped agent see nothing but loss, and tell it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from collectors.observing import Now
from collectors.probing.timing import Times
from collectors.probing.trains import Ledger, Train
from schemas.diagnosis import Incident
from schemas.envelope import Clock, Message
from schemas.instants import SECOND_US
from schemas.probing import ProbeResult, ProbeResults
from tests import small_fabric as net

SECONDS, STOPS_AT = 70, 30
STOPPED = 3
"""The host whose agent stops."""


def train_of(second: int, src: str, dst: str, answered: bool) -> ProbeResult:
    """One train of ten probes as the ledger tells it."""
    ledger = Ledger(timeout_s=0.2, give_up_s=0.5)
    begin_us = net.BEGIN_US + second * SECOND_US
    train = Train(src=src, dst=dst, kind="udp", planned=10, plan_version=1, sport=50_000)
    for seq in range(10):
        now = Now(begin_us + seq * 1000, seq * 1000)
        ledger.note_sent(train, seq, now)
        if answered:
            ledger.note_answer(seq, Times(13.0 + seq % 3, 20.0, 1.0, 2.0, "kernel"), now)
    ledger.expire(Now(begin_us + 600_000, 600_000))
    ((_, result),) = ledger.take_decided()
    return result


def probe_messages(stops: Callable[[str, int], bool]) -> list[ProbeResults]:
    """Every pair once a second; a source that has stopped says nothing."""
    messages = []
    for second in range(1, SECONDS + 1):
        by_source: dict[str, list[ProbeResult]] = {}
        for near, far in net.pairs():
            src, dst = net.endpoint(*near), net.endpoint(*far)
            if not stops(src, second):
                path = net.links_of(near, far)
                result = train_of(second, src, dst, not stops(dst, second))
                by_source.setdefault(src, []).append(msgspec.structs.replace(result, path=path))
        for src, results in by_source.items():
            body = net.envelope(f"agent:{src.partition('/')[0]}/probe-results/{src}", second + 0.7, second)
            messages.append(ProbeResults(**body, job="j", src=src, plan_version=1, results=tuple(results)))
    return messages


def diagnose(messages: list[Message]) -> list[Incident]:
    maps: list[Message] = [net.fabric_map(), net.endpoint_map()]
    return net.last_words(net.run([*maps, *net.by_time(messages)]))


def never(_endpoint: str, _second: int) -> bool:
    return False


def test_a_healthy_fabric_raises_nothing() -> None:
    assert diagnose([*probe_messages(never), *net.health(SECONDS)]) == []


def test_agent_silent_is_concluded_when_an_agent_stops() -> None:
    def stops(endpoint: str, second: int) -> bool:
        return endpoint.startswith(f"c{STOPPED}/") and second > STOPS_AT

    messages = [*probe_messages(stops), *net.health(SECONDS, dead={STOPPED: STOPS_AT})]
    told = diagnose(messages)
    assert {(incident.kind, incident.component) for incident in told} == {("agent_missing", f"agent:c{STOPPED}")}
    outcomes = {result.outcome for m in messages if isinstance(m, ProbeResults) for result in m.results}
    assert outcomes == {"reply", "lost"}


@pytest.mark.parametrize("clock", [Clock(source="none", offset_us=0.0, error_us=2e6), None])
def test_clock_untrusted_is_concluded_when_an_agent_s_clock_is_bad(clock: Clock | None) -> None:
    def with_clock(message: Message) -> Message:
        if clock is None or not message.producer.id.startswith(f"agent:c{STOPPED}/"):
            return message
        return msgspec.structs.replace(message, clock=clock)

    told = diagnose([with_clock(m) for m in [*probe_messages(never), *net.health(SECONDS)]])
    assert {incident.kind for incident in told} == ({"clock_bad"} if clock else set())
