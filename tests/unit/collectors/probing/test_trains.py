"""Bookkeeping of trains: every end that a probe can have, and laws that hold in any order of events."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.observing import Now
from collectors.probing.timing import Times
from collectors.probing.trains import Ledger, Train
from schemas.instants import SECOND_US
from schemas.probing import Outcome, ProbeResult

T0 = 1_753_000_000 * SECOND_US


def at(seconds: float) -> Now:
    return Now(T0 + round(seconds * SECOND_US), round(seconds * SECOND_US))


def answer(rtt_us: float = 10.0, by: str = "kernel") -> Times:
    return Times(rtt_us, rtt_us, 1.0, 2.0, by)


def train(planned: int = 2, dst: str = "c2/r") -> Train:
    return Train(src="c1/r", dst=dst, kind="udp", planned=planned, plan_version=3)


def only(ledger: Ledger) -> ProbeResult:
    results = [result for _, result in ledger.take_decided()]
    assert len(results) == 1
    return results[0]


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(timeout_s=0.5, give_up_s=2.0)


def test_a_healthy_train_is_told_at_once(ledger: Ledger) -> None:
    one = train()
    ledger.note_sent(one, 1, at(0))
    ledger.note_sent(one, 2, at(0.1))
    ledger.note_answer(2, answer(12.5), at(0.2))
    assert not list(ledger.take_decided())
    ledger.note_answer(1, answer(7.5, "software"), at(0.3))
    result = only(ledger)
    assert (result.outcome, result.sent, result.lost, result.late) == ("reply", 2, 0, 0)
    assert result.rtt_us == (12.5, 7.5)
    assert (result.prober_delay_us, result.responder_delay_us, result.timestamps) == (1.0, 2.0, "software")


def test_no_answer_is_lost_after_the_whole_time_only(ledger: Ledger) -> None:
    one = train()
    ledger.note_sent(one, 1, at(0))
    ledger.note_sent(one, 2, at(1))
    ledger.expire(at(2.5))
    assert not list(ledger.take_decided())
    ledger.expire(at(3.0))
    result = only(ledger)
    assert (result.outcome, result.sent, result.lost, result.rtt_us) == ("lost", 2, 2, ())


def test_a_late_reply_is_late_and_not_lost(ledger: Ledger) -> None:
    one = train(1)
    ledger.note_sent(one, 1, at(0))
    ledger.expire(at(1.9))
    ledger.note_answer(1, answer(1_900_000.0), at(1.9))
    result = only(ledger)
    assert (result.outcome, result.lost, result.late) == ("reply", 0, 1)
    assert ledger.tally.late == 1


def test_a_reply_that_we_looked_at_late_is_not_late(ledger: Ledger) -> None:
    """The agent was stopped; the kernel knows that the reply came in time."""
    one = train(1)
    ledger.note_sent(one, 1, at(0))
    ledger.note_answer(1, answer(15.0), at(10))
    ledger.expire(at(10))
    assert only(ledger).late == 0


def test_an_answer_to_a_train_that_was_told_is_counted_apart(ledger: Ledger) -> None:
    ledger.note_sent(train(1), 1, at(0))
    ledger.expire(at(2))
    assert only(ledger).outcome == "lost"
    assert ledger.note_answer(1, answer(), at(2.1)) is None
    assert ledger.tally.too_late == 1


def test_nothing_sent_is_not_sent_and_says_why(ledger: Ledger) -> None:
    ledger.note_unsent(train(3), "capped", at(0), 3)
    result = only(ledger)
    assert (result.outcome, result.sent, result.reason, result.late) == ("not_sent", 0, "capped", None)


def test_a_part_not_sent_is_left_out(ledger: Ledger) -> None:
    one = train(2)
    ledger.note_unsent(one, "capped", at(0))
    ledger.note_sent(one, 1, at(0))
    ledger.note_answer(1, answer(), at(0.1))
    result = only(ledger)
    assert (result.outcome, result.sent, result.reason) == ("reply", 1, "capped")


def test_held_back_is_target_not_ready(ledger: Ledger) -> None:
    ledger.note_not_ready(train(5), "c2/r is starting", at(0))
    result = only(ledger)
    assert (result.outcome, result.sent, result.reason) == ("target_not_ready", 0, "c2/r is starting")


def test_nobody_listening_is_no_loss(ledger: Ledger) -> None:
    one = train(2)
    for seq in (1, 2):
        ledger.note_sent(one, seq, at(0))
        ledger.note_failure(seq, "absent", "nobody listens", at(0.1))
    assert only(ledger).outcome == "target_not_ready"


def test_what_the_network_refuses_is_lost_at_once(ledger: Ledger) -> None:
    ledger.note_sent(train(1), 1, at(0))
    ledger.note_failure(1, "network", "unreachable", at(0.1))
    result = only(ledger)
    assert (result.outcome, result.reason) == ("lost", "unreachable")


def test_silence_proves_nothing_when_packets_were_dropped_here(ledger: Ledger) -> None:
    one = train(2)
    ledger.note_sent(one, 1, at(0))
    ledger.note_sent(one, 2, at(0))
    ledger.doubt("udp", "c1/r")
    ledger.note_answer(1, answer(), at(0.1))
    ledger.expire(at(2))
    result = only(ledger)
    assert (result.outcome, result.sent, result.lost) == ("reply", 1, 0)


def test_what_was_on_its_way_is_withdrawn_when_a_side_begins_anew(ledger: Ledger) -> None:
    ledger.note_sent(train(1), 1, at(0))
    ledger.withdraw("rdma", "c1/r", "other transport", at(0))
    ledger.withdraw("udp", "c1/r", "opened anew", at(0))
    assert only(ledger).outcome == "not_sent"
    ledger.note_sent(train(1, "c2/r"), 2, at(0))
    ledger.note_sent(train(1, "c3/r"), 3, at(0))
    ledger.withdraw_to("c2/r", "its agent began anew", at(0))
    assert only(ledger).outcome == "target_not_ready"
    assert len(ledger) == 1


def test_overdue_peers_are_named_once(ledger: Ledger) -> None:
    ledger.note_sent(train(1), 1, at(0))
    assert ledger.newly_late(at(0.4)) == set()
    assert ledger.newly_late(at(0.6)) == {"c2/r"}
    assert ledger.newly_late(at(0.7)) == set()


def test_wrong_times_are_refused() -> None:
    with pytest.raises(ValueError, match="at most give_up_s"):
        Ledger(timeout_s=3.0, give_up_s=2.0)


EVENTS = st.lists(
    st.tuples(st.sampled_from(["answer", "absent", "local", "network", "wait", "doubt", "unsent"]), st.integers(0, 30)),
    max_size=60,
)


@given(trains=st.integers(1, 4), planned=st.integers(1, 8), events=EVENTS)
def test_every_train_is_told_exactly_once_with_counts_that_add_up(
    trains: int, planned: int, events: list[tuple[str, int]]
) -> None:
    ledger, now_s, told = Ledger(0.5, 2.0), 0.0, []
    ours = [train(planned, f"c{n}/r") for n in range(trains)]
    left = {seq: ours[seq % trains] for seq in range(trains * planned)}
    for what, seq in events:
        if what == "wait":
            now_s += 0.4
            ledger.expire(at(now_s))
        elif what == "doubt":
            ledger.doubt("udp", "c1/r")
        elif what == "answer":
            ledger.note_answer(seq, answer(), at(now_s))
        elif what in ("absent", "local", "network"):
            ledger.note_failure(seq, what, what, at(now_s))
        if left:
            number, one = left.popitem()
            if what == "unsent":
                ledger.note_unsent(one, "capped", at(now_s))
            else:
                ledger.note_sent(one, number, at(now_s))
    for seq, one in left.items():
        ledger.note_sent(one, seq, at(now_s))
    ledger.expire(at(now_s + 3))
    told += [result for _, result in ledger.take_decided()]
    assert sorted(result.dst for result in told) == sorted(one.dst for one in ours)
    assert len(ledger) == 0 and ledger.next_us() is None
    tally = ledger.tally
    assert tally.answered + tally.lost + tally.unsent + tally.absent == trains * planned
    assert sum(r.sent for r in told) == tally.answered + tally.lost
    assert {r.outcome for r in told} <= set(get_args(Outcome))


def test_an_agent_has_no_word_for_what_only_streams_can_know() -> None:
    assert set(get_args(Outcome)) == {"reply", "lost", "not_sent", "target_not_ready"}
