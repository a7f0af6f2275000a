"""The loop: sockets before timers, rhythm kept, lag told, stopped by signals at once."""

from __future__ import annotations

import os
import signal
import threading

from hypothesis import given
from hypothesis import strategies as st

from collectors.loop import Loop, Signals
from collectors.observing import Now
from tests.unit.collectors.hand_clock import hand_loop, run_for


@given(st.lists(st.integers(0, 5_000_000), min_size=1, max_size=30))
def test_timers_are_called_in_the_order_of_their_instants(delays: list[int]) -> None:
    loop, clock, _ = hand_loop()
    called: list[tuple[int, int]] = []
    start_us = clock.mono_us
    for number, delay in enumerate(delays):
        loop.at(start_us + delay, lambda now, key=(start_us + delay, number): called.append(key))
    run_for(loop, clock, 6.0)
    assert called == sorted((start_us + delay, number) for number, delay in enumerate(delays))


def test_a_rhythm_is_kept_and_missed_turns_are_not_made_up_for() -> None:
    loop, clock, selector = hand_loop()
    at_s: list[float] = []
    loop.every(lambda: 1.0, lambda now: at_s.append(now.mono_us / 1e6))
    run_for(loop, clock, 2.5)
    selector.stall_s = 4.3
    run_for(loop, clock, 7.0)
    assert at_s == [1.0, 2.0, 3.0, 8.3, 9.0, 10.0]


def test_a_slow_action_delays_itself_not_its_rhythm() -> None:
    loop, clock, _ = hand_loop()
    at_s: list[float] = []

    def slow(now: Now) -> None:
        at_s.append(now.mono_us / 1e6)
        clock.move(0.4)

    loop.every(lambda: 1.0, slow)
    run_for(loop, clock, 2.5)
    assert at_s == [1.0, 2.0, 3.0]


def test_after_a_stop_sockets_are_read_before_timers_conclude() -> None:
    loop, clock, selector = hand_loop()
    order: list[str] = []
    loop.watch(7, lambda now: order.append("socket"))
    loop.at(clock.mono_us + 1_000_000, lambda now: order.append("timer"))
    selector.stall_s, selector.ready = 10.0, [7]
    loop.turn()
    assert order == ["socket", "timer"]


def test_the_worst_lag_is_told_once() -> None:
    loop, clock, selector = hand_loop()
    loop.every(lambda: 1.0, lambda now: None)
    run_for(loop, clock, 2.5)
    assert loop.take_worst_lag_us() == 0
    selector.stall_s = 10.0
    run_for(loop, clock, 10.5)
    assert 10_000_000 <= loop.take_worst_lag_us() <= 10_500_000
    assert loop.take_worst_lag_us() == 0


def test_a_cancelled_timer_is_not_called() -> None:
    loop, clock, _ = hand_loop()
    called: list[str] = []
    loop.at(clock.mono_us + 10, lambda now: called.append("cancelled")).cancel()
    loop.at(clock.mono_us + 20, lambda now: called.append("kept"))
    run_for(loop, clock, 1.0)
    assert called == ["kept"]


def test_timers_that_always_run_do_not_starve_the_sockets() -> None:
    loop, clock, selector = hand_loop()
    read: list[int] = []
    loop.watch(7, lambda now: read.append(now.mono_us))
    loop.every(lambda: 0.001, lambda now: clock.move(0.01) and None)
    for _ in range(5):
        selector.ready = [7]
        loop.turn()
    assert len(read) == 5


def test_a_signal_ends_a_waiting_loop_at_once() -> None:
    loop = Loop()
    before = signal.getsignal(signal.SIGTERM)
    with Signals(loop):
        alarm = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM))
        alarm.start()
        loop.run()  # has nothing to do for a minute
        alarm.join()
    loop.close()
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_descriptor_that_is_not_watched_any_more_is_not_served() -> None:
    loop, _, selector = hand_loop()
    read: list[str] = []
    loop.watch(7, lambda now: read.append("a"))
    loop.unwatch(7)
    selector.ready = [7]
    loop.turn()
    assert read == []
