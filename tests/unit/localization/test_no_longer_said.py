"""What devices and agents no longer say: cards that do not answer, switches whose telemetry ends, streams that stop."""

from __future__ import annotations

import msgspec
import pytest

from localization.grouping import _loses_more
from schemas.diagnosis import Incident, Observed
from schemas.envelope import Message
from schemas.instants import SECOND_US
from schemas.reporting import ReportingGaps, SilentStream, UnreadRnic
from schemas.telemetry import AgentHealth, FlowTables
from tests.anomalies import anomaly
from tests.small_fabric import (
    BEGIN_US,
    WELL,
    Suffers,
    by_time,
    endpoint,
    endpoint_map,
    envelope,
    event,
    fabric_map,
    health,
    incidents,
    last_words,
    leaf,
    newest,
    probe_results,
    queues,
    run,
    told,
)

DEAD, OTHER = endpoint(7, 0), endpoint(6, 0)
LEAF = leaf(7, 0)


def cut_off(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
    return Suffers(loss=1.0) if second > 30 and DEAD in (src, dst) else WELL


def gaps(second: float, silent: tuple[str, ...] = (), unread: tuple[str, ...] = ()) -> ReportingGaps:
    """What the skeleton stage says: containers whose counters are silent since second 30, cards unread since 31."""
    streams = tuple(
        SilentStream(
            topic="rnic-counters",
            producer=f"agent:h{container[1:]}/rnic-counters.{container}",
            container=container,
            host=f"h{container[1:]}",
            last_us=BEGIN_US + 30 * SECOND_US,
            usual_us=5 * SECOND_US,
        )
        for container in silent
    )
    cards = tuple(UnreadRnic(endpoint=name, since_us=BEGIN_US + 31 * SECOND_US) for name in unread)
    body = envelope("skeleton:j", second, round(second)) | {"job": "j", "tenant": None}
    return ReportingGaps(**body, regular={"rnic-counters": 8}, silent=streams, unread=cards)  # type: ignore[arg-type]


def dumps(seconds: int, hidden: str | None = None) -> list[FlowTables]:
    """Empty tables of host 7 every 5 s; ``hidden``: the card that shows none from second 30 on."""
    found: list[FlowTables] = []
    for second in range(3, seconds, 5):
        for part, rnic in enumerate((None, "mlx5_0", "mlx5_1")):
            if rnic is None or rnic != hidden or second <= 30:
                body = envelope("agent:h7/flow-tables", second + 0.002 * part, len(found))
                table = "vswitch" if rnic is None else "rnic"
                found.append(FlowTables(**body, host="h7", rnic=rnic, table=table, complete=True, flows=()))
    return found


@pytest.mark.parametrize(
    ("said", "issue"),
    [
        ([], None),
        ([gaps(40.0, unread=(DEAD,))], "rnic_hardware_failure"),
        (dumps(60, hidden="mlx5_0"), "rnic_hardware_failure"),
        (dumps(60), None),
    ],
)
def test_a_card_that_no_longer_answers_its_host_is_dead(said: list[Message], issue: str | None) -> None:
    (incident,) = told(60, cut_off, said)
    assert (incident.component, incident.issue) == ("rnic:h7/mlx5_0", issue)


def test_a_table_that_was_lost_on_the_way_was_not_kept_back_by_its_card() -> None:
    lost = [m for m in dumps(60) if m.rnic != "mlx5_0" or m.t_us // SECOND_US != BEGIN_US // SECOND_US + 33]
    assert len(lost) == len(dumps(60)) - 1
    (incident,) = told(60, cut_off, lost)
    assert (incident.component, incident.issue) == ("rnic:h7/mlx5_0", None)


def test_a_far_port_that_complains_means_the_cards_port_if_the_card_answers() -> None:
    port = next(
        link.a if link.a.startswith(LEAF) else link.b for link in fabric_map().links if "h7/mlx5_0" in link.a + link.b
    )
    warned = [event(31.0, f"port:{port}", "port_down", fault="remote")]
    for said, issue in ((dumps(60, hidden="mlx5_0"), "rnic_hardware_failure"), (dumps(60), "rnic_port_down")):
        (incident,) = told(60, cut_off, warned, said)
        assert (incident.component, incident.issue) == ("rnic:h7/mlx5_0", issue)


def test_a_card_that_was_dead_and_answers_once_it_is_well_again_was_dead() -> None:
    def for_a_while(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return cut_off(second, src, dst, path) if second <= 54 else WELL

    port = next(
        link.a if link.a.startswith(LEAF) else link.b for link in fabric_map().links if "h7/mlx5_0" in link.a + link.b
    )
    dead = [m for m in dumps(50, hidden="mlx5_0")] + [m for m in dumps(70) if m.t_us > BEGIN_US + 50 * SECOND_US]
    (incident,) = told(70, for_a_while, [event(33.0, f"port:{port}", "port_down", fault="remote")], dead)
    assert (incident.component, incident.issue) == ("rnic:h7/mlx5_0", "rnic_hardware_failure")


def test_what_is_left_of_a_cut_off_card_of_which_nobody_complains_is_its_bond() -> None:
    heard = [event(5.0, "host:h1", "unknown")]
    (incident,) = told(60, cut_off, dumps(60), heard, agents_with_gids(60))
    assert (incident.component, incident.issue) == ("rnic:h7/mlx5_0", "bond_error")


@pytest.mark.parametrize(("watched", "issue"), [("rnic:h7/mlx5_0", "bond_error"), ("rnic:h7/mlx5_1", None)])
def test_silence_counts_of_a_card_that_an_agent_says_it_watches(watched: str, issue: str | None) -> None:
    heartbeats: list[Message] = []
    for second in range(3, 60, 5):
        body = envelope("agent:h7/agent-health", float(second), len(heartbeats))
        beat = AgentHealth(**body, agent="h7", host="h7", covers=(), state="ok", watches=(watched,))
        heartbeats.append(beat)
    (incident,) = told(60, cut_off, dumps(60), agents_with_gids(60), heartbeats)
    assert (incident.component, incident.issue) == ("rnic:h7/mlx5_0", issue)
    (link,) = [each.id for each in fabric_map().links if "h7/mlx5_0" in each.a + each.b]
    assert incident.action.target == f"link:{link}"  # right whichever end it is


def test_a_gid_that_is_as_it_was_again_before_all_is_well_was_the_reason() -> None:
    heartbeats = agents_with_gids(90)
    for at, beat in enumerate(heartbeats):
        if BEGIN_US + 32 * SECOND_US < beat.t_us < BEGIN_US + 60 * SECOND_US:
            moved = {name: "fe80::9" if name == endpoint(7, 0) else gid for name, gid in beat.gids.items()}  # type: ignore[attr-defined]
            heartbeats[at] = msgspec.structs.replace(beat, gids=moved)  # type: ignore[call-arg]
    (incident,) = told(90, cut_off, dumps(90), [event(5.0, "host:h1", "unknown")], heartbeats)
    assert (incident.component, incident.issue) == ("rnic:h7/mlx5_0", "gid_change")


def agents_with_gids(seconds: int) -> list[Message]:
    import msgspec

    listed = {e.endpoint: e.gid for e in endpoint_map().endpoints}
    return [msgspec.structs.replace(m, gids={name: listed[name] for name in m.covers}) for m in health(seconds)]


def one_behind_the_leaf(*more: list[Message]) -> list[Incident]:
    """Endpoint 6 does not take part, so that leaf carries the probes of one card only."""
    import msgspec

    results = [
        msgspec.structs.replace(m, results=tuple(r for r in m.results if r.dst != OTHER))
        for m in probe_results(60, cut_off)
        if m.src != OTHER
    ]
    messages: list[Message] = [fabric_map(), endpoint_map(), *results]
    return last_words(run(by_time([*messages, *(m for part in more for m in part)])))


def test_a_switch_that_only_one_card_is_probed_through_is_told_by_what_it_says_or_no_longer_says() -> None:
    every = queues(60)
    some = [m for m in every if m.switch != LEAF or m.t_us <= BEGIN_US + 31 * SECOND_US]
    (card,) = one_behind_the_leaf(list(every))
    assert card.component == "rnic:h7/mlx5_0"
    assert f"switch:{LEAF}" in [each.component for each in card.candidates]
    (switch,) = one_behind_the_leaf(list(some), [event(32.0, f"switch:{LEAF}", "switch_unreachable")])
    assert (switch.component, switch.issue) == (f"switch:{LEAF}", "switch_offline")
    assert switch.action.target == f"switch:{LEAF}"


def test_telemetry_that_ends_with_a_switch_is_no_gap_while_a_card_beneath_it_is_still_blamed() -> None:
    some = [m for m in queues(60) if m.switch != LEAF or m.t_us <= BEGIN_US + 31 * SECOND_US]
    assert [each.kind for each in one_behind_the_leaf(list(some))] == ["network_fault"]


def troubles(*said: ReportingGaps, effect: object = None) -> list[Incident]:
    messages: list[Message] = [fabric_map(), endpoint_map(), *health(70), *said]
    messages += probe_results(70, effect or (lambda *_: WELL))  # type: ignore[arg-type]
    return newest(incidents(run(by_time(messages))))


def test_streams_that_only_the_skeleton_stage_hears_are_missed_and_come_back() -> None:
    (gap,) = troubles(gaps(46.0, silent=("c1",)))
    assert (gap.kind, gap.component, gap.state) == ("collector_gap", "agent:h1", "open")
    assert set(gap.endpoints) == {endpoint(1, 0), endpoint(1, 1)}
    (gap,) = troubles(gaps(46.0, silent=("c1",)), gaps(50.0))
    assert gap.state == "resolved"


def test_a_topic_of_which_most_streams_stop_has_one_gap() -> None:
    (gap,) = troubles(gaps(46.0, silent=tuple(f"c{host}" for host in range(8))))
    assert (gap.kind, gap.component) == ("collector_gap", None)


def test_a_container_that_left_or_no_longer_probes_is_not_missed() -> None:
    assert troubles(gaps(46.0, silent=("c9",))) == []
    stops = troubles(gaps(46.0, silent=("c1",)), effect=lambda s, src, *_: Suffers(silent=s > 30 and "c1/" in src))
    assert [each for each in stops if "counters" in str(each.trace)] == []


@pytest.mark.parametrize(
    ("lost", "sent", "more"), [(0.01, 200, False), (0.03, 200, False), (0.1, 200, True), (0.02, None, True)]
)
def test_a_second_that_happens_to_lose_more_does_not_make_another_cause(
    lost: float, sent: int | None, more: bool
) -> None:
    seen = Observed(loss=lost, sent=sent)
    lossy = msgspec.structs.replace(anomaly(1, DEAD, OTHER, BEGIN_US), symptom="packet_loss", observed=seen)
    assert _loses_more(lossy, 0.0033) is more
