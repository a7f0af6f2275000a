"""Bonds, network devices, congestion control, huge pages, limits and neighbours: what is found wrong, and what is
not."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.events.bonds import judge_bond, parse_bond
from collectors.events.checks import ConfigurationChecks, Wanted
from collectors.events.devices import Devices, read_devices
from collectors.events.hugepages import judge_hugepages, judge_locked_memory, locked_memory, read_hugepages
from collectors.events.interfaces import (
    Expected,
    Interface,
    judge_interfaces,
    learn,
    read_interfaces,
)
from collectors.events.notices import Subject
from collectors.events.qos import Qos, QosWanted, judge_qos, merge, parse_dcb_pfc, parse_mlnx_qos, read_ecn
from collectors.events.standing import AGAIN_S
from collectors.observing import Now
from tests.unit.collectors.events.hosts import NOW, devices, text, write

LACP = text("bond_lacp.txt")


def judged(edit: tuple[str, str] = ("", ""), count: int = 1) -> tuple[str, str, object] | None:
    bond = parse_bond(LACP.replace(*edit, count) if edit[0] else LACP, "bond0")
    assert bond is not None
    notice = judge_bond(bond)
    return (notice.code, notice.severity, notice.values["member"]) if notice else None


def test_a_bond_that_is_whole_is_no_fault_whatever_its_traffic() -> None:
    bond = parse_bond(LACP, "bond0")
    assert bond is not None and [member.speed_mbps for member in bond.members] == [400_000, 400_000]
    assert judge_bond(bond) is None


def test_a_bond_is_at_fault_by_state_aggregator_or_speed_of_a_member() -> None:
    down = "Slave Interface: eth3\nMII Status: up", "Slave Interface: eth3\nMII Status: down"
    assert judged(down) == ("bond_degraded", "warning", "eth3")
    assert judged(("MII Status: up", "MII Status: down"), 9) == ("bond_failed", "error", "eth2,eth3")
    apart = "00:02\nAggregator ID: 1", "00:02\nAggregator ID: 2"
    assert judged(apart) == ("bond_degraded", "warning", "eth3")
    assert judged(("400000 Mbps", "200000Mb/s")) == ("bond_degraded", "warning", "eth2")
    assert judged(("400000 Mbps", "Unknown")) is None, "a speed that is not told is no other speed"
    bond = parse_bond(LACP.partition("Slave Interface: eth3")[0], "bond0")
    assert bond is not None
    missing = judge_bond(bond, ("eth2", "eth3"))
    assert missing is not None and missing.values["member"] == "eth3" and "not enslaved" in missing.text
    assert parse_bond("no bond", "bond0") is None
    shown = LACP.partition("Active Aggregator Info:")[0]
    idle = parse_bond(f"{shown}bond bond0 has no active aggregator\n\nSlave Interface: eth2\nMII Status: up\n", "bond0")
    assert idle is not None and (failed := judge_bond(idle)) is not None
    assert (failed.code, failed.severity, failed.text) == ("bond_failed", "error", "bond bond0: no active aggregator")
    hidden = parse_bond(f"{shown}\nSlave Interface: eth2\nMII Status: up\n", "bond0")
    assert hidden is not None and judge_bond(hidden) is None, "who is not root is not shown the aggregator"


FRONT = {
    "front0": Interface(name="front0", carrier=True, mtu=9192, speed_mbps=400_000),
    "enp1": Interface(name="enp1", carrier=True, mtu=9192, speed_mbps=200_000, master="front0"),
    "enp2": Interface(name="enp2", carrier=True, mtu=9192, speed_mbps=200_000, master="front0"),
    "enp3": Interface(name="enp3", carrier=False, mtu=1500),
}


def changed(**changes: object) -> dict[str, Interface]:
    fields = ("carrier", "mtu", "speed_mbps", "master")
    found = dict(FRONT)
    for name in changes.pop("names", ("enp1", "enp2")):  # type: ignore[union-attr, attr-defined]
        old = {field: getattr(found[name], field) for field in fields}
        found[name] = Interface(name=name, **old | changes)
    return found


def findings(found: dict[str, Interface]) -> list[tuple[str, str]]:
    return [
        (each.code, str(each.values.get("netdev", each.values.get("member"))))
        for each in judge_interfaces(learn(FRONT), found)
    ]


def test_what_was_well_once_is_expected_from_then_on() -> None:
    assert "enp3" not in learn(FRONT), "a port without carrier may be down by design"
    assert findings(FRONT) == []
    assert findings(changed(speed_mbps=100_000)) == [("speed_degraded", "enp1"), ("speed_degraded", "enp2")]
    assert findings(changed(mtu=1500)) == [("mtu_mismatch", "enp1"), ("mtu_mismatch", "enp2")]


def test_without_carrier_the_speed_that_the_kernel_remembers_does_not_count() -> None:
    down = changed(names=("enp2",), carrier=False, master=None, mtu=1500, speed_mbps=100_000)
    assert findings(down) == [("port_down", "enp2")]


def test_cards_that_were_swapped_are_a_matter_of_configuration() -> None:
    swapped = changed(master=None, mtu=1500)
    found = list(judge_interfaces(learn(FRONT), swapped))
    assert [(each.code, each.subject.kind) for each in found] == [("bond_failed", "config")]
    assert "enslaved" in found[0].text and found[0].values["member"] == "enp1,enp2"
    one = changed(names=("enp2",), master=None)
    assert findings(one) == [("bond_degraded", "enp2")]


def test_interfaces_of_containers_come_and_go(tmp_path: Path) -> None:
    host_tree(tmp_path)
    net, virtual = tmp_path / "class" / "net", tmp_path / "devices" / "virtual" / "net"
    write(virtual, {"veth1/carrier": "1\n", "ovs-system/mtu": "1500\n"})
    for name in ("veth1", "ovs-system"):
        (net / name).symlink_to(virtual / name)
    (virtual / "veth1" / "master").symlink_to(virtual / "ovs-system")
    for name in ("eth2", "ib6"):
        write(net / name, {"carrier": "1\n"})
    function = net / "ib6" / "device" / "physfn"
    function.mkdir()
    found = read_interfaces(tmp_path)
    assert found["veth1"].master is None, "a virtual switch is no bond"
    assert set(learn(found)) == {"eth2"}, "neither what is virtual, nor a virtual function, will stay"


def test_a_device_that_is_gone() -> None:
    found = {name: each for name, each in FRONT.items() if name != "enp1"}
    assert findings(found) == [("interface_missing", "enp1")]


def test_priority_flow_control_is_read_from_both_tools() -> None:
    assert parse_mlnx_qos(text("mlnx_qos.txt")) == Qos(pfc=frozenset({3}), trust="dscp")
    assert parse_dcb_pfc(text("dcb_pfc.json")) == Qos(pfc=frozenset({3}))
    assert parse_dcb_pfc("pfc-cap 8 macsec-bypass off delay 0\nprio-pfc 0:off 1:off 2:off 3:on 4:on\n").pfc == {3, 4}
    assert parse_dcb_pfc("pfc-cap 8 prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off delay 0").pfc == {3}
    assert parse_dcb_pfc('[{"prio-pfc": {"0": "off", "3": "on"}}]').pfc == {3}
    assert parse_dcb_pfc("[]") == parse_mlnx_qos("nothing") == Qos()
    with pytest.raises(ValueError, match="dcb: not JSON"):
        parse_dcb_pfc("{")


def test_congestion_control_that_is_off_where_it_is_needed(tmp_path: Path) -> None:
    for point in ("roce_np", "roce_rp"):
        for priority in range(8):
            on = priority == 3 or (priority == 4 and point == "roce_np")
            write(tmp_path, {f"class/net/eth2/ecn/{point}/enable/{priority}": f"{int(on)}\n"})
    found = merge(read_ecn(tmp_path, "eth2"), parse_mlnx_qos(text("mlnx_qos.txt")))
    assert judge_qos("eth2", QosWanted(pfc=frozenset({3}), ecn=frozenset({3}), trust="dscp"), found) is None
    wanted = QosWanted(pfc=frozenset({3, 5}), ecn=frozenset({4}), trust="pcp")
    notice = judge_qos("eth2", wanted, found)
    assert notice is not None and notice.code == "cc_disabled"
    assert notice.text == "eth2: PFC off on priority 5; ECN reaction (rp) off on priority 4; trusts dscp, expected pcp"
    assert judge_qos("eth9", wanted, read_ecn(tmp_path, "eth9")) is None, "what is not told is no fault"


HUGE = {
    "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "1024\n",
    "kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "0\n",
    "devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages": "1024\n",
    "devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
}


def test_huge_pages(tmp_path: Path) -> None:
    found = read_hugepages(write(tmp_path, HUGE))
    assert found[2048].by_node == {0: 1024, 1: 0}
    (one_node,) = judge_hugepages({2048: 1024}, found)
    assert one_node.text == "huge pages of 2048 kB: none on NUMA node 1"
    (none,) = judge_hugepages({1_048_576: 16}, found)
    assert none.text == "huge pages of 1048576 kB: 0, expected 16" and none.code == "hugepage_mismatch"
    write(tmp_path, {"devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages": "512\n"})
    assert list(judge_hugepages({2048: 1024}, read_hugepages(tmp_path))) == []
    (absent,) = judge_hugepages({64: 1}, {})
    assert absent.values == {"size_kb": 64, "total": 0, "expected": 1}


def test_locked_memory() -> None:
    head = "Limit                     Soft Limit           Hard Limit           Units     \n"
    low = f"{head}Max locked memory         8388608              8388608              bytes     \n"
    notice = judge_locked_memory("c-01", low, 1 << 30)
    assert notice is not None and notice.subject == Subject("container", "c-01") and notice.code == "limits_exceeded"
    assert judge_locked_memory("c-01", low, 1 << 20) is None
    assert locked_memory(low.replace("8388608", "unlimited")) is None


def host_tree(root: Path) -> Path:
    """Two cards below bridges, a bond of the first one's two wires, and a soft device."""
    first, second = "0000:15:01.0/0000:1a:00.0", "0000:97:01.0/0000:9c:00.0"
    pci = root / "devices" / "pci0000:00"
    for place, nets in ((first, ("eth2",)), ("0000:15:01.0/0000:1a:00.1", ("eth3",)), (second, ("ib6",))):
        for net in nets:
            (pci / place / "net" / net).mkdir(parents=True)
    for rnic, place in (("mlx5_0", first), ("mlx5_1", second)):
        (root / "class" / "infiniband" / rnic).mkdir(parents=True)
        (root / "class" / "infiniband" / rnic / "device").symlink_to(pci / place)
    write(root, {"class/infiniband/rxe0/parent": "eth9\n"})
    (root / "devices" / "virtual" / "net" / "bond0").mkdir(parents=True)
    net = root / "class" / "net"
    net.mkdir(parents=True)
    (root / "devices" / "virtual" / "net" / "bond0" / "bonding").mkdir()
    (net / "bond0").symlink_to(root / "devices" / "virtual" / "net" / "bond0")
    for name, place in (("eth2", first), ("eth3", "0000:15:01.0/0000:1a:00.1"), ("ib6", second)):
        folder = pci / place / "net" / name
        (net / name).symlink_to(folder)
        (folder / "device").symlink_to(pci / place)
        if name != "ib6":
            (folder / "master").symlink_to(net / "bond0")
    return root


def test_devices_are_known_by_all_their_names(tmp_path: Path) -> None:
    found = read_devices(host_tree(tmp_path), "h1")
    assert found.by_pci == {"0000:1a:00.0": "mlx5_0", "0000:1a:00.1": "mlx5_0", "0000:9c:00.0": "mlx5_1"}
    assert found.by_netdev == {"eth2": "mlx5_0", "eth3": "mlx5_0", "bond0": "mlx5_0", "ib6": "mlx5_1", "eth9": "rxe0"}
    assert found.below_bridge == {"0000:15:01.0": ("mlx5_0",), "0000:97:01.0": ("mlx5_1",)}
    assert read_devices(tmp_path / "nowhere", "h1") == Devices(host="h1")


def test_interfaces_are_read_from_sysfs(tmp_path: Path) -> None:
    host_tree(tmp_path)
    write(tmp_path / "class" / "net" / "eth2", {"carrier": "1\n", "mtu": "9192\n", "speed": "400000\n"})
    write(tmp_path / "class" / "net" / "eth3", {"carrier": "0\n", "mtu": "9192\n", "speed": "-1\n"})
    found = read_interfaces(tmp_path)
    assert found["eth2"] == Interface(name="eth2", carrier=True, mtu=9192, speed_mbps=400_000, master="bond0")
    assert found["eth3"] == Interface(name="eth3", carrier=False, mtu=9192, master="bond0")
    assert (
        found["bond0"] == Interface(name="bond0")
        and found["eth2"].lasting
        and read_interfaces(tmp_path / "nowhere") == {}
    )


def test_checks_tell_when_a_thing_becomes_wrong_and_when_it_is_right_again(tmp_path: Path) -> None:
    sys, proc = write(tmp_path / "sys", HUGE), tmp_path / "proc"
    wanted = Wanted(hugepages={2048: 2048}, interfaces={})
    part = ConfigurationChecks(devices, wanted, (sys, proc))

    def told(seconds: float) -> list[tuple[str, str, str]]:
        now = Now(t_us=NOW.t_us, mono_us=NOW.mono_us + round(seconds * 1e6))
        return [(f.fields["device"], f.fields["event"], f.fields["severity"]) for f in part.collect(now)]

    wrong = ("config:h1", "hugepage_mismatch", "warning")
    assert told(0) == [wrong] and told(30) == [] and told(AGAIN_S) == [wrong]
    node = "devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"
    write(sys, {"kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "2048\n", node: "1024\n"})
    assert told(AGAIN_S + 30) == [("config:h1", "hugepage_mismatch", "info")] and told(AGAIN_S + 60) == []


def test_checks_look_at_bonds_that_are_not_of_cards(tmp_path: Path) -> None:
    down = LACP.replace("Slave Interface: eth3\nMII Status: up", "Slave Interface: eth3\nMII Status: down")
    write(tmp_path, {"net/bonding/bond0": down, "net/bonding/front0": down.replace("eth", "enp")})
    part = ConfigurationChecks(devices, Wanted(interfaces={}), (tmp_path / "sys", tmp_path))
    assert [fact.fields["text"] for fact in part.collect(NOW)] == ["bond front0: enp3 down"]
    everything = ConfigurationChecks(devices, Wanted(interfaces={}, rnics=True), (tmp_path / "sys", tmp_path))
    found = {(fact.fields["device"], fact.fields["event"]) for fact in everything.collect(NOW)}
    assert found == {("rnic:h1/mlx5_0", "bond_degraded"), ("port:h1/front0", "bond_degraded")}


def test_checks_ask_the_tools_that_are_there(tmp_path: Path) -> None:
    answer = write(tmp_path, {"dcb.json": text("dcb_pfc.json")}) / "dcb.json"
    wanted = Wanted(
        interfaces={"eth2": Expected(mtu=9000)},
        qos=QosWanted(pfc=frozenset({4})),
        qos_netdevs=("eth2",),
        dcb=("cat", str(answer)),
        mlnx_qos=("no-such-tool",),
    )
    (tmp_path / "class" / "net").mkdir(parents=True)
    part = ConfigurationChecks(devices, wanted, (tmp_path, tmp_path))
    found = {(fact.fields["device"], fact.fields["event"]) for fact in part.collect(NOW)}
    assert found == {("rnic:h1/mlx5_0", "cc_disabled")}, "of its links the RNIC's own state tells"
