"""When time may go on: not before agents could send what waited while Kafka was away."""

from __future__ import annotations

from streams.ticker import AWAY_S, SETTLE_S, Settling


def test_while_the_broker_answers_time_passes() -> None:
    settling = Settling()
    assert all(settling.asked(float(second), second + 0.1, answered=True) for second in range(100))


def test_after_an_outage_time_waits_for_what_agents_hold() -> None:
    settling = Settling()
    assert settling.asked(0.0, 0.1, answered=True)
    assert not settling.asked(1.0, 11.0, answered=False)
    assert not settling.asked(12.0, 22.0, answered=False)
    assert not settling.asked(23.0, 23.1, answered=True)
    assert not settling.asked(23.0 + SETTLE_S - 1, 23.0 + SETTLE_S, answered=True)
    assert settling.asked(23.0 + SETTLE_S, 23.2 + SETTLE_S, answered=True)


def test_an_answer_that_was_long_in_coming_came_after_an_outage() -> None:
    settling = Settling()
    assert not settling.asked(0.0, AWAY_S + 1.0, answered=True)
    assert settling.asked(AWAY_S + 2.0 + SETTLE_S, AWAY_S + 2.1 + SETTLE_S, answered=True)


def test_a_machine_that_is_always_slow_does_not_stop_time() -> None:
    settling, now_s, went_on = Settling(), 0.0, 0
    for _ in range(100):
        went_on += settling.asked(now_s, now_s + AWAY_S + 1.0, answered=True)
        now_s += AWAY_S + 2.0
    assert went_on >= 30


def test_an_error_that_has_passed_at_once_costs_no_time() -> None:
    settling = Settling()
    assert not settling.asked(0.0, 0.1, answered=False)
    assert settling.asked(1.0, 1.1, answered=True)
