"""Hints from differences of counters: right for what operators saw, silent for what is normal."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.rnic.counters import RnicCounters
from collectors.rnic.ethtool import is_telling
from collectors.rnic.findings import BROKEN, DAMAGED, LEAST_DAMAGED, Finding, judge, rises
from collectors.rnic.following import Cards
from collectors.rnic.settings import RnicSettings
from tests.unit.collectors.rnic.trees import at, card, placed, put


def findings(before: dict[str, int | None], after: dict[str, int | None]) -> dict[str, Finding]:
    return {one.code: one for one in judge(rises(before, after), after)}


def test_lifetime_totals_say_nothing() -> None:
    old: dict[str, int | None] = {"local_ack_timeout_err": 131, "rx_crc_errors_phy": 10**6, "out_of_sequence": 10**6}
    assert findings(old, old) == {} and findings({}, old) == {}


def test_timeouts_on_a_priority_that_never_paused_are_a_weak_suspicion_of_configuration() -> None:
    before: dict[str, int | None] = {
        "tx_prio0_packets": 10**9,
        "local_ack_timeout_err": 2000,
        "rx_prio0_pause": 0,
        "np_cnp_sent": 1300,
    }
    after: dict[str, int | None] = {
        "tx_prio0_packets": 2 * 10**9,
        "local_ack_timeout_err": 2005,
        "rx_prio0_pause": 0,
        "np_cnp_sent": 1300,
    }
    found = findings(before, after)
    assert set(found) == {"retransmits_without_pfc"}
    assert found["retransmits_without_pfc"].values["priority"] == 0 and not found["retransmits_without_pfc"].warning
    assert findings(before, {**after, "rx_prio0_pause": 7}) == {}


def test_traffic_marked_in_one_direction_names_the_sender_that_marks_nothing() -> None:
    before: dict[str, int | None] = {
        "rx_prio0_packets": 4_939_000_000,
        "tx_prio0_packets": 7_537_000_000,
        "tx_prio3_packets": 4_671_000_000,
    }
    after: dict[str, int | None] = {
        "rx_prio0_packets": 4_943_000_000,
        "tx_prio0_packets": 7_537_050_000,
        "tx_prio3_packets": 4_675_000_000,
    }
    found = findings(before, after)["priority_asymmetry"]
    assert found.values == {"sent": 3, "received": 0, "unmarked": "the peer"}


def test_a_bond_s_traffic_is_judged_over_all_of_its_members() -> None:
    before: dict[str, int | None] = {
        "eth2/tx_prio3_packets": 0,
        "eth3/tx_prio3_packets": 0,
        "eth2/rx_packets_pri0": 0,
        "eth3/rx_packets_pri0": 0,
    }
    found = findings(before, dict.fromkeys(before, 6000))["priority_asymmetry"]
    assert found.values == {"sent": 3, "received": 0, "unmarked": "the peer"}


def test_loss_is_told_from_both_ends_of_the_path() -> None:
    sender = findings({"packet_seq_err": 0, "roce_adp_retrans": 0}, {"packet_seq_err": 4830, "roce_adp_retrans": 498})
    assert sender["loss_signs"].text == "packets were lost from this card"
    receiver = findings({"out_of_sequence": 100}, {"out_of_sequence": 5157})
    assert receiver["loss_signs"].text == "packets were lost towards this card"


@pytest.mark.parametrize("name", BROKEN)
def test_one_connection_that_broke_is_enough(name: str) -> None:
    assert findings({name: 7}, {name: 8})["loss_signs"].values == {"risen": {name: 1}}
    assert findings({"packet_seq_err": 7}, {"packet_seq_err": 8}) == {}


def test_what_came_in_damaged_is_told_of_the_member_of_a_bond_that_it_came_by() -> None:
    lanes: dict[str, int | None] = {f"eth3/rx_err_lane_{lane}_phy": 0 for lane in range(2)}
    before: dict[str, int | None] = {"eth2/rx_crc_errors_phy": 5, "eth3/rx_crc_errors_phy": 5, **lanes}
    after: dict[str, int | None] = {**before, "eth3/rx_crc_errors_phy": 905, "eth3/rx_err_lane_1_phy": 900}
    found = findings(before, after)["crc_errors"]
    assert found.values["member"] == "eth3" and found.values["risen"] == {"eth3/rx_crc_errors_phy": 900}
    assert "900 at eth3" in found.text and str(found.values["where"]).startswith("lane 1 only")
    both = findings(before, {**after, "eth2/rx_crc_errors_phy": 55})["crc_errors"]
    assert "50 at eth2, 900 at eth3" in both.text


@given(st.sampled_from(DAMAGED), st.integers(LEAST_DAMAGED, 10**9))
def test_every_driver_s_count_of_damage_is_understood_and_asked_for(name: str, count: int) -> None:
    assert findings({name: 0}, {name: count})["crc_errors"].warning
    assert name == "symbol_error" or is_telling(name)


@pytest.mark.parametrize("name", ["rx_crc_errors_phy", "mac_rx_fcs_err_pkt_num", "frames_rx_bad_fcs"])
def test_damage_in_the_words_of_several_drivers(name: str) -> None:
    assert is_telling(name) and set(findings({name: 5}, {name: 5 + LEAST_DAMAGED})) == {"crc_errors"}


def test_equal_errors_on_all_lanes_are_the_module_and_one_lane_is_a_connector() -> None:
    lanes: dict[str, int | None] = {f"rx_err_lane_{lane}_phy": 0 for lane in range(4)}
    start: dict[str, int | None] = {"rx_crc_errors_phy": 0, **lanes}
    all_alike = findings(start, {"rx_crc_errors_phy": 13000, **dict.fromkeys(lanes, 12900)})["crc_errors"]
    assert "module" in str(all_alike.values["where"]) and all_alike.warning
    one = findings(start, {"rx_crc_errors_phy": 13000, **lanes, "rx_err_lane_2_phy": 12900})["crc_errors"]
    assert str(one.values["where"]).startswith("lane 2 only")


def test_pauses_marks_and_notifications_under_load_are_normal() -> None:
    names = (
        "rx_prio3_pause",
        "tx_prio3_pause",
        "np_ecn_marked_roce_packets",
        "np_cnp_sent",
        "port_xmit_wait",
        "rp_cnp_handled",
    )
    assert findings(dict.fromkeys(names, 0), dict.fromkeys(names, 10**8)) == {}


def test_one_member_that_carries_all_is_a_hint_on_placement() -> None:
    before: dict[str, int | None] = {"eth0/tx_bytes_phy": 0, "eth1/tx_bytes_phy": 0}
    found = findings(before, {"eth0/tx_bytes_phy": 25 * 10**9, "eth1/tx_bytes_phy": 10**6})
    assert found["bond_imbalance"].text.startswith("eth0 carries 100 %")
    assert findings(before, {"eth0/tx_bytes_phy": 10**10, "eth1/tx_bytes_phy": 10**10}) == {}
    assert findings(before, {"eth0/tx_bytes_phy": 2 * 10**10, "eth1/tx_bytes_phy": 10**10}) == {}
    saturated = findings(before, {"eth0/tx_bytes_phy": 25 * 10**9, "eth1/tx_bytes_phy": 5 * 10**9})
    assert saturated["bond_imbalance"].text.startswith("eth0 carries 83 %")


counts = st.dictionaries(
    st.sampled_from(
        [
            "rx_crc_errors_phy",
            "rx_err_lane_0_phy",
            "rx_err_lane_1_phy",
            "tx_prio0_packets",
            "rx_prio3_packets",
            "a/tx_bytes_phy",
            "tx_prio3_packets",
            "rx_prio0_packets",
            "local_ack_timeout_err",
            "out_of_sequence",
            "b/tx_bytes_phy",
            "rx_prio0_pause",
        ]
    ),
    st.none() | st.integers(0, 2**64 - 1),
)


@given(counts, counts)
def test_any_counters_are_judged(before: dict[str, int | None], after: dict[str, int | None]) -> None:
    for found in findings(before, after).values():
        assert found.text and found.code
    assert findings(after, after) == {}


def test_the_collector_tells_a_hint_once_a_minute(tmp_path: Path) -> None:
    folder = card(
        tmp_path,
        "mlx5_0",
        "0000:01:00.0",
        {"counters/port_xmit_data": 1, "counters/port_rcv_data": 1, "counters/symbol_error": 5},
    )
    settings = RnicSettings(message_s=1.0, ethtool_s=1.0)
    part = RnicCounters(lambda: placed("mlx5_0"), Cards(tmp_path, 5.0), settings)
    told = []
    for second in range(70):
        put(folder, "ports/1/counters/symbol_error", str(5 + 100 * second))
        told += [one for one in part.collect(at(second)) if one.topic == "device-events"]
    assert [one.fields["event"] for one in told] == ["crc_errors", "crc_errors"]
