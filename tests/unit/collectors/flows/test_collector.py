"""Snapshots as differences, bounds, and the whole way from commands to an incident that blames the virtual switch."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.commands import run
from collectors.flows.collector import MOST_ROWS, FlowBounds, FlowCollector, FlowSources
from collectors.flows.known import Surroundings
from collectors.flows.snapshots import History, Policy
from collectors.observing import Collector, Now, Observed
from localization.flows import Table
from schemas.probing import ProbePlan
from schemas.telemetry import FlowEntry, FlowTables
from tests import small_fabric
from tests.small_fabric import BEGIN_US, Suffers, envelope, fabric_map, health, last_words, probe_results
from tests.unit.collectors.flows.dumps import TUNNELS, into_tunnel, line, out_of_tunnel, roce, text

CHECKOUT = Path(__file__).parents[4]
NOW = Now(t_us=BEGIN_US, mono_us=1)
UFID = "11111111-0000-4000-8000-000000000004"
LARGE = Policy(small=0, whole_every=4)


def row(flow: str, packets: int = 1, **further: object) -> FlowEntry:
    fields = {"flow": flow, "at": "vswitch:h", "next": "tunnel:h", "src": None, "dst": None, "packets": packets}
    return FlowEntry(**fields | further)  # type: ignore[arg-type]


def test_small_tables_are_always_whole() -> None:
    history = History(Policy(small=2))
    for _ in range(3):
        diff = history.step([row("a"), row("b")], False, False)
        assert diff is not None and diff.complete and len(diff.rows) == 2


def test_large_tables_send_what_has_changed() -> None:
    history = History(LARGE)
    first = history.step([row("a"), row("b")], False, False)
    assert first is not None and first.complete
    assert history.step([row("a", 2), row("b", 2)], False, False) is None, "counters that grow are no change"
    changed = history.step([row("a", 3), row("b", 3, next=None)], False, False)
    assert changed is not None and not changed.complete and [each.flow for each in changed.rows] == ["b"]
    anew = history.step([row("a", 1), row("b", 4, next=None)], False, False)
    assert anew is not None and [each.flow for each in anew.rows] == ["a"], "a counter that went down was made anew"


def test_a_vanished_row_a_question_and_the_turn_make_it_whole() -> None:
    history = History(LARGE)
    history.step([row("a"), row("b")], False, False)
    gone = history.step([row("a")], False, False)
    assert gone is not None and gone.complete
    asked = history.step([row("a")], False, True)
    assert asked is not None and asked.complete
    later = [history.step([row("a")], False, False) for _ in range(4)]
    assert [diff is not None and diff.complete for diff in later] == [False, False, False, True]


def test_a_snapshot_that_was_cut_is_never_whole_and_forgets_nothing() -> None:
    history = History(LARGE)
    history.step([row("a"), row("b")], False, False)
    cut = history.step([row("a", next=None)], True, True)
    assert cut is not None and not cut.complete
    assert history.step([row("a", next=None), row("b")], False, False) is None, "b was known all along"


@given(st.lists(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["x", "y", None]), min_size=1), max_size=20))
def test_a_reader_of_differences_knows_what_a_reader_of_all_knows(snapshots: list[dict[str, str | None]]) -> None:
    history, seen = History(LARGE), {}
    for snapshot in snapshots:
        diff = history.step([row(flow, next=after) for flow, after in snapshot.items()], False, False)
        if diff is not None:
            seen = {} if diff.complete else seen
            seen |= {each.flow: each.next for each in diff.rows}
        assert seen == snapshot


def surroundings(host: str = "h1") -> Surroundings:
    known = Surroundings(host, TUNNELS)
    known.take_map(named_map())
    return known


def named_map() -> object:
    """The small fabric's endpoints with an interface each: h0's RNIC 0 is v0-0."""
    found = small_fabric.endpoint_map()
    named = [msgspec.structs.replace(each, vif=f"v{each.host[1:]}-{each.rail}") for each in found.endpoints]
    return msgspec.structs.replace(found, endpoints=tuple(named))


def script(folder: Path, text: str) -> tuple[str, ...]:
    path = folder / "dump.txt"
    path.write_text(text)
    return "cat", str(path)


def collect(collector: FlowCollector, second: float = 0.0) -> list[Observed]:
    moved_us = round(second * 1e6)
    return list(collector.collect(Now(t_us=NOW.t_us + moved_us, mono_us=NOW.mono_us + moved_us)))


def messages(facts: list[Observed], second: float, first_seq: int) -> list[FlowTables]:
    """Facts as the agent sends them."""
    return [
        msgspec.convert(
            msgspec.to_builtins(envelope(f"agent:h0/{fact.stream}", second, first_seq)) | fact.fields, FlowTables
        )
        for fact in facts
    ]


def test_tables_of_the_switch_and_the_cards_go_out_together(tmp_path: Path) -> None:
    dump = line(roce("v1-0", "10.0.1.0", "10.0.2.0"), into_tunnel("198.51.100.2"), ufid="aaaaaaaa")
    (tmp_path / "cards").write_text(json.dumps({"rnic": "mlx5_0", "flow": "aaaaaaaa", "packets": 3}))
    sources = FlowSources(ovs=script(tmp_path, dump), cards=("cat", str(tmp_path / "cards")))
    facts = collect(FlowCollector(surroundings(), sources))
    found = {(fact.stream, fact.fields["complete"], len(fact.fields["flows"])) for fact in facts}
    assert found == {("flow-tables", True, 3), ("flow-tables/mlx5_0", True, 1), ("flow-tables/mlx5_1", True, 0)}
    assert [each.table for each in messages(facts, 1.0, 1)] == ["vswitch", "rnic", "rnic"]
    assert all(fact.t_us == NOW.t_us and fact.topic == "flow-tables" for fact in facts)


def test_tables_are_read_when_it_is_time_or_an_anomaly_asks(tmp_path: Path) -> None:
    dump = line(roce("v1-0", "10.0.1.0", "10.0.2.0"), into_tunnel("198.51.100.2"))
    collector = FlowCollector(surroundings(), FlowSources(ovs=script(tmp_path, dump)), 10.0, policy=LARGE)
    assert isinstance(collector, Collector) and collector.period_s == 1.0
    assert collect(collector) and not collect(collector, 1.0) and not collect(collector, 9.4)
    assert not collect(collector, 10.0), "it was read, but nothing has changed"
    collector.take_map(small_fabric.endpoint_map(version=2, state="ended"))
    collector.take_map(named_map())
    collector.demand()
    (whole,) = collect(collector, 11.0)
    assert whole.fields["complete"] is True and not collect(collector, 12.0)


def test_maps_and_plans_say_whose_tables_they_are() -> None:
    known = Surroundings("h1")
    assert known().jobs == {} and known() is known()
    known.take_map(small_fabric.endpoint_map())
    assert list(known().jobs) == ["j"] and known().peers == frozenset()
    known.take_plan(plan())
    assert known().peers == {("c1/mlx5_0", "c2/mlx5_0"), ("c2/mlx5_0", "c1/mlx5_0")}
    known.take_map(small_fabric.endpoint_map(version=2, state="ended"))
    assert known().jobs == {} and known().peers == frozenset()


def plan() -> ProbePlan:
    example = CHECKOUT / "schemas" / "examples" / "probe-plans" / "typical.valid.json"
    fields = json.loads(example.read_text())["value"]
    return msgspec.convert(fields | {"job": "j", "slots": [[["c1/mlx5_0", "c2/mlx5_0", 50_000]], []]}, ProbePlan)


def test_a_dump_without_marks_is_compared_with_the_list_of_offloaded_flows(tmp_path: Path) -> None:
    plain = line(roce("v1-0", "10.0.1.0", "10.0.2.0"), into_tunnel("198.51.100.2"), marks="")
    sources = FlowSources(ovs=script(tmp_path, plain), ovs_offloaded=("echo", "none"))
    flows = collect(FlowCollector(surroundings(), sources))[0].fields["flows"]
    assert {(flow["offloaded"], flow["path"]) for flow in flows} == {(False, "software")}


@pytest.mark.parametrize(
    ("bounds", "word"),
    [(FlowBounds(max_flows=3), "flows"), (FlowBounds(max_bytes=700), "bytes"), (FlowBounds(timeout_s=0.2), "time")],
)
def test_a_dump_that_is_cut_says_so(tmp_path: Path, bounds: FlowBounds, word: str) -> None:
    dump = "\n".join(line(roce("v1-0", "10.0.1.0", f"10.0.{n}.0"), into_tunnel("198.51.100.2")) for n in range(2, 7))
    command = script(tmp_path, dump + "\n")
    if word == "time":
        command = ("sh", "-c", f"cat {command[1]}; exec tail -f /dev/null")
    collector = FlowCollector(surroundings(), FlowSources(ovs=command, ovs_offloaded=None), bounds=bounds)
    (fact,) = collect(collector)
    assert fact.fields["complete"] is False and fact.fields["truncated"] == word
    assert messages([fact], 1.0, 1)[0].truncated == word
    assert fact.fields["flows"], "what was read is told"


def test_a_large_table_takes_several_messages_and_the_last_one_is_whole(tmp_path: Path) -> None:
    dump = "\n".join(line(roce("v1-0", "10.0.1.0", f"10.9.{n // 250}.{n % 250}"), "7") for n in range(MOST_ROWS + 5))
    sources = FlowSources(ovs=script(tmp_path, dump))
    facts = collect(FlowCollector(surroundings(), sources))
    assert [(len(fact.fields["flows"]), fact.fields["complete"]) for fact in facts] == [(MOST_ROWS, False), (5, True)]
    table = Table()
    for message in messages(facts, 9.0, 1):
        table.take(message)
    assert len(table.rows) == MOST_ROWS + 5 and all(each.present for each in table.rows.values())


def test_a_tc_whose_json_is_none_is_asked_for_text(tmp_path: Path) -> None:
    """Older releases print ``police`` as text in the midst of their JSON, and those of today u32 filters."""
    (tmp_path / "json").write_text(
        '[{"protocol":"ip","pref":4,"kind":"flower","chain":0,"options":{"handle":1,"keys":{"eth_type":"ipv4"},'
        '"skip_sw":true,"in_hw":true,"actions":[{"order":1 police 0x1 rate 8Kbit burst 100b mtu 2Kb '
        ',"control_action":{"type":"drop"} overhead 0b \n\tref 1 bind 1,"installed":165686\n}]}}]'
    )
    (tmp_path / "text").write_text(text("tc_filters.txt"))
    tc = tmp_path / "tc"
    tc.write_text(f'#!/bin/sh\ncase "$*" in *-j*) cat {tmp_path}/json;; *) cat {tmp_path}/text;; esac\n')
    tc.chmod(0o755)
    dump = line(roce("v1-0", "10.0.1.0", "10.0.2.0"), into_tunnel("198.51.100.2"), ufid=UFID)
    told = FlowSources(ovs=script(tmp_path, dump), devices=("vf0_rep",), tc=(str(tc), "-s", "-j", "filter", "show"))
    cards = [fact for fact in collect(FlowCollector(surroundings(), told)) if fact.fields["table"] == "rnic"]
    assert [flow["flow"] for fact in cards for flow in fact.fields["flows"]] == [UFID]
    no_text = FlowSources(ovs=None, devices=("vf0_rep",), tc=("cat", f"{tmp_path}/json"))
    with pytest.raises(ValueError, match="tc's filters of vf0_rep: not JSON"):
        collect(FlowCollector(surroundings(), no_text))


def test_a_host_without_a_virtual_switch_tells_nothing_of_one(tmp_path: Path) -> None:
    (tmp_path / "cards").write_text("")
    facts = collect(FlowCollector(surroundings(), FlowSources(ovs=None, cards=("cat", str(tmp_path / "cards")))))
    assert [fact.fields["table"] for fact in facts] == ["rnic", "rnic"]


def test_a_command_that_closes_its_output_and_goes_on_is_stopped() -> None:
    output = run(("sh", "-c", "echo all; exec tail -f /dev/null >/dev/null 2>&1"), timeout_s=0.3)
    assert (output.text, output.cut) == ("all\n", "time")


def test_a_command_that_fails_is_a_failure_of_the_part() -> None:
    collector = FlowCollector(surroundings(), FlowSources(ovs=("sh", "-c", "echo no switch >&2; exit 1")))
    with pytest.raises(OSError, match="status 1: no switch"):
        collect(collector)
    with pytest.raises(OSError, match="No such file"):
        collect(FlowCollector(surroundings(), FlowSources(ovs=("no-such-program",))))


def test_commands_are_cut_at_whole_lines() -> None:
    output = run(("printf", "one\\ntwo\\nthree"), max_bytes=9)
    assert (output.text, output.cut) == ("one\ntwo\n", "bytes")
    assert run(("printf", "one\\ntwo")).text == "one\ntwo"
    with pytest.raises(ValueError, match="at least the name"):
        run(())


DROPS_FROM = 40


def dump_of_h0(second: int) -> str:
    """What h0's virtual switch holds: from ``DROPS_FROM`` on a rule drops what leaves v0-0."""
    lines = []
    for rail in (0, 1):
        for peer in (1, 2, 4, 5):
            own, other = f"10.0.0.{rail}", f"10.0.{peer}.{rail}"
            outer = f"198.51.100.{peer}"
            actions, marks = into_tunnel(outer), "offloaded:yes, dp:tc"
            if rail == 0 and second >= DROPS_FROM:
                actions, marks = "drop", "dp:ovs"
            lines.append(line(roce(f"v0-{rail}", own, other), actions, marks, packets=second * 100))
        for peer in (7, 6, 4, 3):
            own, other = f"10.0.0.{rail}", f"10.0.{peer}.{rail}"
            arriving = out_of_tunnel(f"198.51.100.{peer}", other, own)
            lines.append(line(arriving, f"v0-{rail}", packets=second * 100))
    return "\n".join(lines) + "\n"


def test_a_drop_rule_in_a_dump_becomes_an_incident_that_blames_this_virtual_switch(tmp_path: Path) -> None:
    known = Surroundings("h0", {f"198.51.100.{n}": f"h{n}" for n in range(8)})
    known.take_map(named_map())  # type: ignore[arg-type]
    path = tmp_path / "dump.txt"
    collector = FlowCollector(known, FlowSources(ovs=("cat", str(path))), 1.0)
    tables: list[FlowTables] = []
    for number, second in enumerate([*range(4, 41, 5), 41, *range(44, 100, 5)]):
        path.write_text(dump_of_h0(second))
        tables += messages(collect(collector, second), float(second), number)

    def suffers(second: int, src: str, dst: str, links: tuple[str, ...]) -> Suffers:
        gone = second >= DROPS_FROM and "c0/mlx5_0" in (src, dst)
        return Suffers(loss=1.0 if gone else 0.0)

    sent = small_fabric.run(
        small_fabric.by_time(
            [fabric_map(), named_map(), *probe_results(100, suffers), *health(100), *tables]  # type: ignore[list-item]
        )
    )
    blamed = [incident for incident in last_words(sent) if incident.kind == "network_fault"]
    assert [incident.component for incident in blamed] == ["vswitch:h0"]
    overlay = next(step for step in blamed[0].trace if step.pass_ == "overlay")
    assert overlay.verdict == "suspect" and any(test.result == "dropped" for test in overlay.tests)
