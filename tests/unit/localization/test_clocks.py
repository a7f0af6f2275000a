"""Whose clock lies: streams that stray or jump together, and what must not be taken for it."""

from __future__ import annotations

import pytest

from localization.clocks import ClockWatch
from localization.evidence import new_evidence
from localization.parameters import LocalizationParameters
from localization.troubles import find_troubles
from schemas.envelope import Clock
from schemas.folding import Stray
from schemas.instants import SECOND_US
from schemas.telemetry import AgentHealth
from tests.small_fabric import BEGIN_US, envelope


def beat(watch: ClockWatch, host: str, agent: str, seq: int, second: float) -> None:
    body = envelope(f"agent:{agent}/health", second, seq) | {"v": 2}
    watch.hear("agent-health", AgentHealth(**body, agent=agent, host=host, covers=(), state="ok"))


def after(seconds: float) -> int:
    return BEGIN_US + round(seconds * SECOND_US)


def hosts(watch: ClockWatch, second: float) -> list[str]:
    return [bad.host for bad in watch.find(after(second))]


def beats(jumps: dict[str, float], missing: int | None = None) -> ClockWatch:
    """Two agents a host, a beat every 5 s; from the eighth on an agent's stamps are off. ``missing``: a lost number."""
    watch = ClockWatch()
    for seq in range(1, 13):
        for host in ("h0", "h1"):
            for agent in (f"{host}-a", f"{host}-b"):
                if seq != missing:
                    beat(watch, host, agent, seq, 5.0 * seq + (jumps.get(agent, 0.0) if seq >= 8 else 0.0))
    return watch


@pytest.mark.parametrize("jump", [0.6, 3.0, 12.0, -0.6, -3.0])
def test_streams_of_a_host_that_jump_together_betray_its_clock(jump: float) -> None:
    watch = beats({"h1-a": jump, "h1-b": jump})
    (bad,) = watch.find(after(62.0))
    assert bad.host == "h1"
    assert bad.off_us == pytest.approx(jump * SECOND_US, abs=1000)


@pytest.mark.parametrize(("back", "lies"), [(None, ["h1"]), (18, [])])
def test_a_clock_lies_until_it_has_jumped_back(back: int | None, lies: list[str]) -> None:
    watch = ClockWatch()
    for seq in range(1, 25):
        off = -3.0 if seq >= 8 and (back is None or seq < back) else 0.0
        for agent in ("h1-a", "h1-b"):
            beat(watch, "h1", agent, seq, 5.0 * seq + off)
        watch.trim(after(5.0 * seq))
        if 9 <= seq < 18:
            (bad,) = watch.find(after(5.0 * seq))
            assert bad.since_us == after(40.0), "its first stamp was three seconds too early"
    assert hosts(watch, 121.0) == lies


def test_one_agent_that_halts_is_no_clock() -> None:
    assert hosts(beats({"h1-a": 3.0}), 62.0) == []


def test_a_message_that_is_missing_is_no_clock() -> None:
    assert hosts(beats({}, missing=8), 62.0) == []


def test_agents_that_are_delayed_by_different_times_are_no_clock() -> None:
    assert hosts(beats({"h1-a": 3.0, "h1-b": 6.0}), 62.0) == []


def test_a_dump_of_several_messages_is_one_beat() -> None:
    watch = ClockWatch()
    for dump in range(12):
        for part in range(9):
            for agent in ("h1-a", "h1-b"):
                beat(watch, "h1", agent, 9 * dump + part, 10.0 * dump + 0.002 * part)
    assert hosts(watch, 112.0) == []


@pytest.mark.parametrize("lead_s", [-9.0, 9.0])
def test_all_streams_of_a_host_out_of_their_time_betray_its_clock(lead_s: float) -> None:
    watch = beats({})
    for second in (61.0, 63.0):
        strays = [Stray("agent-health", f"agent:{agent}/health", round(lead_s * 1e6)) for agent in ("h1-a", "h1-b")]
        watch.stray(strays, after(second))
    assert hosts(watch, 64.0) == ([] if lead_s > 0.0 else ["h1"])
    assert hosts(watch, 67.0) == ["h1"]


def test_since_when_a_clock_is_ahead_is_told_by_its_jump_not_by_the_second_that_is_just_handed_out() -> None:
    watch = beats({"h1-a": 2.2, "h1-b": 2.2})
    early = [Stray("agent-health", f"agent:{agent}/health", 2_200_000) for agent in ("h1-a", "h1-b")]
    for second in (36.0, 41.0):
        watch.stray(early, after(second))
    (bad,) = watch.find(after(62.0))
    assert (bad.host, bad.since_us) == ("h1", after(40.0))


def test_one_late_stream_is_a_collectors_gap_not_a_clock() -> None:
    watch = beats({})
    for second in (61.0, 62.0, 63.0):
        watch.stray([Stray("agent-health", "agent:h1-a/health", -9_000_000)], after(second))
    assert hosts(watch, 64.0) == []


@pytest.mark.parametrize(("off", "told"), [(-1.8, 42.0), (0.0, 48.0)])
def test_a_clock_that_admits_its_error_is_told_once_its_jump_is_known_or_does_not_come(off: float, told: float) -> None:
    """Until then its own stamps can't say since when: those of a clock that is behind are from before the trouble."""
    store, found = new_evidence("f", LocalizationParameters()), dict[float, int]()
    for second in range(1, 61):
        seq = (second - 1) // 5
        if second % 5 == 2:
            clock = (
                Clock(source="none", offset_us=-2.0, error_us=1e6)
                if seq >= 8
                else Clock(source="ptp", offset_us=0.0, error_us=1.0)
            )
            for agent in ("h1-a", "h1-b"):
                body = envelope(f"agent:{agent}/health", second + (off if seq >= 8 else 0.0), seq) | {
                    "v": 2,
                    "clock": clock,
                }
                store.take("agent-health", AgentHealth(**body, agent=agent, host="h1", covers=(), state="ok"))
        for trouble in find_troubles(store, after(second)):
            found.setdefault(float(second), trouble.since_us)
    first = min(found)
    assert first == told
    assert found[first] == pytest.approx(after(42.0), abs=SECOND_US // 100)
