"""Chains of stages, whose they are, and their rows in the schema's words."""

from __future__ import annotations

import pytest

from collectors.flows.chains import chains
from collectors.flows.datapath import parse_dump
from collectors.flows.places import MOST_PAIRS
from collectors.flows.rows import rows_of
from schemas.telemetry import FlowEntry
from tests.unit.collectors.flows.dumps import (
    ENDPOINTS,
    endpoint,
    into_tunnel,
    line,
    out_of_tunnel,
    resolver,
    roce,
    text,
)


def rows(dump: str, *endpoints: object, **further: object) -> list[FlowEntry]:
    known = resolver(*endpoints, **further)  # type: ignore[arg-type]
    return [row for chain in chains(parse_dump(dump)[0]) for row in rows_of(chain, known)]


def hops(found: list[FlowEntry]) -> list[tuple[str, str | None]]:
    return [(row.at, row.next) for row in found]


def test_a_tagged_flow_has_the_rows_of_an_untagged_one() -> None:
    plain = roce("vf0_rep")
    tagged = plain.replace("eth_type(0x0800)", "eth_type(0x8100),vlan(vid=100,pcp=3),encap(eth_type(0x0800)") + ")"
    actions, ufid = f"pop_vlan,{into_tunnel('198.51.100.2')}", "aaaaaaaa-1"
    found = rows(line(tagged, actions, ufid=ufid))
    assert hops(found) == hops(rows(line(plain, actions, ufid=ufid))) and len(found) == 3


def test_a_flow_that_leaves_has_the_whole_chain() -> None:
    found = rows(line(roce("vf0_rep"), into_tunnel("198.51.100.2"), ufid="aaaaaaaa-1"))
    assert hops(found) == [
        ("vif:c1/mlx5_0", "vswitch:h1"),
        ("vswitch:h1", "tunnel:h1"),
        ("tunnel:h1", "rnic:h1/mlx5_0"),
    ]
    assert {(row.flow, row.src, row.dst) for row in found} == {("aaaaaaaa-1", "c1/mlx5_0", "c2/mlx5_0")}
    assert all(row.offloaded is True and row.path == "hardware" and row.packets == 10 for row in found)


def test_a_flow_that_arrives_has_its_half() -> None:
    found = rows(line(out_of_tunnel("198.51.100.2", "10.0.0.9", "10.0.1.5"), "vf0_rep"))
    assert hops(found) == [("tunnel:h1", "vswitch:h1"), ("vswitch:h1", "vif:c1/mlx5_0")]
    assert {(row.src, row.dst) for row in found} == {("c2/mlx5_0", "c1/mlx5_0")}


def test_a_drop_is_a_row_without_a_next_hop_at_the_virtual_switch() -> None:
    found = rows(line(roce("vf0_rep"), "drop", marks="dp:ovs"))
    assert hops(found) == [("vif:c1/mlx5_0", "vswitch:h1"), ("vswitch:h1", None)]
    arriving = rows(line(out_of_tunnel("198.51.100.2", "10.0.0.9", "10.0.1.5"), "drop"))
    assert hops(arriving) == [("tunnel:h1", "vswitch:h1"), ("vswitch:h1", None)]


def test_a_wildcarded_drop_stands_for_all_pairs_of_its_interface() -> None:
    wild = "recirc_id(0),in_port(vf0_rep),eth_type(0x0800),ipv4(proto=17,frag=no),udp(dst=4791)"
    found = rows(line(wild, "drop", ufid="bbbbbbbb"))
    assert {(row.flow, row.dst) for row in found if row.next is None} == {
        ("bbbbbbbb>c2/mlx5_0", "c2/mlx5_0"),
        ("bbbbbbbb>c3/mlx5_0", "c3/mlx5_0"),
    }


def test_a_wildcarded_flow_into_a_tunnel_is_about_the_host_that_it_leads_to() -> None:
    wild = "recirc_id(0),in_port(vf0_rep),eth_type(0x0800),ipv4(tos=0/0x3,frag=no)"
    found = rows(line(wild, into_tunnel("198.51.100.3")))
    assert {(row.src, row.dst) for row in found} == {("c1/mlx5_0", "c3/mlx5_0")}


def test_beyond_a_bound_pairs_that_are_probed_come_first_or_none() -> None:
    many = [endpoint(f"d{n}", f"g{n}", "v", f"10.1.{n}.1") for n in range(MOST_PAIRS + 1)]
    wild = line("recirc_id(0),in_port(vf0_rep),eth_type(0x0800)", "drop")
    assert {(row.src, row.dst) for row in rows(wild, ENDPOINTS[0], *many)} == {("c1/mlx5_0", None)}
    peers = frozenset({("c1/mlx5_0", "d7/mlx5_0")})
    found = rows(wild, ENDPOINTS[0], *many, peers=peers)
    assert {row.dst for row in found} == {"d7/mlx5_0"}


def test_a_tunnel_to_the_wrong_host_is_shown_as_it_is() -> None:
    found = rows(line(roce("vf0_rep"), into_tunnel("198.51.100.3")))
    assert found[-1].at == "tunnel:h1" and found[-1].next == "rnic:h3/mlx5_0" and found[-1].dst == "c2/mlx5_0"


def test_a_flow_to_the_wrong_interface_is_shown_as_it_is() -> None:
    other = endpoint("c4", "h1", "vf4_rep", "10.0.1.6")
    found = rows(line(out_of_tunnel("198.51.100.2", "10.0.0.9", "10.0.1.5"), "vf4_rep"), *ENDPOINTS, other)
    assert hops(found)[-1] == ("vswitch:h1", "vif:c4/mlx5_0") and found[-1].dst == "c1/mlx5_0"


def test_overlay_addresses_that_two_tenants_use_are_told_apart_by_the_interface() -> None:
    stranger = endpoint("x2", "h9", "v", "10.0.0.9")
    own = endpoint("x1", "h1", "vf5_rep", "10.0.1.5")
    jobs = {"j": ENDPOINTS, "k": (own, stranger)}
    dump = line(roce("vf5_rep"), into_tunnel("198.51.100.9"))
    found = rows(dump, jobs=jobs)
    assert {(row.src, row.dst) for row in found} == {("x1/mlx5_0", "x2/mlx5_0")}


def test_numbers_of_ports_are_translated() -> None:
    dump = line(roce("3"), into_tunnel("198.51.100.2", "2"))
    assert {row.src for row in rows(dump)} == {"c1/mlx5_0"}, "the source address alone says it, too"
    wild = line("recirc_id(0),in_port(3),eth_type(0x0800)", into_tunnel("198.51.100.2", "2"))
    assert {row.src for row in rows(wild)} == {None}
    assert {(row.src, row.dst) for row in rows(wild, ports={"3": "vf0_rep"})} == {("c1/mlx5_0", "c2/mlx5_0")}


def test_what_is_no_ip_is_left_out_and_other_ip_stays_without_ends() -> None:
    arp = line("recirc_id(0),in_port(vf0_rep),eth_type(0x0806),arp(sip=10.0.1.5)", "2")
    assert rows(arp) == []
    tcp = rows(line("recirc_id(0),in_port(vf9),eth_type(0x0800),ipv4(proto=6)", "2"))
    assert [(row.src, row.dst, row.next) for row in tcp] == [(None, None, "vswitch:unknown")]


def test_what_other_ports_flood_is_no_pair_s_flow() -> None:
    group = "eth(src=02:00:00:00:00:57,dst=33:33:00:00:00:02),eth_type(0x86dd),ipv6(src=::/::,dst=::/::,proto=0/0)"
    flooded = line(f"recirc_id(0),in_port(va),{group}", "br0,vf0_rep,vb", marks="dp:ovs")
    assert [(row.src, row.dst, row.next) for row in rows(flooded)] == [(None, None, "vif:c1/mlx5_0")]
    wild = line("recirc_id(0),in_port(va),eth_type(0x0800),ipv4(frag=no)", "vf0_rep", marks="dp:ovs")
    assert [(row.src, row.dst) for row in rows(wild)] == [(None, None)], "nothing says that it came from the wire"
    untunnelled = line(roce("uplink", "10.0.0.9", "10.0.1.5"), "vf0_rep")
    assert {(row.src, row.dst) for row in rows(untunnelled)} == {("c2/mlx5_0", "c1/mlx5_0")}
    broadcast = out_of_tunnel("198.51.100.2", "10.0.0.9", "10.0.1.5").replace(
        "eth_type", "eth(dst=ff:ff:ff:ff:ff:ff),eth_type"
    )
    assert {(row.src, row.dst) for row in rows(line(broadcast, "br0,vf0_rep,va"))} == {(None, None)}


def test_a_way_that_is_not_shown_is_no_drop() -> None:
    slow = rows(line(roce("vf0_rep"), "userspace(pid=1,slow_path(action))", marks=""))
    assert hops(slow)[-1] == ("tunnel:h1", "rnic:h1/mlx5_0")
    assert all(row.path == "software" and row.offloaded is False for row in slow)
    opened = rows(line(roce("vf0_rep"), "ct(zone=1),recirc(0x9)"))
    assert all(row.next is not None for row in opened)


STAGES = "\n".join(
    (
        line(roce("vf0_rep"), "ct(zone=1),recirc(0x9)", ufid="aaaaaaaa"),
        line(roce("vf0_rep", recirc="0x9"), into_tunnel("198.51.100.2"), marks="dp:tc", ufid="bbbbbbbb"),
    )
)


def test_one_software_stage_takes_the_whole_chain_through_software() -> None:
    found = rows(STAGES)
    assert {(row.offloaded, row.path) for row in found} == {(False, "software")}
    assert {row.flow for row in found} == {"aaaaaaaa+bbbbbbbb"}
    assert "stage 2 of 2, bbbbbbbb, is in software" in found[1].actions
    healthy = rows(STAGES.replace(" dp:tc, actions:set", " offloaded:yes, dp:tc, actions:set"))
    assert {(row.offloaded, row.path) for row in healthy} == {(True, "hardware")}


def test_the_first_software_stage_of_a_real_shape_is_found_and_unused_ones_prove_nothing() -> None:
    found = chains(parse_dump(text("mixed_offload.txt"))[0])
    by_last = {chain.last.flow[-1]: chain for chain in found}
    assert by_last["2"].offloaded is False and by_last["2"].software_stage() is by_last["2"].last
    assert by_last["3"].offloaded is None and by_last["3"].path is None and by_last["3"].open_end
    assert by_last["4"].offloaded is True and len(by_last["4"].stages) == 1


def test_stages_of_other_ports_and_addresses_do_not_follow() -> None:
    first = line(roce("vf0_rep"), "ct(zone=1),recirc(0x9)", ufid="aaaaaaaa")
    other_port = line(roce("vf1_rep", recirc="0x9"), "drop", ufid="bbbbbbbb")
    other_address = line(roce("vf0_rep", dst="10.0.0.17", recirc="0x9"), "drop", ufid="cccccccc")
    found = chains(parse_dump(f"{first}\n{other_port}\n{other_address}")[0])
    assert [(len(chain.stages), chain.open_end) for chain in found] == [(1, True), (1, False), (1, False)]


def test_a_loop_of_recirculations_ends() -> None:
    loop = "\n".join(
        line(roce("vf0_rep", recirc=f"0x{n}"), f"recirc(0x{(n + 1) % 3})", ufid=f"aaaaaaa{n}") for n in (0, 1, 2)
    )
    found = chains(parse_dump(loop)[0])
    assert all(len(chain.stages) <= 3 for chain in found) and all(chain.open_end for chain in found)


@pytest.mark.parametrize("branches", [1_000])
def test_many_branches_cost_little(branches: int) -> None:
    root = line(roce("vf0_rep"), "ct(zone=1),recirc(0x9)", ufid="aaaaaaaa")
    leaves = "\n".join(line(roce("vf0_rep", recirc="0x9"), f"{n}", ufid=f"{n:08x}") for n in range(branches))
    found = chains(parse_dump(f"{root}\n{leaves}")[0])
    assert sum(len(chain.stages) == 2 for chain in found) == 32
