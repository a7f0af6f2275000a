"""Neighbours that look alike: boards and their RNICs, queues with and without control, agents and their containers."""

from __future__ import annotations

import msgspec
import pytest

from localization.actions import SLOW_STEADY_US, STEADY_US, held_back
from localization.cases import Case, Clue
from localization.certainty import lives_from_us
from localization.confidence import LAPSES
from localization.evidence import new_evidence
from localization.heaps import heap_up
from localization.lifecycle import rests_on_one_agent
from localization.parameters import LocalizationParameters
from localization.topology import Topology
from schemas.diagnosis import Action
from schemas.envelope import Message
from schemas.instants import SECOND_US
from schemas.telemetry import AgentHealth, SwitchQueues
from tests.anomalies import anomaly
from tests.small_fabric import (
    BEGIN_US,
    WELL,
    Effect,
    Suffers,
    by_time,
    endpoint,
    endpoint_map,
    event,
    fabric_map,
    health,
    incidents,
    probe_results,
    queues,
    run,
    told,
)

UPLINK = "leaf-1-0/up0"


def on_link(link: str, suffers: Suffers) -> Effect:
    def effect(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return suffers if second > 30 and link in path else WELL

    return effect


def marked(seconds: int, marks: bool) -> list[Message]:
    """Queues of which one port's is 2 MB deep from second 30 on; its ECN counter counts, and grows or not."""
    found: list[Message] = []
    for message in queues(seconds, lambda port, second: 2_000_000 if port == UPLINK and second > 30 else 0):
        second = (message.t_us - BEGIN_US) // SECOND_US
        ports = tuple(
            msgspec.structs.replace(column, ecn_marked=(100 * second if marks else 7,)) for column in message.ports
        )
        found.append(msgspec.structs.replace(message, ports=ports))
    return found


def test_a_deep_queue_that_marks_packets_is_congestion() -> None:
    (incident,) = told(70, on_link("u-1-0-0", Suffers(rtt=6.0)), marked(70, marks=True))
    assert (incident.kind, incident.component, incident.action.kind) == ("congestion", f"port:{UPLINK}", "none")


def test_a_deep_queue_that_marks_nothing_has_no_congestion_control() -> None:
    (incident,) = told(70, on_link("u-1-0-0", Suffers(rtt=6.0)), marked(70, marks=False))
    assert (incident.kind, incident.component) == ("network_fault", f"config:{UPLINK}")
    assert incident.issue == "congestion_control_misconfiguration"
    assert incident.action.kind == "fix_configuration"


def test_a_queue_whose_counters_are_not_read_may_be_either_and_is_called_congestion() -> None:
    deep: list[Message] = list(queues(70, lambda port, second: 2_000_000 if port == UPLINK and second > 30 else 0))
    assert all(column.ecn_marked is None for each in deep if isinstance(each, SwitchQueues) for column in each.ports)
    (incident,) = told(70, on_link("u-1-0-0", Suffers(rtt=6.0)), deep)
    assert incident.kind == "congestion"


def test_rnics_of_one_host_that_turn_slow_together_are_their_boards() -> None:
    def slow(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(rtt=6.0) if second > 30 and ("c3/" in src or "c3/" in dst) else WELL

    (incident,) = told(80, slow, health(80), queues(80))
    assert (incident.component, incident.issue) == ("host:h3", "pcie_nic_error")


def test_half_of_an_rnics_flows_dead_and_the_others_well_is_its_bond() -> None:
    dead = {endpoint(3, 1), endpoint(4, 1), endpoint(7, 1)}

    def half(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        hit = second > 30 and endpoint(3, 1) in (src, dst) and {src, dst} <= dead
        return Suffers(loss=1.0) if hit else WELL

    (incident,) = told(70, half, health(70))
    assert (incident.component, incident.issue) == ("rnic:h3/mlx5_1", "bond_error")


def test_of_a_pair_that_alone_is_dead_either_card_may_have_lost_a_port_of_its_bond() -> None:
    ends = {endpoint(3, 1), endpoint(4, 1)}

    def lone(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(loss=1.0) if second > 30 and {src, dst} == ends else WELL

    (incident,) = told(60, lone, health(60))
    assert (incident.kind, incident.component) == ("insufficient_evidence", None)
    assert {each.component for each in incident.candidates} == {"rnic:h3/mlx5_1", "rnic:h4/mlx5_1"}
    (incident,) = told(60, lone, health(60), [event(35.0, "rnic:h4/mlx5_1", "bond_degraded")])
    assert (incident.component, incident.issue) == ("rnic:h4/mlx5_1", "bond_error")


def test_half_a_bond_shows_also_when_its_second_dead_flow_is_probed_just_before_it_is_well_again() -> None:
    rnic, first, second_peer = endpoint(3, 1), endpoint(4, 1), endpoint(7, 1)

    def half(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        late = {src, dst} == {rnic, second_peer}
        hit = 30 < second <= 60 and ({src, dst} == {rnic, first} or (late and second > 57))
        return Suffers(loss=1.0) if hit else Suffers(silent=True) if late and 30 < second <= 57 else WELL

    named = [each for each in told(75, half, health(75)) if each.component is not None]
    assert [(each.component, each.issue) for each in named] == [("rnic:h3/mlx5_1", "bond_error")]


def test_an_agent_that_comes_back_was_missing_and_the_host_is_not_blamed_afterwards() -> None:
    def away(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        if not 30 < second <= 60:
            return WELL
        return Suffers(silent=True) if "c3/" in src else Suffers(loss=1.0) if "c3/" in dst else WELL

    beats = [m for m in health(110) if m.agent != "c3" or not 30 < (m.t_us - BEGIN_US) / SECOND_US <= 60]
    found = told(110, away, beats)
    assert [(incident.kind, incident.component) for incident in found] == [("agent_missing", "agent:c3")]


def test_an_agent_that_was_stopped_and_says_so_is_one_trouble_also_when_it_is_long_well_again() -> None:
    def away(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        if not 30 < second <= 40:
            return WELL
        return Suffers(silent=True) if "c3/" in src else Suffers(loss=1.0) if "c3/" in dst else WELL

    def says(message: AgentHealth) -> AgentHealth | None:
        second = (message.t_us - BEGIN_US) / SECOND_US
        if message.agent != "c3" or not 30 < second <= 46:
            return message
        return None if second <= 40 else msgspec.structs.replace(message, state="starved")

    beats: list[Message] = [said for message in health(110) if (said := says(message)) is not None]
    found = told(110, away, beats)
    starved = next(incident for incident in found if incident.kind == "agent_starved")
    others = [incident for incident in found if incident is not starved]
    assert {incident.kind for incident in found} <= {"agent_starved", "agent_missing", "collector_gap"}
    assert all(starved.incident in incident.action.why for incident in others)


def test_a_container_that_falls_silent_and_is_then_off_the_map_has_crashed() -> None:
    def dead(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        if second <= 30:
            return WELL
        return Suffers(silent=True) if "c3/" in src else Suffers(loss=1.0) if "c3/" in dst else WELL

    left: list[Message] = [endpoint_map(42.2, version=2, gone=[3])]
    found = told(80, dead, health(80, dead={3: 30}), left)
    faults = [incident for incident in found if incident.kind == "network_fault"]
    assert [(each.component, each.issue) for each in faults] == [("container:c3", "container_crash")]


def test_nothing_is_taken_out_of_use_before_the_verdict_has_stood() -> None:
    def dead(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(loss=1.0) if second > 30 and endpoint(3, 1) in (src, dst) else WELL

    messages = [fabric_map(), endpoint_map(), *probe_results(70, dead), *health(70)]
    sent = [each for each in incidents(run(by_time(messages))) if each.component == "rnic:h3/mlx5_1"]
    assert sent[0].action.kind == "none"
    asked = next(each for each in sent if each.action.kind == "quarantine")
    assert asked.t_us - sent[0].t_us >= STEADY_US


@pytest.mark.parametrize(
    ("confidence", "stood_us", "slow", "kind"),
    [
        (0.95, 0, False, "quarantine"),
        (0.85, STEADY_US - 1, False, "none"),
        (0.85, STEADY_US, False, "quarantine"),
        (0.95, STEADY_US, True, "none"),
        (0.85, SLOW_STEADY_US, True, "quarantine"),
        (0.45, SLOW_STEADY_US, False, "none"),
    ],
)
def test_when_a_quarantine_is_asked_for(confidence: float, stood_us: int, slow: bool, kind: str) -> None:
    action = Action(kind="quarantine", target="rnic:h3/mlx5_1", why="test")
    assert held_back(action, confidence, stood_us, slow).kind == kind


def test_a_dying_switch_is_one_incident_also_for_pairs_whose_replies_alone_meet_it() -> None:
    def effect(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        there = any(link.startswith("u-") and link.endswith("-0") for link in path)
        back = len(path) > 2 and (int(src[1]) * 3 + int(dst[1])) // 2 % 2 == 0
        return Suffers(loss=1.0) if 30 < second <= 36 and (there or back) else WELL

    (incident,) = told(60, effect, health(60), queues(60))
    assert (incident.kind, incident.component) == ("network_fault", "switch:spine-0")


@pytest.mark.parametrize("loss", [0.02, 0.2, 1.0])
def test_an_agent_that_dies_and_comes_back_while_a_link_loses_leaves_the_blame_with_the_link(loss: float) -> None:
    def both(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        if 60 < second <= 110 and "c3/" in src:
            return Suffers(silent=True)
        if 60 < second <= 110 and "c3/" in dst:
            return Suffers(loss=1.0)
        return Suffers(loss=loss) if second > 30 and "u-1-0-0" in path else WELL

    beats = [m for m in health(160) if m.agent != "c3" or not 60 < (m.t_us - BEGIN_US) / SECOND_US <= 110]
    found = told(160, both, beats)
    assert [(incident.kind, incident.component) for incident in found] == [
        ("network_fault", "link:u-1-0-0"),
        ("agent_missing", "agent:c3"),
    ]
    assert found[0].symptom == ("packet_loss" if loss < 1.0 else "unconnectivity")


def test_of_two_parts_that_no_train_tells_apart_the_one_that_another_pass_speaks_against_is_blamed() -> None:
    clue = Clue("link:u-1-0-0", 10.0, "network_fault", None, "underlay", "losses")
    equal = clue._replace(component="link:u-1-0-1")
    warned = equal._replace(nats=4.0, issue="crc_error", layer="host", source="devices")
    first, second = heap_up(Topology(), [clue, equal, warned], slow=False, pairs=())
    assert [heap.clues[0].component for heap in (first, second)] == ["link:u-1-0-1", "link:u-1-0-0"]
    assert first.nats > second.nats


def test_errors_that_nobody_counted_are_no_second_kind_of_evidence() -> None:
    def corrupted(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(loss=0.03) if second > 30 and dst == endpoint(7, 0) else WELL

    (incident,) = told(70, corrupted, queues(70, lambda port, second: 0))
    assert (incident.component, incident.issue) == ("link:a7-0", "crc_error")
    assert incident.confidence <= 1.0 - LAPSES[0]


def test_an_agent_that_dies_while_another_host_turns_slow_is_not_mixed_up_with_it() -> None:
    def both(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        if second > 60 and "c3/" in src:
            return Suffers(silent=True)
        if second > 60 and "c3/" in dst:
            return Suffers(loss=1.0)
        return Suffers(rtt=8.0) if second > 60 and "c5/" in src + dst else WELL

    found = told(110, both, health(110, dead={3: 60}))
    assert sorted((incident.kind, incident.component) for incident in found) == [
        ("agent_missing", "agent:c3"),
        ("network_fault", "host:h5"),
    ]


def test_what_most_pairs_have_an_agent_in_common_for_waits_until_that_has_shown_that_it_lives() -> None:
    """Whatever the first second blames, a switch on the way or the host: it may be the agent."""
    store, onset_us = new_evidence("f", LocalizationParameters()), BEGIN_US + 10 * SECOND_US
    everybody = {endpoint(host, 0) for host in range(4)}
    for second in range(11):
        store.sources.hear(everybody, BEGIN_US + second * SECOND_US)
    case = Case("c", onset_us, onset_us)
    for number, host in enumerate((1, 2, 3)):
        case.take(anomaly(number, endpoint(0, 0), endpoint(host, 0), onset_us))
    for second in (12, 13):
        store.sources.hear(everybody - {endpoint(0, 0)}, BEGIN_US + second * SECOND_US)
    lives_us = lives_from_us(onset_us, onset_us + 3 * SECOND_US, False)
    assert rests_on_one_agent(case, store, lives_us)
    case.take(anomaly(3, endpoint(1, 0), endpoint(2, 0), onset_us))
    assert not rests_on_one_agent(case, store, lives_us)
    del case.anomalies["a3"]
    store.sources.hear({endpoint(0, 0)}, BEGIN_US + 14 * SECOND_US)
    assert not rests_on_one_agent(case, store, lives_us)
