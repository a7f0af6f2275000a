"""After a gap in the ticks time waits for agents that send what they kept, and no longer than it must."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from schemas.instants import SECOND_US
from streams.settling import CALM_S, MOST_S, SETTLE_S, Beat, BeatClock, Settling

AGENTS = ("a", "b", "c", "d")
SINCE_S = 1000.0
GAP_S = 60.0


def beat(agent: str, second: float, state: str = "ok", ahead_s: float = 0.0) -> Beat:
    """A heartbeat of that second, by a clock that is ``ahead_s`` and knows it."""
    ahead_us = ahead_s * SECOND_US
    return Beat("f", agent, state, round(second * SECOND_US + ahead_us), BeatClock(ahead_us))


def settling(gap_s: float = GAP_S, agents: Iterable[str] = AGENTS) -> Settling:
    """Kafka answers again at ``SINCE_S``; of agents only what they said before the gap is there."""
    found = Settling(gap_s, round(SINCE_S * SECOND_US), SINCE_S)
    found.hear(beat(agent, SINCE_S - gap_s - 1.0) for agent in agents)
    assert not found.may_go_on(SINCE_S, has_all=True)
    return found


def goes_on_at(found: Settling, from_s: float, to_s: float = 2000.0) -> float:
    """The second after ``SINCE_S`` at which time goes on when nothing more comes."""
    for second in range(round(from_s), round(to_s)):
        if found.may_go_on(SINCE_S + second, has_all=True):
            return second
    raise AssertionError("time stands still")


def test_time_goes_on_soon_after_all_have_caught_up() -> None:
    found = settling()
    found.hear(beat(agent, SINCE_S + 1.0) for agent in AGENTS)
    assert goes_on_at(found, 2.0) == 2.0 + CALM_S


def test_time_waits_for_an_agent_that_still_sends_what_it_kept() -> None:
    found = settling()
    found.hear(beat(agent, SINCE_S + 1.0) for agent in AGENTS[1:])
    for second in range(40):
        found.hear([beat("a", SINCE_S - GAP_S + second)])
        assert not found.may_go_on(SINCE_S + second, has_all=True)
    found.hear([beat("a", SINCE_S + 40.0)])
    assert goes_on_at(found, 40.0) == 40.0 + CALM_S


def test_a_dead_agent_does_not_stop_time() -> None:
    found = settling()
    found.hear(beat(agent, SINCE_S + 1.0) for agent in AGENTS[1:])
    assert goes_on_at(found, 2.0) == SETTLE_S + CALM_S


def test_when_most_agents_are_silent_they_have_not_connected() -> None:
    found = settling()
    found.hear([beat("a", SINCE_S + 1.0)])
    assert goes_on_at(found, 2.0) == found.most_s == SETTLE_S + GAP_S


@pytest.mark.parametrize(("gap_s", "most_s"), [(20.0, SETTLE_S + 20.0), (86_400.0, SETTLE_S + MOST_S)])
def test_no_wait_is_longer_than_its_bound(gap_s: float, most_s: float) -> None:
    found = settling(gap_s)
    found.hear([beat("a", SINCE_S - gap_s)])
    assert goes_on_at(found, 0.0) == most_s


def test_an_agent_that_is_known_to_have_stopped_is_not_waited_for() -> None:
    found = settling()
    found.hear([beat("a", SINCE_S - GAP_S - 0.5, state="stopping")])
    found.hear(beat(agent, SINCE_S + 1.0) for agent in AGENTS[1:])
    assert goes_on_at(found, 2.0) == 2.0 + CALM_S


def test_a_clock_that_is_ahead_and_knows_it_deceives_nobody() -> None:
    found = settling(agents=["a"])
    found.hear([beat("a", SINCE_S - 10.0, ahead_s=3600.0)])
    assert not found.may_go_on(SINCE_S + 5.0, has_all=True)
    found.hear([beat("a", SINCE_S + 6.0, ahead_s=3600.0)])
    assert goes_on_at(found, 6.0) == 6.0 + CALM_S


def test_nobody_is_judged_before_all_that_is_there_was_read() -> None:
    found = settling()
    found.hear(beat(agent, SINCE_S + 1.0) for agent in AGENTS)
    assert not found.may_go_on(SINCE_S + 2.0, has_all=False)
    assert not found.may_go_on(SINCE_S + 2.0 + CALM_S, has_all=False)
    assert found.may_go_on(SINCE_S + found.most_s, has_all=False)


def test_without_heartbeats_time_waits_for_agents_to_connect() -> None:
    found = settling(agents=())
    assert goes_on_at(found, 0.0) == SETTLE_S
