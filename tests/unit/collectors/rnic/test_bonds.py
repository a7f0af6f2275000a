"""Bonds: members down, in another aggregator, slower, gone; traffic on one member is no error of the bond."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.rnic.bonds import Member, active_aggregator, bond_of, judge_bond, read_members
from tests.unit.collectors.rnic.trees import put

GOOD = (Member("eth0", True, 200.0, "1"), Member("eth1", True, 200.0, "1"))


def test_a_whole_bond_is_whole_whatever_the_traffic() -> None:
    assert judge_bond(GOOD).state == "whole"


def test_a_member_without_link_is_named_and_its_old_speed_does_not_count() -> None:
    verdict = judge_bond((Member("eth0", False, 400.0, "1"), Member("eth1", True, 200.0, "1")))
    assert (verdict.state, verdict.members) == ("degraded", ("eth0",))


def test_all_members_down_is_a_failure() -> None:
    assert judge_bond((Member("eth0", False), Member("eth1", False))).state == "failed"


def test_another_aggregator_and_a_lower_speed_are_named() -> None:
    verdict = judge_bond((*GOOD, Member("eth2", True, 200.0, "2")))
    assert (verdict.state, verdict.members) == ("degraded", ("eth2",))
    verdict = judge_bond((Member("eth0", True, 100.0, "1"), GOOD[1]))
    assert verdict.members == ("eth0",) and "100" in verdict.why


def test_the_aggregator_that_carries_is_not_the_other_one(tmp_path: Path) -> None:
    split = (Member("eth0", True, 200.0, "1"), Member("eth1", True, 200.0, "2"))
    assert judge_bond(split).members == ("eth1",)
    put(tmp_path, "class/net/bond0/bonding/ad_aggregator", "2")
    put(tmp_path, "class/net/bond1/bonding/slaves", "eth0")
    assert judge_bond(split, active=active_aggregator(str(tmp_path), "bond0")).members == ("eth0",)
    assert active_aggregator(str(tmp_path), "bond1") is None


def test_a_member_that_left_is_named() -> None:
    verdict = judge_bond(GOOD[:1], ("eth0", "eth1"))
    assert (verdict.state, verdict.members, verdict.why) == ("degraded", ("eth1",), "eth1 left the bond")


def test_what_is_not_known_is_no_fault() -> None:
    assert judge_bond((Member("eth0", None), Member("eth1", None))).state == "whole"
    assert judge_bond(()).state == "whole"


def test_members_are_read_from_sysfs(tmp_path: Path) -> None:
    put(tmp_path, "class/net/bond0/bonding/slaves", "eth0 eth1")
    put(tmp_path, "class/net/bond0/uevent", "INTERFACE=bond0\\nIFINDEX=7")
    for name, status, speed in (("eth0", "up", "200000"), ("eth1", "down", "200000")):
        put(tmp_path, f"class/net/{name}/bonding_slave/mii_status", status)
        put(tmp_path, f"class/net/{name}/bonding_slave/ad_aggregator_id", "1")
        put(tmp_path, f"class/net/{name}/speed", speed)
        put(tmp_path, f"class/net/{name}/master", "-> ../bond0")
    sys = str(tmp_path)
    assert bond_of(sys, "eth1") == bond_of(sys, "bond0") == "bond0"
    assert bond_of(sys, "eth7") is None and read_members(sys, "bond9") is None
    assert read_members(sys, "bond0") == (Member("eth0", True, 200.0, "1"), Member("eth1", False, None, "1"))


members = st.builds(
    Member,
    st.sampled_from(["a", "b", "c", "d"]),
    st.none() | st.booleans(),
    st.none() | st.sampled_from([100.0, 200.0]),
    st.none() | st.sampled_from(["1", "2"]),
)


@given(st.lists(members, max_size=4, unique_by=lambda one: one.name), st.lists(st.sampled_from("abcd"), max_size=4))
def test_a_fault_names_members_and_a_whole_bond_none(listed: list[Member], former: list[str]) -> None:
    verdict = judge_bond(listed, former)
    assert (verdict.state == "whole") == (not verdict.members)
    assert set(verdict.members) <= {one.name for one in listed} | set(former)
