"""Statistics of network devices: answers of the kernel taken apart, and asked for real where there is one."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.rnic.ethtool import Ethtool, Statistics, is_telling, parse_names, parse_values


def answer(*names: str) -> bytes:
    return b"".join(name.encode().ljust(32, b"\0") for name in names)


def test_raw_names_are_kept_and_the_first_of_two_equal_ones_counts() -> None:
    found = parse_names(answer("tx_packets", "port.rx_dropped", "rx_prio3_pause", "rx_prio3_pause", "rx7_packets"), 5)
    assert found == Statistics(5, ((1, "port.rx_dropped"), (2, "rx_prio3_pause")))
    assert parse_values(struct.pack("=5Q", 1, 2, 3, 4, 5), found) == {"port.rx_dropped": 2, "rx_prio3_pause": 3}


@pytest.mark.parametrize(
    "name",
    [
        "rx_prio0_bytes",
        "tx_prio7_pause_duration",
        "rx_err_lane_3_phy",
        "rx_discards_phy",
        "tx_priority_3_xoff.nic",
        "rx_pfc_ena_frames_pri4",
        "rx_bytes_pri3",
        "rx_out_of_buffer",
        "outbound_pci_stalled_wr",
        "link_down_events_phy",
    ],
)
def test_what_tells_of_the_wire_is_taken(name: str) -> None:
    assert is_telling(name)


@pytest.mark.parametrize(
    "name", ["rx12_packets", "tx0_xdp_drops", "ch3_poll", "[0]: rx_pause", "rx_queue_0_drops", "rxq0: crc"]
)
def test_what_tells_of_queues_is_not(name: str) -> None:
    assert not is_telling(name)


@given(st.binary(max_size=300), st.integers(0, 40), st.binary(max_size=100))
def test_any_answer_is_survived(names: bytes, total: int, values: bytes) -> None:
    found = parse_names(names, total)
    assert all(place < total for place, _ in found.places)
    assert all(value >= 0 for value in parse_values(values, found).values())


def test_devices_of_this_machine_are_asked_and_those_without_statistics_give_none() -> None:
    ethtool = Ethtool()
    assert ethtool.read("lo") == {} == ethtool.read("no-such-device-x")
    for name in sorted(path.name for path in Path("/sys/class/net").iterdir()):
        assert all(is_telling(key) and 0 <= value < 2**64 for key, value in ethtool.read(name).items())
