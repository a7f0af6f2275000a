"""What the driver (tc) and adapters say that the cards hold."""

from __future__ import annotations

import json

import pytest

from collectors.flows.chains import chains
from collectors.flows.datapath import parse_dump
from collectors.flows.matching import address
from collectors.flows.rnic import card_rows, held_by_driver, parse_cards
from collectors.flows.tc import TcFlow, parse_filters, ufid_of_cookie
from tests.unit.collectors.flows.dumps import into_tunnel, line, out_of_tunnel, resolver, roce, text

UFID = "11111111-0000-4000-8000-000000000004"


@pytest.mark.parametrize("name", ["tc_filters.json", "tc_filters.txt"])
def test_both_forms_of_tc_say_the_same(name: str) -> None:
    held, other = parse_filters(text(name), "vf0_rep")
    assert (held.ufid, held.flow, held.in_hw, held.path) == (UFID, UFID, True, "hardware")
    assert (held.packets, held.bytes, held.idle_s) == (42, 4200, 1.0)
    assert (held.match.src, held.match.dst) == (address("10.0.1.5"), address("10.0.0.9"))
    assert (held.match.protocol, held.match.udp_dst, held.match.eth_type) == (17, 4791, 0x0800)
    assert [(way.port, way.tunnel_dst, way.tunnel_id) for way in held.deed.ways] == [
        ("genev_sys_6081", address("198.51.100.2"), 7)
    ]
    assert (other.in_hw, other.deed.drops, other.path, other.flow) == (False, True, None, "tc-vf0_rep-3-0-2")


def test_packets_in_software_speak_louder_than_the_flag() -> None:
    older = parse_filters(text("tc_filters.txt").replace(" chain 0", ""), "vf0_rep")
    assert older == parse_filters(text("tc_filters.txt"), "vf0_rep"), "iproute2 before 4.13 tells no chain"
    text_form = text("tc_filters.txt").replace("Sent software 0 bytes 0 pkt", "Sent software 9000 bytes 90 pkt")
    held = parse_filters(text_form, "vf0_rep")[0]
    assert held.in_hw is True and held.path == "software"


def test_a_protocol_that_was_asked_for_is_not_printed() -> None:
    asked = parse_filters(text("tc_filters.txt").replace(" protocol ip ", " "), "vf0_rep")
    told = parse_filters(text("tc_filters.txt"), "vf0_rep")
    assert [(one.flow, one.match, one.deed) for one in asked] == [(one.flow, one.match, one.deed) for one in told]


def test_a_kernel_that_tells_of_no_hardware_proves_nothing() -> None:
    """Before 4.13 there was neither ``in_hw`` nor ``not_in_hw``."""
    dump = chains(parse_dump(line(roce("vf0_rep"), into_tunnel("198.51.100.2"), ufid=UFID))[0])
    for words, held in (("in_hw", True), ("not_in_hw", False), ("", None)):
        filters = parse_filters(text("tc_filters.txt").replace("  in_hw", f"  {words}"), "vf0_rep")
        (flow,) = held_by_driver(dump, filters, resolver())
        assert flow.in_hw is held


def test_a_list_that_is_cut_off_is_refused() -> None:
    with pytest.raises(ValueError, match="tc's filters of vf0_rep: not JSON"):
        parse_filters(text("tc_filters.json")[:200], "vf0_rep")
    assert parse_filters("[]", "vf0_rep") == parse_filters("", "vf0_rep") == []


def test_cookies_of_others_are_no_ids() -> None:
    assert ufid_of_cookie("00" * 16) == "00000000-0000-0000-0000-000000000000"
    assert ufid_of_cookie("abcd") is None and ufid_of_cookie("zz" * 16) is None


def linked(dump: str) -> list:
    return chains(parse_dump(dump)[0])


def test_the_driver_holds_a_chain_only_if_it_holds_each_stage() -> None:
    dump = "\n".join(
        (
            line(roce("vf0_rep"), "ct(zone=1),recirc(0x9)", ufid="aaaaaaaa"),
            line(roce("vf0_rep", recirc="0x9"), into_tunnel("198.51.100.2"), ufid="bbbbbbbb"),
        )
    )
    known, both = resolver(), [_held("aaaaaaaa", True), _held("bbbbbbbb", True)]
    found = card_rows(held_by_driver(linked(dump), both, known), linked(dump), known)["mlx5_0"]
    assert [(row.flow, row.at, row.next, row.offloaded, row.path) for row in found] == [
        ("aaaaaaaa+bbbbbbbb", "rnic:h1/mlx5_0", "rnic:h2/mlx5_0", True, "hardware")
    ]
    half = [_held("aaaaaaaa", True), _held("bbbbbbbb", False)]
    found = card_rows(held_by_driver(linked(dump), half, known), linked(dump), known)["mlx5_0"]
    assert [(row.offloaded, row.path) for row in found] == [(False, "software")]
    found = card_rows(held_by_driver(linked(dump), both[:1], known), linked(dump), known)
    assert found == {"mlx5_0": []}, "a card that holds nothing has a table all the same"


def _held(ufid: str, in_hw: bool) -> TcFlow:
    like = parse_filters(text("tc_filters.json"), "vf0_rep")[0]
    return TcFlow(**{name: getattr(like, name) for name in like.__struct_fields__} | {"ufid": ufid, "in_hw": in_hw})


def test_an_adapter_needs_ids_only_where_the_virtual_switch_knows_the_flow() -> None:
    dump = line(roce("vf0_rep"), into_tunnel("198.51.100.2"), ufid=UFID)
    lines = "\n".join((json.dumps({"rnic": "mlx5_0", "flow": UFID, "packets": 5}), '{"complete": true}', ""))
    told = parse_cards(lines)
    assert told.complete and told.refused == 0
    found = card_rows(told.flows, linked(dump), resolver())["mlx5_0"]
    assert [(row.src, row.dst, row.next) for row in found] == [("c1/mlx5_0", "c2/mlx5_0", "rnic:h2/mlx5_0")]


def test_an_adapter_that_tells_addresses_is_resolved_by_them() -> None:
    out = {"rnic": "mlx5_0", "flow": "7", "src": "10.0.1.5", "dst": "10.0.0.9", "tunnel": "198.51.100.3"}
    dropped = {"rnic": "mlx5_0", "flow": "8", "src": "10.0.1.5", "dst": "10.0.0.9", "drop": True}
    nobody = {"rnic": "mlx5_0", "flow": "9", "src": "192.0.2.1"}
    told = parse_cards("\n".join(json.dumps(each) for each in (out, dropped, nobody)))
    found = card_rows(told.flows, [], resolver())["mlx5_0"]
    assert [(row.dst, row.next) for row in found] == [
        ("c2/mlx5_0", "rnic:h3/mlx5_0"),
        ("c2/mlx5_0", None),
        (None, "rnic:unknown"),
    ]


def test_a_card_hands_what_arrives_to_the_tunnel() -> None:
    dump = line(out_of_tunnel("198.51.100.2", "10.0.0.9", "10.0.1.5"), "vf0_rep", ufid=UFID)
    told = parse_cards(json.dumps({"rnic": "mlx5_0", "flow": UFID}))
    assert [row.next for row in card_rows(told.flows, linked(dump), resolver())["mlx5_0"]] == ["tunnel:h1"]


def test_a_wildcarded_flow_of_a_card_is_held_for_each_of_its_pairs() -> None:
    wild = line("recirc_id(0),in_port(vf0_rep),eth_type(0x0800)", "drop", ufid=UFID)
    told = parse_cards(json.dumps({"rnic": "mlx5_0", "flow": UFID, "drop": True}))
    found = card_rows(told.flows, linked(wild), resolver())["mlx5_0"]
    assert [(row.flow, row.dst) for row in found] == [
        (f"{UFID}>c2/mlx5_0", "c2/mlx5_0"),
        (f"{UFID}>c3/mlx5_0", "c3/mlx5_0"),
    ]


@pytest.mark.parametrize(
    "line_",
    ["no json", '{"rnic": "mlx5_0"}', '{"rnic": "", "flow": "1"}', '{"rnic": "m", "flow": "1", "packets": -1}', "[1]"],
)
def test_lines_that_are_no_flow_are_counted_and_make_the_dump_a_part(line_: str) -> None:
    told = parse_cards(line_)
    assert (told.flows, told.complete, told.refused) == ((), False, 1)


def test_an_adapter_may_say_that_there_was_more() -> None:
    assert not parse_cards('{"rnic": "m", "flow": "1"}\n{"complete": false}').complete
