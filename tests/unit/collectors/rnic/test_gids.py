"""GID tables: holes, doubles, moves, tables of shared devices, and the printouts of tools."""

from __future__ import annotations

import socket
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.rnic.gid_reading import GidReader
from collectors.rnic.gid_tables import (
    IPV4_MAPPED,
    Gid,
    GidMove,
    compare,
    in_use,
    misplaced,
    parse_gid,
    parse_gid_kind,
)
from collectors.rnic.gid_text import parse_gid_listing
from tests.unit.collectors.rnic.trees import SECOND, put

LOCAL = "fe80:0000:0000:0000:0000:00ff:fe00:0009"
V4 = "0000:0000:0000:0000:0000:ffff:c633:6401"
ZERO = "0000:0000:0000:0000:0000:0000:0000:0000"

HOST = (Gid(0, LOCAL, "v1"), Gid(1, LOCAL, "v2"), Gid(2, V4, "v1"), Gid(3, V4, "v2"))


def test_the_entry_in_use_is_the_pinned_the_listed_or_what_libraries_choose() -> None:
    assert in_use(HOST) == HOST[3]
    assert in_use(HOST, listed="::ffff:198.51.100.1") == HOST[3]
    assert in_use(HOST, listed=LOCAL) == HOST[1]
    assert in_use(HOST, pinned=0) == HOST[0]
    assert in_use(HOST, pinned=7) is None
    assert in_use(()) is None
    assert in_use((Gid(0, LOCAL, "ib"),)) == Gid(0, LOCAL, "ib")


def test_an_index_that_moved_is_told_with_both_indexes() -> None:
    move = compare(HOST[3], Gid(4, V4, "v2"))
    assert move == GidMove(HOST[3], Gid(4, V4, "v2"))
    assert move.text == f"GID {V4} moved from index 3 to 4"
    assert compare(HOST[3], HOST[3]) is None and compare(None, HOST[3]) is None
    hole = compare(HOST[3], None)
    assert hole is not None and "is a hole now" in hole.text


def test_a_pinned_index_is_wrong_if_it_is_a_hole_or_leads_nowhere() -> None:
    local, routable = Gid(0, "fe80:0000:0000:0000:0000:00ff:fe00:0001", "v2"), Gid(3, f"{IPV4_MAPPED}c000:0201", "v2")
    assert "no GID" in misplaced((local,), None) and misplaced((), None) == ""
    assert "link only" in misplaced((local, routable), local)
    assert misplaced((local, routable), routable) == misplaced((local,), local) == ""


def test_spellings_of_a_gid() -> None:
    assert parse_gid("::ffff:198.51.100.1") == parse_gid(V4 + "\n") == V4
    assert parse_gid("fe80::ff:fe00:9") == LOCAL
    assert parse_gid(ZERO) is parse_gid("") is parse_gid("gid") is parse_gid("1\0") is None
    assert (parse_gid_kind("RoCE v2\n"), parse_gid_kind("IB/RoCE v1"), parse_gid_kind("?")) == ("v2", "v1", "unknown")


@given(st.binary(min_size=16, max_size=16).filter(any))
def test_a_gid_is_eight_groups_of_four_whatever_the_spelling(raw: bytes) -> None:
    gid = parse_gid(socket.inet_ntop(socket.AF_INET6, raw))
    assert gid is not None and parse_gid(gid) == gid
    assert [len(group) for group in gid.split(":")] == [4] * 8


@given(st.text(max_size=60))
def test_any_text_is_a_gid_or_none(text: str) -> None:
    gid = parse_gid(text)
    assert gid is None or len(gid) == 39


def fill(port: Path, slots: dict[int, str], kinds: dict[int, str]) -> None:
    for slot, gid in slots.items():
        put(port, f"gids/{slot}", gid)
    for slot, kind in kinds.items():
        put(port, f"gid_attrs/types/{slot}", kind)


def test_a_shared_device_shows_only_the_slots_of_this_namespace(tmp_path: Path) -> None:
    slots = {slot: ZERO for slot in range(4)} | {4: LOCAL, 5: LOCAL, 6: V4, 7: V4, 8: V4}
    fill(tmp_path, slots, {4: "IB/RoCE v1", 5: "RoCE v2", 6: "IB/RoCE v1", 7: "RoCE v2"})
    table = GidReader(str(tmp_path)).read(0)
    assert table is not None and [entry.index for entry in table] == [4, 5, 6, 7]
    assert in_use(table) == Gid(7, V4, "v2")


def test_a_change_is_seen_at_the_next_look_and_an_unreadable_table_says_nothing(tmp_path: Path) -> None:
    fill(tmp_path, {3: V4, 4: ZERO}, {3: "RoCE v2", 4: "RoCE v2"})
    reader = GidReader(str(tmp_path))
    assert reader.read(0) == (Gid(3, V4, "v2"),)
    fill(tmp_path, {3: ZERO, 4: V4}, {})
    assert reader.read(SECOND) == (Gid(4, V4, "v2"),)
    (tmp_path / "gids").rename(tmp_path / "away")
    fill(tmp_path / "away", {4: ZERO}, {})
    (tmp_path / "away/4").write_text(ZERO)
    assert reader.read(2 * SECOND) is None


def test_an_added_gid_is_seen_within_a_minute_and_a_half(tmp_path: Path) -> None:
    fill(tmp_path, {3: V4}, {3: "RoCE v2", 5: "RoCE v2"})
    reader = GidReader(str(tmp_path))
    reader.read(0)
    fill(tmp_path, {5: LOCAL}, {})
    assert len(reader.read(90 * SECOND) or ()) == 2


SHOWN = f"""DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV
---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---
mlx5_2\t1\t0\t{LOCAL}\t\t\tv1\teth4
mlx5_2\t1\t3\t{V4}\t198.51.100.1  \tv2\teth4
mlx5_bond_0\t1\t12\t{V4}\t198.51.100.1  \tv1\teth0
n_gids_found=3
"""

DEVINFO = """hca_id:\tmlx5_2
\t\tport:\t1
\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:0000:00ff:fe00:0009, RoCE v1
\t\t\tGID[  1]:\t\tfe80::ff:fe00:9, RoCE v2
\t\t\tGID[  3]:\t\t::ffff:198.51.100.1, RoCE v2
"""


def test_a_kind_that_an_old_release_does_not_print_is_known_of_infiniband_only() -> None:
    printed = (
        "hca_id: m0\n  port: 1\n   link_layer: {}\n   GID[ 0]: fe80::1\nhca_id: m1\n  port: 1\n   GID[ 0]: fe80::1\n"
    )
    kinds = {layer: parse_gid_listing(printed.format(layer)) for layer in ("Ethernet", "InfiniBand")}
    assert [table["m0", 1][0].kind for table in kinds.values()] == ["unknown", "ib"]
    assert kinds["Ethernet"]["m1", 1][0].kind == "ib"


def test_another_vendor_s_listing_gives_the_same_shape() -> None:
    printed = (
        "ib_dev    \tnet_dev   \tport idx  gid                                      type     ip              link\n"
        "----------\t----------\t---- ---  ---------------------------------------  -------  --------------  ----\n"
        "hrn3_bond_0\tbond0     \t1    0    fe80:0000:0000:0000:00dc:00ff:fe6c:9301  RoCE v2                  up\n"
        "hrn3_bond_0\tbond0     \t1    1    0000:0000:0000:0000:0000:ffff:c000:0203  RoCE v2  192.0.2.3       up\r\n"
    )
    found = parse_gid_listing(printed)["hrn3_bond_0", 1]
    assert [(one.index, one.kind, one.netdev) for one in found] == [(0, "v2", "bond0"), (1, "v2", "bond0")]


def test_both_printouts_give_one_shape() -> None:
    shown = parse_gid_listing(SHOWN)
    assert shown["mlx5_2", 1] == (Gid(0, LOCAL, "v1", "eth4"), Gid(3, V4, "v2", "eth4"))
    assert shown["mlx5_bond_0", 1] == (Gid(12, V4, "v1", "eth0"),)
    told = parse_gid_listing(DEVINFO)["mlx5_2", 1]
    assert told == (Gid(0, LOCAL, "v1"), Gid(1, LOCAL, "v2"), Gid(3, V4, "v2"))
    assert parse_gid_listing(SHOWN.replace("\n", "\r\n")) == shown


@given(st.text(alphabet="mlx5_0 \t\nv12:fe80GID[],.", max_size=200))
def test_any_listing_is_survived(text: str) -> None:
    for table in parse_gid_listing(text).values():
        assert all(a.index <= b.index for a, b in pairwise(table))
