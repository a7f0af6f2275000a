"""Hand-made cases: each states what a fair judge says of an incident list, and is wrong if the judge is."""

from __future__ import annotations

import msgspec
import pytest

from schemas.diagnosis import Incident
from schemas.truth import Fault, MonitorFault
from skeletonhunter.scoring import Rules, Score, pool, score
from tests.unit.scoring.cases import facts, fault, incident, monitor_fault, truth


def judge(faults: list[Fault | MonitorFault], incidents: list[Incident]) -> Score:
    return score(truth(*faults), incidents, facts())


def test_perfect_blame_is_right_in_every_respect() -> None:
    result = judge([fault("rnic:h1/r0", "offloading_failure")], [incident("rnic:h1/r0", "offloading_failure", "rnic")])
    (alarm,), (verdict,) = result.alarms, result.faults
    assert (alarm.standing, alarm.named, alarm.exact, alarm.class_right, alarm.issue_right) == (
        "right", True, True, True, True,
    )  # fmt: skip
    assert (verdict.detection_s, verdict.alarm_s, verdict.localization_s) == (2.0, 3.0, 3.0)
    assert verdict.said == "offloading_failure"
    figures = pool([result])
    assert figures.detection.precision.share == figures.detection.recall.share == 1.0
    assert figures.localization.component.share == figures.localization.issue.share == 1.0
    assert figures.delays.detection_to_localization.mean_s == 1.0


def test_no_incident_misses_the_fault_and_says_nothing_about_precision() -> None:
    result = judge([fault("rnic:h1/r0", "gid_change")], [])
    figures = pool([result])
    assert result.faults[0].said == "missed"
    assert result.faults[0].detection_s is None
    assert (figures.detection.recall.share, figures.detection.precision.share) == (0.0, None)
    assert figures.localization.named.share == 0.0


def test_no_fault_and_no_incident_leaves_nothing_to_count() -> None:
    figures = pool([judge([], [])])
    assert figures.detection.precision.of == figures.detection.recall.of == 0
    assert figures.detection.false_alarms.per_hour == 0.0
    assert figures.detection.false_alarms.high > 0  # two pair-hours of silence do not prove a rate of zero


def test_late_alarm_is_right_and_its_delay_shows() -> None:
    late = incident("rnic:h1/r0", detected=59, localized=90, onset=50)
    verdict = judge([fault("rnic:h1/r0")], [late]).faults[0]
    assert (verdict.detection_s, verdict.localization_s) == (39.0, 70.0)


def test_alarm_whose_onset_lies_after_the_aftermath_is_false() -> None:
    after = incident("rnic:h1/r0", onset=66, detected=67, localized=67)
    assert judge([fault("rnic:h1/r0")], [after]).alarms[0].standing == "false"
    within = incident("rnic:h1/r0", onset=64, detected=67, localized=67)
    assert judge([fault("rnic:h1/r0")], [within]).alarms[0].standing == "right"


def test_alarm_raised_before_the_fault_is_false_however_long_it_stays_open() -> None:
    early = incident("rnic:h1/r0", onset=5, detected=6, localized=7)
    result = judge([fault("rnic:h1/r0")], [early])
    assert result.alarms[0].standing == "false"
    assert result.faults[0].alarms == ()


def test_alarm_a_clock_error_before_the_onset_counts_with_no_negative_delay() -> None:
    result = judge([fault("rnic:h1/r0")], [incident("rnic:h1/r0", onset=19.2, detected=19.2, localized=19.2)])
    assert result.faults[0].detection_s == 0.0
    strict = score(truth(fault("rnic:h1/r0")), [incident("rnic:h1/r0", onset=19.2, detected=19.2)], facts(),
                   Rules(early_s=0.5))  # fmt: skip
    assert strict.alarms[0].standing == "false"


def test_duplicate_alarms_are_both_right_and_counted_as_duplicates() -> None:
    twice = [incident("rnic:h1/r0", name="i1"), incident("rnic:h1/r0", name="i2", detected=30, localized=31)]
    result = judge([fault("rnic:h1/r0")], twice)
    figures = pool([result])
    assert (figures.detection.alarms, figures.detection.duplicates) == (2, 1)
    assert figures.detection.precision.share == 1.0
    assert result.faults[0].detection_s == 2.0


def test_wrong_component_in_the_right_class_detects_but_does_not_localize() -> None:
    wrong = incident("rnic:h2/r0", "gid_change", "rnic", endpoints=("c1/r0",), candidates=("rnic:h2/r0", "rnic:h1/r0"))
    result = judge([fault("rnic:h1/r0", "offloading_failure")], [wrong])
    alarm = result.alarms[0]
    assert (alarm.standing, alarm.named, alarm.class_right, alarm.issue_right) == ("right", False, True, False)
    assert alarm.listed is True
    assert result.faults[0].naming == ()
    assert result.faults[0].localization_s is None
    assert result.faults[0].said == "gid_change"


def test_alarm_on_a_healthy_job_is_false_while_another_job_has_a_fault() -> None:
    result = judge([fault("rnic:h1/r0", endpoints=("c1/r0",))], [incident(None, endpoints=("c2/r0", "c4/r0"))])
    assert result.alarms[0].standing == "false"
    assert result.alarms[0].cause == "nothing"
    assert result.faults[0].alarms == ()
    assert pool([result]).detection.false_alarms.per_hour == 0.5


def test_last_state_of_an_incident_holds() -> None:
    first = incident("rnic:h2/r0", localized=22, sent=22, endpoints=("c1/r0",))
    last = incident("rnic:h1/r0", localized=22, sent=40, endpoints=("c1/r0",))
    result = judge([fault("rnic:h1/r0")], [first, last])
    assert len(result.alarms) == 1
    assert result.alarms[0].named is True
    assert result.faults[0].localization_s == 20.0  # a corrected blame was not known before the correction


def test_without_the_opening_message_the_incident_s_own_instants_hold() -> None:
    resolved = incident("rnic:h1/r0", sent=90, resolved=85)
    verdict = judge([fault("rnic:h1/r0")], [resolved]).faults[0]
    assert (verdict.detection_s, verdict.alarm_s, verdict.localization_s) == (2.0, 2.0, 3.0)


def test_retracted_alarm_is_counted_as_such_and_not_as_false() -> None:
    first = incident("rnic:h1/r0", sent=25)
    last = incident("agent:h1", kind="agent_missing", sent=30, endpoints=("c1/r0",))
    result = judge([monitor_fault("agent_missing", "agent:h1", endpoints=("c1/r0",))], [first, last])
    assert result.alarms == ()
    assert result.retracted == 1
    assert result.monitor_faults[0].found is True


@pytest.mark.parametrize(
    ("true", "issue", "said", "same"),
    [
        ("link:f11", None, "port:leaf-1/u1", True),
        ("link:f11", None, "port:spine-1/1", True),
        ("port:leaf-1/u1", "crc_error", "port:spine-1/1", True),
        ("port:leaf-1/u1", "switch_port_down", "link:f11", True),
        ("port:leaf-1/u1", "switch_port_down", "port:spine-1/1", False),
        ("link:a1", None, "rnic:h1/r0", True),
        ("rnic:h1/r0", "rnic_port_down", "link:a1", True),
        ("rnic:h1/r0", "rnic_port_down", "port:h1/r0/1", True),
        ("rnic:h1/r0", "rnic_port_down", "port:leaf-1/1", False),
        ("rnic:h1/r0", None, "port:leaf-1/1", True),
        ("rnic:h1/r0", None, "rnic:h2/r0", False),
        ("rnic:h1/r0", None, "host:h1", False),
        ("switch:leaf-1", "switch_offline", "port:leaf-1/1", None),
        ("switch:leaf-1", "switch_offline", "switch:spine-1", False),
        ("config:leaf-1/1", "congestion_control_misconfiguration", "port:leaf-1/1", False),
        ("config:h1", "hugepage_misconfiguration", "config:h1", True),
    ],
)
def test_reading_rules_of_components(true: str, issue: str | None, said: str, same: bool | None) -> None:
    blame = incident(said, endpoints=("c1/r0",))
    result = judge([fault(true, issue, endpoints=("c1/r0",))], [blame])
    assert result.alarms[0].named is same
    assert result.alarms[0].exact is (None if same is None else said == true)


def test_half_of_a_switch_s_links_name_it_when_the_half_is_complete() -> None:
    links = ["a1", "f11"]
    blames = [
        incident(f"link:{link}", name=link, localized=25 + n, sent=25 + n, endpoints=("c1/r0",))
        for n, link in enumerate(links)
    ]
    faults: list[Fault | MonitorFault] = [fault("switch:leaf-1", "switch_offline", endpoints=("c1/r0",))]
    one, both = judge(faults, blames[:1]), judge(faults, blames)
    assert [alarm.named for alarm in one.alarms] == [None]
    assert pool([one]).localization.component.of == 0
    assert one.faults[0].localization_s is None
    assert [alarm.named for alarm in both.alarms] == [True, True]
    assert both.faults[0].localization_s == 6.0
    assert pool([both]).detection.duplicates == 0


def test_switch_blamed_as_such_is_named_at_once() -> None:
    result = judge([fault("switch:spine-1")], [incident("switch:spine-1", endpoints=("c1/r0",))])
    assert result.faults[0].localization_s == 3.0


def test_two_faults_in_one_incident_are_both_detected_and_one_is_named() -> None:
    faults: list[Fault | MonitorFault] = [
        fault("rnic:h1/r0", "gid_change", fault="f1"),
        fault("vswitch:h3", "not_using_rdma", fault="f2", begin=25),
    ]
    both = incident("rnic:h1/r0", "gid_change", "rnic", endpoints=("c1/r0", "c3/r0"), detected=27, localized=28)
    figures = pool([judge(faults, [both])])
    assert (figures.detection.recall.hits, figures.detection.recall.of) == (2, 2)
    assert (figures.localization.named.hits, figures.localization.named.of) == (1, 2)
    assert figures.localization.component.share == 1.0


def test_undecided_incident_detects_and_does_not_localize() -> None:
    result = judge(
        [fault("rnic:h1/r0", "gid_change")],
        [incident("rnic:h1/r0", kind="insufficient_evidence", endpoints=("c1/r0",))],
    )
    figures = pool([result])
    assert figures.detection.recall.share == 1.0
    assert figures.localization.located.share == 0.0
    assert figures.localization.component.of == 0


def test_fault_out_of_reach_is_counted_apart() -> None:
    result = judge([fault("host:h1", "gpu_direct_rdma_error", probe_visible=False)], [])
    figures = pool([result])
    assert figures.detection.recall.of == 0
    assert figures.detection.recall_with_unreachable.share == 0.0


def test_congestion_recognised_and_congestion_blamed() -> None:
    busy = fault("port:leaf-2/3", kind="congestion")
    recognised = judge([busy], [incident("port:leaf-2/3", kind="congestion")])
    assert recognised.congestions[0].recognised is True
    assert recognised.congestion_calls[0].cause == "congestion"
    assert recognised.alarms == ()
    blamed = judge([busy], [incident("port:leaf-2/3", "switch_port_flapping", "switch", action="quarantine")])
    assert blamed.alarms[0].cause == "congestion"
    assert blamed.congestions[0].blamed == ("i1",)
    assert blamed.faults == ()
    assert blamed.quarantines[0].standing == "unnecessary"


def test_fault_taken_for_congestion_is_missed_and_said_to_be() -> None:
    result = judge([fault("link:f11", endpoints=("c1/r0",))], [incident("link:f11", kind="congestion")])
    assert result.congestion_calls[0].cause == "network_fault"
    figures = pool([result])
    assert figures.detection.recall.share == 0.0
    assert figures.bystanders.network_called_congestion.share == 1.0


@pytest.mark.parametrize(
    ("target", "standing"),
    [
        ("rnic:h1/r0", "at_fault"),
        ("link:a1", "at_fault"),
        ("vif:c1/r0", "at_fault"),
        ("host:h1", "wide"),
        ("rnic:h2/r0", "unnecessary"),
        ("host:h2", "unnecessary"),
    ],
)
def test_quarantine_must_take_no_more_than_what_is_at_fault(target: str, standing: str) -> None:
    blame = incident("rnic:h1/r0", action="quarantine", target=target)
    assert judge([fault("rnic:h1/r0")], [blame]).quarantines[0].standing == standing


def test_quarantine_of_an_earlier_state_is_not_undone_by_a_later_one() -> None:
    first = incident("rnic:h2/r0", action="quarantine", endpoints=("c1/r0",), sent=23)
    last = incident("rnic:h1/r0", action="quarantine", endpoints=("c1/r0",), sent=30)
    standings = [q.standing for q in judge([fault("rnic:h1/r0")], [first, last]).quarantines]
    assert standings == ["unnecessary", "at_fault"]


def test_quarantine_before_the_fault_began_is_unnecessary() -> None:
    early = incident("rnic:h1/r0", action="quarantine", onset=5, detected=6, localized=7)
    assert judge([fault("rnic:h1/r0")], [early]).quarantines[0].standing == "unnecessary"


def test_class_of_a_fault_without_issue_follows_its_component() -> None:
    def class_right(component: str, cls: str) -> bool | None:
        blame = incident(component, cls=cls, endpoints=("c1/r0",))
        return judge([fault(component, endpoints=("c1/r0",))], [blame]).alarms[0].class_right

    assert class_right("link:f11", "switch") is True
    assert class_right("link:f11", "rnic") is False
    assert class_right("link:a1", "rnic") is True
    assert class_right("link:a1", "switch") is True
    assert class_right("container:c1", "container_runtime") is True


def test_score_survives_json() -> None:
    result = judge([fault("rnic:h1/r0", "gid_change")], [incident("rnic:h1/r0", "gid_change", "rnic")])
    assert msgspec.json.decode(msgspec.json.encode(result), type=Score) == result


def test_a_fault_out_of_reach_may_be_told_as_uncovered_which_is_no_detection() -> None:
    hidden = truth(fault("host:h1", "gpu_direct_rdma_error", probe_visible=False, endpoints=("c1/r0",)))
    told = score(hidden, [], facts(), remarked=("host:h1", "job:j9"))
    silent = score(hidden, [], facts(), remarked=("host:h2",))
    assert (told.faults[0].told_uncovered, silent.faults[0].told_uncovered) == (True, False)
    figures = pool([told, silent]).detection
    assert (figures.recall_with_unreachable.hits, figures.recall_unreachable.hits) == (0, 0)
    assert (figures.told_unreachable.hits, figures.told_unreachable.of, figures.recall.of) == (1, 2, 0)
