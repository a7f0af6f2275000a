"""Printouts of tools: several forms, one shape; raw names; ports are not shifted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.rnic.counter_text import Unread
from collectors.rnic.fabric_text import parse_cables, parse_ibqueryerrors, parse_perfquery
from collectors.rnic.quantities import CEILINGS, FABRIC_TOOL_CEILINGS
from collectors.rnic.tool_text import parse_ethtool, parse_hw_counters, parse_side_by_side, snapshots
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
        ("mlx5_0", 2): {"port_xmit_wait": Unread.UNSUPPORTED},
        ("efa_0", 0): {"submitted_cmds": 5},
    }


def test_paths_from_where_the_shell_stood() -> None:
    paste = "mlx5_0/ports/1/hw_counters/np_cnp_sent:5\n./mlx5_1/ports/2/counters/port_rcv_data:6\n"
    assert parse_hw_counters(paste) == {("mlx5_0", 1): {"np_cnp_sent": 5}, ("mlx5_1", 2): {"port_rcv_data": 24}}


def test_counters_of_some_queue_pairs_are_none_of_the_port() -> None:
    port = "link mlx5_0/1 rx_write_requests 50 out_of_buffer 6\n"
    some = "link mlx5_0/1 cntn 4 type qp pid 30489 comm ib_write_bw lqpn 178"
    one_line = f"{port}{some} rx_write_requests 7 out_of_buffer 1\nrnr_nak_retry_err 3 packet_seq_err 2\n"
    pretty = f"{port}{some}\n    rx_write_requests 7\n    out_of_buffer 1\n"
    for printed in (one_line, pretty):
        assert parse_hw_counters(printed) == {("mlx5_0", 1): {"rx_write_requests": 50, "out_of_buffer": 6}}
    link = '{"ifindex":0,"ifname":"mlx5_0","port":1,'
    as_json = f'[{link}"out_of_buffer":6}},{link}"cntn":4,"lqpn":[178],"out_of_buffer":1}}]'
    assert parse_hw_counters(as_json) == {("mlx5_0", 1): {"out_of_buffer": 6}}


@pytest.mark.parametrize(
    "printed",
    [
        "link bnxt_re0/1 state ACTIVE physical_state LINK_UP netdev ens26np0\n",
        "link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 399 sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP\n",
        "link mlx5_0/1 lqpn 178 rqpn 179 type RC state RTS rq-psn 0 sq-psn 0 path-mig-state MIGRATED pid 30489\n",
        "link bnxt_re0/1 cm-idn 1 lqpn 5 qp-type RC state CONNECT ps TCP pid 12 comm [rpcrdma]\n",
        '[{"ifindex":0,"ifname":"mlx5_0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev_index":7}]',
    ],
)
def test_ids_and_states_are_no_counters(printed: str) -> None:
    assert parse_hw_counters(printed) == {}


def test_a_lost_heading_never_gives_one_port_s_counters_to_another() -> None:
    printed = "Port 1 hw counters:\nnp_cnp_sent: 5\nout_of_sequence: 6\nnp_cnp_sent: 7\nout_of_sequence: 8\n"
    assert parse_hw_counters(printed) == {
        ("", 1): {"np_cnp_sent": 5, "out_of_sequence": 6},
        ("", 0): {"np_cnp_sent": 7, "out_of_sequence": 8},
    }


def test_a_wrapped_line_of_rdma_statistic_goes_on_with_its_port() -> None:
    printed = (
        "link mlx5_0/1 rx_write_requests 5 out_of_buffer 6\nout_of_sequence 7 np_cnp_sent 8\nrp_cnp_handled 9\n\n"
        "link mlx5_1/1 supported optional-counters cc_rx_ce_pkts,cc_tx_cnp_pkts\nwords 5 of text\n\nalone 5\n"
    )
    assert parse_hw_counters(printed) == {
        ("mlx5_0", 1): {
            "rx_write_requests": 5,
            "out_of_buffer": 6,
            "out_of_sequence": 7,
            "np_cnp_sent": 8,
            "rp_cnp_handled": 9,
        }
    }


def test_rdma_statistic_as_json_and_pairs_without_a_link() -> None:
    printed = (
        '[{"ifindex":0,"ifname":"mlx5_0","port":1,"out_of_buffer":135,"np_cnp_sent":"21278000002"},'
        '{"ifindex":1,"ifname":"mlx5_1","port":2,"out_of_buffer":6,"state":null}]'
    )
    assert parse_hw_counters(printed) == {
        ("mlx5_0", 1): {"out_of_buffer": 135, "np_cnp_sent": 21278000002},
        ("mlx5_1", 2): {"out_of_buffer": 6},
    }
    assert parse_hw_counters("[{broken") == {}
    assert parse_hw_counters("np_cnp_sent 34569001   rp_cnp_handled 0\r\n") == {
        ("", 0): {"np_cnp_sent": 34569001, "rp_cnp_handled": 0}
    }


@given(st.sampled_from(sorted(CEILINGS)), st.sampled_from(sorted(FABRIC_TOOL_CEILINGS)), st.integers(-1, 1))
def test_a_counter_at_its_own_width_has_no_number_in_any_tool(sysfs: str, fabric: str, apart: int) -> None:
    for name, ceiling in ((sysfs, CEILINGS[sysfs]), (fabric, FABRIC_TOOL_CEILINGS[fabric])):
        value = ceiling + apart
        if name == sysfs:
            path = f"/sys/class/infiniband/mlx4_0/ports/2/counters/{name}:{value}"
            told = [parse_hw_counters(path)["mlx4_0", 2][name]]
        else:
            told = [
                parse_perfquery(f"PortSelect:......2\n{name}:......{value}\n")[0][1][name],
                parse_ibqueryerrors(f"   GUID 0xa7 port 2: [{name} == {value} (1.0K)]")["0xa7", 2][name],
            ]
        factor = 4 if name.lower().endswith(("_data", "xmitdata", "xmtdata", "rcvdata")) else 1
        assert set(told) == {value * factor if apart else Unread.CEILING}


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


def test_before_and_after_on_one_line_and_grouped() -> None:
    before, after = parse_side_by_side("rx_prio0_bytes: 88,034,564 / 88,171,136\ntx_prio0_packets: 5 -> 7\nx: 1 / y\n")
    assert before == {"rx_prio0_bytes": 88034564, "tx_prio0_packets": 5}
    assert after == {"rx_prio0_bytes": 88171136, "tx_prio0_packets": 7}


def test_two_printouts_one_after_the_other_are_two_snapshots() -> None:
    one = "NIC statistics:\n     rx_packets: {}\n     rx packets: 5\n     rx_crc: {}\n"
    parts = snapshots(one.format(1, 2) + "\n## later\n" + one.format(3, 4))
    assert [parse_ethtool(part) for part in parts] == [
        {"rx_packets": 1, "rx packets": 5, "rx_crc": 2},
        {"rx_packets": 3, "rx packets": 5, "rx_crc": 4},
    ]
    listed = snapshots("Port 1 hw counters:\na: 1\nb: 2\nPort 1 hw counters:\na: 3\nb: 4\n")
    assert [parse_hw_counters(part) for part in listed] == [{("", 1): {"a": 1, "b": 2}}, {("", 1): {"a": 3, "b": 4}}]
    lines = snapshots("link mlx5_0/1 a 1\nlink mlx5_1/1 a 2\nlink mlx5_0/1 a 3\nlink mlx5_1/1 a 4")
    assert [parse_hw_counters(part)["mlx5_1", 1]["a"] for part in lines] == [2, 4]


def test_fabric_tools_count_words_and_several_ports() -> None:
    (first, counters), (second, other) = parse_perfquery(text("perfquery"))
    assert (first, second) == (1, 2)
    assert counters["PortXmitData"] == 4 * 36298000000001 and counters["PortXmitPkts"] == 101733000003
    assert other == {"PortXmitData": 20, "PortXmitWait": Unread.CEILING}
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
        ("0x00000000000000a7", 7): {"PortXmitDiscards": 2846, "PortXmitWait": Unread.CEILING},
    }


def test_cables_of_a_fabric_that_are_well_dead_and_slow() -> None:
    printed = (
        "CA   134  1 0x00000000000000a1 4x NDR - SW  1719 10 0x00000000000000b1 ( 'h1 HCA-1' - 'leaf-0' )\n"
        "SW  1719 37 0x00000000000000b1 4x ???                                    'leaf-0'\r\n"
        "SW  1719 80 0x00000000000000b1 4x SDR                                    'leaf-0'\n"
        "warning: something between\n"
    )
    well, dead, slow = parse_cables(printed)
    assert (well.near.name, well.far.name if well.far else "", well.speed) == ("h1 HCA-1", "leaf-0", "NDR")
    assert not well.is_dead and not well.is_slow
    assert (dead.near.port, dead.is_dead, dead.speed, slow.is_dead, slow.is_slow) == (37, True, None, True, True)


@given(st.text(alphabet="link mlx5_0/1:\n\t.port hw counters:|DIFF0123456789", max_size=200))
def test_any_text_gives_counters_or_nothing(printed: str) -> None:
    for counters in parse_hw_counters(printed).values():
        assert all(isinstance(value, Unread) or value >= 0 for value in counters.values())
    assert "\n".join(snapshots(printed)) == "\n".join(printed.splitlines())
    before, after = parse_side_by_side(printed)
    assert before.keys() == after.keys()
    assert all(value >= 0 for value in parse_ethtool(printed).values())
    parse_perfquery(printed), parse_ibqueryerrors(printed), parse_cables(printed)
