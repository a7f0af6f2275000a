"""Both syntaxes of Open vSwitch's dumps, as the kernel's and the userspace datapath print them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.flows.acting import Deed, Way, parse_actions
from collectors.flows.brackets import argument, inside, parts
from collectors.flows.datapath import mark_offloaded, parse_dump, parse_flow
from collectors.flows.matching import Match, Net, address, network, parse_match
from collectors.part_settings import OVS, OVS_OFFLOADED
from tests.unit.collectors.flows.dumps import line, roce, text


def test_long_form_with_geneve_options_masks_and_large_counters() -> None:
    flows, more = parse_dump(text("mixed_offload.txt"))
    assert not more and [flow.flow[-1] for flow in flows] == ["1", "2", "3", "4", "5"]
    tunnelled, software, never, out, lldp = flows
    assert tunnelled.match.tunnel_src == address("198.51.100.2") and tunnelled.match.tunnel_id == 7
    assert tunnelled.match.src == network("10.0.0.8/255.255.255.248") and tunnelled.deed.recirculates == (0x21,)
    assert (tunnelled.offloaded, tunnelled.path) == (True, "hardware")
    assert (software.offloaded, software.path, software.match.src) == (False, "software", None)
    assert (never.offloaded, never.path, never.idle_s) == (None, None, None), "no packet, no evidence"
    assert out.bytes == 3074457645572 and out.deed.ways == (Way("genev_sys_6081", address("198.51.100.2"), 7),)
    assert lldp.deed.drops and not lldp.match.is_ip()


def test_short_form_between_log_lines_has_no_marks_and_slow_path_is_software() -> None:
    flows, _ = parse_dump(text("not_offloaded_short.txt"))
    assert [flow.deed.userspace for flow in flows] == [False, True, True]
    assert [(flow.offloaded, flow.path) for flow in flows] == [(None, None), (False, "software"), (False, "software")]


def test_a_short_dump_is_marked_by_the_list_of_offloaded_flows() -> None:
    flows, _ = parse_dump(text("not_offloaded_short.txt"))
    listed = line(roce("3"), "4", marks="")
    offloaded, _ = parse_dump(listed, "offloaded")
    assert offloaded[0].offloaded is True and offloaded[0].path == "hardware"
    marked = mark_offloaded([*flows, *parse_dump(listed)[0]], offloaded)
    assert [(flow.offloaded, flow.path) for flow in marked] == [(False, "software")] * 3 + [(True, "hardware")]


def test_a_list_in_the_other_form_says_nothing() -> None:
    """Without marks but with ids: an older Open vSwitch, asked with ``-m``."""
    long = [line(roce(port), "4", marks="", ufid=f"{port}aaaaaaa-1") for port in "34"]
    short = [each.partition(", ")[2] for each in long]
    flows = parse_dump("\n".join(long))[0]
    same, other = (parse_dump(listed, "offloaded")[0] for listed in (long[0], short[0]))
    assert [flow.path for flow in mark_offloaded(flows, same)] == ["hardware", "software"]
    assert [flow.offloaded for flow in mark_offloaded(flows, other)] == [None, None]
    assert [flow.path for flow in mark_offloaded(flows, [])] == ["software", "software"]


def test_the_commands_that_are_run_print_flows_in_one_form() -> None:
    assert ("-m" in OVS) == ("-m" in OVS_OFFLOADED)


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        (
            "dpe_packets:15, dpe_bytes:510,used:169.207s, offloaded:yes, dp:dpdk,"
            " actions:net5, dp-extra-info:miniflow_bits(4,2)",
            ("net5", 169.207, True),
        ),
        (
            "dpe_packets:0, dpe_bytes:0,used:never, offloaded:yes, dp:dpdk, actions:net5",
            ("net5", None, True),
        ),
        (
            "used:0.02s, dp:ovs, actions:net5, dp-offload-info:'match unsupported: br-ovn: unable to get eswitch mgr'",
            ("net5", 0.02, False),
        ),
    ],
)
def test_what_vendors_add_to_a_line_is_no_part_of_it(
    behind: str, expected: tuple[str, float | None, bool | None]
) -> None:
    match = "recirc_id(0),in_port(net4),packet_type(ns=0,id=0),eth_type(0x0800),ipv4(src=203.0.113.2,frag=no)"
    flow = parse_flow(f"ufid:2fc206e0-1efc-4e6d-ac65-e430bff08ad4, {match}, packets:15, bytes:510, {behind}")
    assert flow is not None and (flow.packets, flow.bytes) == (15, 510)
    assert (flow.actions_text, flow.idle_s, flow.offloaded) == expected and flow.deed.ways == (Way("net5"),)


def test_real_userspace_dumps_say_the_same_in_both_forms() -> None:
    long, _ = parse_dump(text("userspace_long.txt"))
    short, _ = parse_dump(text("userspace_short.txt"))
    assert len(long) == len(short) == 4
    for one, other in zip(long, short, strict=True):
        assert one.match.src is None and other.match.src is None, "a mask of zero matches everything"
        assert (one.match.recirc, one.match.protocol, one.match.udp_dst) == (
            other.match.recirc,
            other.match.protocol,
            other.match.udp_dst,
        )
        assert one.deed.drops == other.deed.drops and one.deed.recirculates == other.deed.recirculates
        assert [way.tunnel_dst for way in one.deed.ways] == [way.tunnel_dst for way in other.deed.ways]
    pushed = long[0]
    assert [way.port for way in pushed.deed.ways] == ["br-phy", "phy0"]
    assert {way.tunnel_dst for way in pushed.deed.ways} == {address("1.1.2.92")}
    assert {way.tunnel_id for way in pushed.deed.ways} == {0x64}
    assert long[1].deed == Deed() and long[1].deed.drops
    assert long[0].path == "software" and long[0].layer == "ovs"


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ("offloaded:yes, dp:tc", (True, "hardware")),
        ("offloaded:partial, dp:ovs", (False, "software")),
        ("dp:tc", (False, "software")),
        ("dp:ovs", (False, "software")),
        ("flags:SP., dp:ovs", (False, "software")),
        ("", (None, None)),
    ],
)
def test_marks(marks: str, expected: tuple[bool | None, str | None]) -> None:
    flow = parse_flow(line(roce("3"), "4", marks=marks))
    assert flow is not None and (flow.offloaded, flow.path) == expected


@pytest.mark.parametrize(
    ("actions", "deed"),
    [
        ("drop", Deed()),
        ("", Deed()),
        ("3", Deed(ways=(Way("3"),))),
        ("ct,recirc(0x1)", Deed(recirculates=(1,))),
        ("ct(commit,zone=6,nat(src)),recirc(0xd1)", Deed(recirculates=(0xD1,), rewrites=True)),
        ("set(eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02)),set(ipv4(ttl=62)),5", Deed(ways=(Way("5"),))),
        ("set(ipv4(dst=10.0.0.1,ttl=62)),5", Deed(ways=(Way("5"),), rewrites=True)),
        ("push_vlan(vid=5,pcp=0),5,pop_vlan,6", Deed(ways=(Way("5"), Way("6")))),
        ("clone(bad length 4, expected -1 for: action0(01 00 00 00),ct(commit),2)", Deed(ways=(Way("2"),))),
        (
            "set(tunnel(tun_id=0x5,dst=192.0.2.9,tp_dst=6081,key6(bad key length 1, expected 0)(01)"
            "geneve({class=0x102,type=0x80,len=4,0x70006}),flags(key))),9",
            Deed(ways=(Way("9", address("192.0.2.9"), 5),)),
        ),
        ("clone(tnl_pop(4789)),2", Deed(ways=(Way("2"),), pops=("4789",))),
        ("sample(sample=1.0%,actions(userspace(pid=1,sFlow(vid=0)))),2", Deed(ways=(Way("2"),))),
        ("check_pkt_len(size=1450,gt(userspace(pid=1)),le(7))", Deed(ways=(Way("7"),))),
        ("userspace(pid=1,slow_path(controller))", Deed(userspace=True)),
        ("set(tunnel(tun_id=0x5,dst=192.0.2.9,flags(df|key))),9", Deed(ways=(Way("9", address("192.0.2.9"), 5),))),
    ],
)
def test_actions(actions: str, deed: Deed) -> None:
    assert parse_actions(actions) == deed


def test_matches_keep_the_inner_addresses_apart_from_the_tunnels() -> None:
    match = parse_match(
        "tunnel(src=192.0.2.1,dst=192.0.2.2),in_port(4/0xffff),ipv6(src=fd00::1,dst=fd00::/64,proto=17)"
    )
    assert match == Match(
        in_port="4",
        protocol=17,
        src=address("fd00::1"),
        dst=network("fd00::/64"),
        tunnel_src=address("192.0.2.1"),
        tunnel_dst=address("192.0.2.2"),
    )
    assert match.may_carry_rdma() and not parse_match("eth_type(0x0800),ipv4(proto=6)").may_carry_rdma()


@pytest.mark.parametrize(
    ("address", "group"),
    [("33:33:00:00:00:02", True), ("ff:ff:ff:ff:ff:ff", True), ("01:00:5e:00:00:01/01:00:00:00:00:00", True),
     ("02:00:00:00:00:05", False), ("01:00:00:00:00:05/00:00:00:00:00:00", False), ("", False), ("x", False)],
)  # fmt: skip
def test_frames_to_many(address: str, group: bool) -> None:
    assert parse_match(f"eth(src=02:00:00:00:00:01,dst={address}),eth_type(0x0800)").is_group == group


@pytest.mark.parametrize("tags", ["8100", "88a8 8100", "9100"])
def test_tagged_frames_are_what_they_carry(tags: str) -> None:
    plain = roce("3")
    bare, carried = plain.split("eth_type", 1)[0], "eth_type" + plain.split("eth_type", 1)[1]
    arp = "eth_type(0x0806),arp(op=1)"
    for tag in reversed(tags.split()):
        carried, arp = (f"eth_type(0x{tag}),vlan(vid=100,pcp=3),encap({inside})" for inside in (carried, arp))
    assert parse_match(bare + carried) == parse_match(plain) and parse_match(bare + carried).may_carry_rdma()
    assert not parse_match(bare + arp).is_ip()
    assert parse_match(f"eth_type(0x{tags[:4]}),vlan(vid=1),encap()").is_ip(), "what it carries is not told"


def test_tunnels_over_ipv6() -> None:
    match = parse_match("tunnel(tun_id=0x5,ipv6_src=2001:db8::1,ipv6_dst=2001:db8::2,ttl=64,flags(key)),in_port(5)")
    assert (match.tunnel_src, match.tunnel_dst) == (address("2001:db8::1"), address("2001:db8::2"))
    deed = parse_actions("set(tunnel(tun_id=0x5,ipv6_src=2001:db8::1,ipv6_dst=2001:db8::2,flags(df|key))),9")
    assert deed == Deed(ways=(Way("9", address("2001:db8::2"), 5),))


def test_one_flow_of_several_threads_is_one_flow() -> None:
    one, other = line(roce("3"), "4", packets=3, ufid="a" * 8), line(roce("3"), "4", packets=4, ufid="a" * 8)
    flows, _ = parse_dump(f"flow-dump from pmd on cpu core: 2\n{one}\nflow-dump from pmd on cpu core: 3\n{other}\n")
    assert [(flow.packets, flow.bytes) for flow in flows] == [(7, 700)]


def test_more_flows_than_allowed_are_told() -> None:
    lines = "\n".join(line(roce(str(port)), "4") for port in range(10))
    flows, more = parse_dump(lines, most=4)
    assert len(flows) == 4 and more


def test_ids_of_the_short_form_do_not_change_with_counters() -> None:
    one, other = parse_flow(line(roce("3"), "4", packets=1)), parse_flow(line(roce("3"), "4", packets=9))
    assert one is not None and other is not None and one.flow == other.flow
    third = parse_flow(line(roce("5"), "4"))
    assert third is not None and third.flow != one.flow


def test_addresses() -> None:
    assert address("::ffff:10.0.0.1") == address("10.0.0.1") == Net(0x0A000001, 0xFFFFFFFF, 32)
    assert network("10.0.0.1/0.0.0.0") is None and network("nonsense") is None
    assert network("10.0.0.0/24") == network("10.0.0.7/255.255.255.0")


@given(st.text(alphabet="(){},a", max_size=60))
def test_brackets_never_lose_text(text: str) -> None:
    assert all(part and part == part.strip() for part in parts(text))
    for start, sign in enumerate(text):
        if sign == "(":
            body, end = inside(text, start)
            assert text[start + 1 :].startswith(body) and start < end <= len(text)


def test_an_argument_is_found_by_its_whole_name() -> None:
    assert argument("enc_ipv4(a),ipv4(b(c),d)", "ipv4") == "b(c),d"
    assert argument("ipv4", "ipv4") is None
