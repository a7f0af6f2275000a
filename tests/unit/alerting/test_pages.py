"""When somebody is told: opening, updates, the end, reminders, silences, storms, and the same after a restart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.diagnosis import Action, Incident
from skeletonhunter.alert_settings import Silence
from tests.unit.alerting.incidents import T0_US, incident, target
from tests.unit.alerting.night import Night


def silence(since_s: float, until_s: float, **fields: Any) -> Silence:
    zero = datetime.fromtimestamp(T0_US / 1e6, UTC)
    ends = (zero + timedelta(seconds=since_s), zero + timedelta(seconds=until_s))
    return Silence(since=ends[0], until=ends[1], why="planned work", **fields)


def test_opening_and_end_are_told_and_what_says_the_same_is_not() -> None:
    night = Night()
    assert night.hear(incident(seq=1)) == [("inc-1", "open")]
    assert night.hear(incident(seq=2, state="updated", at_s=1, confidence=0.99)) == []
    other = Action(kind="restart", target="host:h", why="it hangs")
    assert night.hear(incident(seq=3, state="updated", at_s=2, action=other)) == [("inc-1", "updated")]
    assert night.hear(incident(seq=4, state="resolved", at_s=3, action=other)) == [("inc-1", "resolved")]
    assert night.teller.book.pages == {}


def test_the_same_state_again_is_nothing_new_even_after_a_restart_and_from_the_beginning() -> None:
    night = Night()
    states = [incident(seq=1), incident(seq=2, state="resolved", at_s=1)]
    night.hear(*states)
    night.restart()
    assert night.hear(*states) == []


def test_what_is_over_before_anybody_was_told_wakes_nobody_but_plain_json_is_told() -> None:
    over = incident(seq=5, state="resolved")
    assert Night().hear(over) == []
    assert Night(target(form="json")).hear(over) == [("inc-1", "resolved")]


def test_plain_json_is_told_every_state() -> None:
    night = Night(target(form="json", storm_pages=None))
    states = ["open", "updated", "updated", "resolved"]
    heard = night.hear(*(incident(seq=seq, state=state, at_s=seq) for seq, state in enumerate(states)))
    assert [state for _, state in heard] == states


def test_an_incident_that_becomes_urgent_enough_opens_its_page_then() -> None:
    night = Night(target(least_severity="critical"))
    assert night.hear(incident(seq=1, symptom="high_latency")) == []
    assert night.hear(incident(seq=2, state="updated", at_s=5)) == [("inc-1", "open")]
    assert night.hear(incident(seq=3, state="resolved", at_s=9, symptom="high_latency")) == [("inc-1", "resolved")]


def test_without_updates_only_a_rise_of_the_severity_is_told() -> None:
    night = Night(target(updates=False))
    night.hear(incident(seq=1, symptom="packet_loss"))
    assert night.hear(incident(seq=2, state="updated", at_s=1, symptom="high_latency")) == []
    assert night.hear(incident(seq=3, state="updated", at_s=2)) == [("inc-1", "updated")]


def test_reminders_come_while_it_is_open_also_after_a_restart() -> None:
    night = Night(target(remind_s=600))
    night.hear(incident(seq=1))
    assert night.wait(599) == []
    night.restart()
    assert night.wait(1) == [("inc-1", "updated")]
    assert night.wait(599) == []
    assert night.wait(1) == [("inc-1", "updated")]
    assert [each.delivery for each in night.kept[1:]] == ["inc-1/reminder-1", "inc-1/reminder-2"]
    night.hear(incident(seq=2, state="resolved", at_s=1300))
    assert night.wait(6000) == []


def test_alertmanager_is_told_again_every_minute_and_that_is_not_kept() -> None:
    night = Night(target(form="alertmanager"))
    night.hear(incident(seq=1))
    for minute in range(1, 4):
        assert night.wait(59) == []
        assert len(night.phone.calls) == minute
        assert night.wait(1) == []
    assert len(night.phone.calls) == 4
    assert len(night.kept) == 1


def test_a_crash_between_answer_and_log_repeats_one_alert_under_the_same_key() -> None:
    night = Night()
    first = incident(seq=1)
    night.hear(first)
    night.kept.clear()  # the process died before Kafka had it, and the offset did not move
    night.restart()
    night.hear(first, incident(seq=2, state="resolved", at_s=9))
    assert [call.delivery for call in night.phone.calls] == ["inc-1/1/open", "inc-1/1/open", "inc-1/2/resolved"]


def test_a_failure_is_tried_again_a_minute_later_while_it_is_open() -> None:
    night = Night()
    night.phone.is_away = True
    assert night.hear(incident(seq=1)) == []
    assert night.kept[-1].outcome == "failed"
    night.restart()
    night.phone.is_away = False
    assert night.wait(59) == []
    assert night.wait(1) == [("inc-1", "open")]
    assert night.wait(3600) == []


def test_an_end_that_could_not_be_told_is_told_later_also_after_a_restart_but_not_for_ever() -> None:
    for restarts in (False, True):
        night = Night()
        night.hear(incident(seq=1))
        night.phone.is_away = True
        assert night.hear(incident(seq=2, state="resolved", at_s=9)) == []
        if restarts:
            night.restart()
        assert night.wait(60) == []
        night.phone.is_away = False
        assert night.wait(60) == [("inc-1", "resolved")]
        assert night.wait(600) == []
        assert night.phone.calls[-1].delivery == "inc-1/2/resolved"
    night = Night()
    night.hear(incident(seq=1))
    night.phone.is_away = True
    night.hear(incident(seq=2, state="resolved", at_s=9))
    night.wait(86_500)
    night.phone.is_away = False
    assert night.wait(60) == []


def test_an_update_that_failed_is_told_again_as_an_update() -> None:
    night = Night()
    night.hear(incident(seq=1, symptom="packet_loss"))
    night.phone.is_away = True
    night.hear(incident(seq=2, state="updated", at_s=1))
    night.phone.is_away = False
    assert night.wait(60) == [("inc-1", "updated")]


def test_a_silence_holds_back_and_what_is_still_open_at_its_end_is_told_then() -> None:
    night = Night(silences=(silence(0, 100),))
    assert night.hear(incident("inc-1", 1), incident("inc-2", 2, component="rnic:h-9/r0")) == []
    assert [each.why for each in night.kept] == ["silence: planned work"] * 2
    assert night.hear(incident("inc-2", 3, state="resolved", at_s=50, component="rnic:h-9/r0")) == []
    night.restart()
    assert night.wait(49) == []
    assert night.wait(1) == [("inc-1", "open")]


def test_a_page_that_was_open_before_a_silence_rests_but_its_end_is_told() -> None:
    night = Night(target(remind_s=60), (silence(10, 1000),))
    night.hear(incident(seq=1))
    assert night.hear(incident(seq=2, state="updated", at_s=20, component="rnic:h-2/r0")) == []
    assert night.wait(100) == []
    assert night.hear(incident(seq=3, state="resolved", at_s=200)) == [("inc-1", "resolved")]


def test_alertmanager_does_not_forget_an_open_alert_during_a_silence() -> None:
    night = Night(target(form="alertmanager"), (silence(10, 1000),))
    night.hear(incident(seq=1))
    night.wait(60)
    assert len(night.phone.calls) == 2


def test_all_that_a_silence_names_must_fit() -> None:
    fitting = silence(0, 9, fabric="pod-7", component="rnic:host-01/*", component_class="rnic", targets=("oncall",))
    assert Night(silences=(fitting,)).hear(incident()) == []
    for other in (
        silence(0, 9, fabric="pod-8"),
        silence(0, 9, component="rnic:host-02/*"),
        silence(0, 9, component_class="switch"),
        silence(0, 9, targets=("tickets",)),
        silence(0, 9, tenant="acme"),
        silence(-9, 0),
    ):
        assert Night(silences=(other,)).hear(incident()) == [("inc-1", "open")]


def test_a_page_is_opened_with_the_verdict_that_has_settled() -> None:
    night = Night(target(form="alertmanager", settle_s=10))
    assert night.hear(incident(seq=1, issue=None, component="link:l-1")) == []
    assert night.hear(incident(seq=2, state="updated", at_s=3)) == []
    assert night.wait(6) == []
    assert night.wait(1) == [("inc-1", "open")]
    assert night.kept[-1].labels["component"] == "rnic:host-01/mlx5_0"


def test_what_was_over_before_it_settled_is_not_told_and_a_restart_does_not_wait_again() -> None:
    night = Night(target(settle_s=10))
    assert night.hear(incident("inc-1", 1), incident("inc-1", 2, "resolved", at_s=5)) == []
    night.hear(incident("inc-2", 3, at_s=6))
    night.restart()
    assert night.wait(0) == [("inc-2", "open")]


def far_apart(number: int, state: str = "open", seq: int | None = None, at_s: float | None = None) -> Incident:
    place = f"rnic:host-{number}/mlx5_0"
    return incident(
        f"inc-{number}", number if seq is None else seq, state, number if at_s is None else at_s, component=place
    )


def test_a_storm_is_one_page_more_that_is_told_when_it_doubles_and_over_when_all_are() -> None:
    night = Night()
    told = night.hear(*(far_apart(number) for number in range(20)))
    assert [name for name, state in told if state == "open"] == ["inc-0", "inc-1", "inc-2"]
    assert [each for each in told if each[1] == "updated"] == [("inc-2", "updated")] * 4  # with 2, 4, 8, 16 incidents
    assert len(night.kept[-1].members) == 18
    night.restart()
    ends = [far_apart(number, "resolved", 100 + number, 60 + number) for number in range(20)]
    told = night.hear(*ends)
    assert [each for each in told if each[1] == "resolved"] == [(f"inc-{number}", "resolved") for number in range(3)]
    assert night.hear(far_apart(19, "resolved", 200)) == []
    assert night.teller.book.pages == {}


def test_what_comes_later_or_in_another_fabric_is_no_storm() -> None:
    night = Night()
    night.hear(*(far_apart(number) for number in range(3)))
    late, elsewhere = far_apart(3, at_s=500), incident("inc-9", 1, at_s=4, fabric="pod-8")
    assert night.hear(elsewhere, late) == [("inc-9", "open"), ("inc-3", "open")]


def test_incidents_of_one_host_or_switch_share_a_page() -> None:
    night = Night()
    first = incident("inc-1", 1, component="port:leaf-1/p1")
    second = incident("inc-2", 2, at_s=5, component="switch:leaf-1")
    third = incident("inc-3", 3, at_s=6, component="switch:leaf-10")
    assert night.hear(first, second, third) == [("inc-1", "open"), ("inc-1", "updated"), ("inc-3", "open")]


def test_without_a_limit_each_incident_is_a_page() -> None:
    night = Night(target(storm_pages=None))
    assert len(night.hear(*(far_apart(number) for number in range(20)))) == 20


actions = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["unconnectivity", "packet_loss", "high_latency"]), st.booleans()),
    max_size=25,
)


@settings(max_examples=60)
@given(actions, st.integers(0, 25), st.sampled_from(["slack", "json", "alertmanager", "pagerduty"]))
def test_a_restart_at_any_moment_changes_nothing_of_what_is_told(
    steps: list[tuple[int, str, bool]], when: int, form: str
) -> None:
    def live(restarts: bool) -> list[tuple[str, str, int]]:
        night = Night(target(form=form, remind_s=100))
        over: set[int] = set()
        for seq, (number, symptom, ends) in enumerate(steps):
            if restarts and seq == when:
                night.restart()
            if number in over:
                night.wait(30)
                continue
            over |= {number} if ends else set()
            component = f"rnic:host-{number % 4}/r{number}"
            state = "resolved" if ends else "updated"
            night.hear(incident(f"inc-{number}", seq, state, seq * 7.0, symptom=symptom, component=component))
        return [(each.delivery, each.outcome, each.reminders) for each in night.kept]

    assert live(restarts=True) == live(restarts=False)
