"""Printouts of tools: several forms, one shape; raw names; ports are not shifted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collectors.rnic.tool_text import (
    parse_ethtool,
    parse_hw_counters,
    parse_ibqueryerrors,
    parse_perfquery,
    parse_side_by_side,
)
from tests.unit.collectors.rnic.trees import DATA


def text(name: str) -> str:
    return (DATA / f"{name}.txt").read_text()


def test_three_forms_of_hardware_counters_give_one_shape() -> None:
    listed = parse_hw_counters(text("show_counters"))
    assert listed["", 1]["np_ecn_marked_roce_packets"] == 21278000002 and listed["", 1]["out_of_sequence"] == 1811003
    line = parse_hw_counters(text("rdma_statistic"))
    assert line["mlx5_0", 1]["out_of_buffer"] == 135 and line["mlx5_1", 1] == {
        "rx_write_requests": 6,
        "out_of_buffer": 0,
    }
    pretty = parse_hw_counters(text("rdma_statistic_pretty"))
    assert pretty == {
        ("mlx5_0", 1): {"rx_write_requests": 5, "out_of_buffer": 135},
        ("mlx5_1", 1): {"rx_write_requests": 6},
    }


def test_a_missing_port_line_does_not_shift_ports() -> None:
    cut = text("show_counters").partition("\n")[2]
    assert set(parse_hw_counters(cut)) == {("", 0)}
    both = text("show_counters") + "\nduplicate_request: 7\n"
    found = parse_hw_counters(both)
    assert found["", 1]["duplicate_request"] == 0 and found["", 0] == {"duplicate_request": 7}


def test_paths_with_values_before_and_after_in_one_paste() -> None:
    paste = (
        "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err:2705\n"
        "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_ecn_marked_roce_packets:0\r\n"
        "/sys/class/infiniband/mlx5_0/ports/2/counters/port_xmit_wait:N/A (no PMA)\n"
        "/sys/class/infiniband/efa_0/hw_counters/submitted_cmds:5\n"
    )
    assert parse_hw_counters(paste) == {
        ("mlx5_0", 1): {"local_ack_timeout_err": 2705, "np_ecn_marked_roce_packets": 0},
        ("efa_0", 0): {"submitted_cmds": 5},
    }


def test_raw_names_of_ethtool_are_kept_apart() -> None:
    found = parse_ethtool(text("ethtool_statistics"))
    assert (found["duplicate metric"], found["duplicate_metric"]) == (1, 2)
    assert (found["port.rx_dropped"], found["[0]: rx_bytes"], found["rxq0: rx_bytes"]) == (12031, 17, 18)


def test_a_bond_without_statistics_has_none() -> None:
    assert parse_ethtool("ERROR: 1") == {}


def test_two_snapshots_beside_each_other() -> None:
    pasted = (
        "     rx_prio0_packets: 4939000000\t\t\t      |\t     rx_prio0_packets: 4943000000     DIFF: 4000000\n"
        "     tx_prio3_packets: 4671000000\t\t\t      |\t     tx_prio3_packets: 4675000000     DIFF: 4000000\n"
    )
    before, after = parse_side_by_side(pasted)
    assert {name: after[name] - before[name] for name in before} == {
        "rx_prio0_packets": 4000000,
        "tx_prio3_packets": 4000000,
    }


def test_fabric_tools_count_words_and_several_ports() -> None:
    (first, counters), (second, other) = parse_perfquery(text("perfquery"))
    assert (first, second) == (1, 2)
    assert counters["PortXmitData"] == 4 * 36298000000001 and counters["PortXmitPkts"] == 101733000003
    assert other == {"PortXmitData": 20, "PortXmitWait": 4294967295}
    assert not any("Select" in name for name in counters)


def test_error_listings_with_both_kinds_of_brackets_and_warnings_between() -> None:
    printed = (
        " GUID 0x00000000000000a7 port ALL: [LinkDownedCounter == 25 (25.000)] "
        "[PortXmitWait == 14681376621 (13.673G)]\n"
        "ibwarn: [77] _do_madrpc: recv failed: Connection timed out\n"
        " GUID 0x00000000000000a7 port 7: [PortXmitDiscards == 2846] [PortXmitWait == 4294967295 (4.000G)]\n"
        "src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,17 Attr 0x11:0) bad status 110; Connection timed out\n"
    )
    assert parse_ibqueryerrors(printed) == {
        ("0x00000000000000a7", 0): {"LinkDownedCounter": 25, "PortXmitWait": 14681376621},
        ("0x00000000000000a7", 7): {"PortXmitDiscards": 2846, "PortXmitWait": 4294967295},
    }


@given(st.text(alphabet="link mlx5_0/1:\n\t.port hw counters:|DIFF0123456789", max_size=200))
def test_any_text_gives_counters_or_nothing(printed: str) -> None:
    for counters in parse_hw_counters(printed).values():
        assert all(value >= 0 for value in counters.values())
    before, after = parse_side_by_side(printed)
    assert before.keys() == after.keys()
    assert all(value >= 0 for value in parse_ethtool(printed).values())
    parse_perfquery(printed), parse_ibqueryerrors(printed)
