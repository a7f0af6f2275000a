"""Texts of ports, links and addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.rnic.pcie import mbps, parse_link_speed, parse_link_width
from collectors.rnic.port_text import (
    Rate,
    parse_guid,
    parse_link_layer,
    parse_net_speed,
    parse_pci_address,
    parse_physical_state,
    parse_rate,
    parse_state,
)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("100 Gb/sec (4X EDR)\n", Rate(100.0, 4, "EDR")),
        ("25 Gb/sec (1X EDR)", Rate(25.0, 1, "EDR")),
        ("10 Gb/sec (4X)\n", Rate(10.0, 4, None)),
        ("2.5 Gb/sec (1X SDR)", Rate(2.5, 1, "SDR")),
        ("40 Gb/sec", Rate(40.0)),
        ("800 Gb/sec (4X XDR)", Rate(800.0, 4, "XDR")),
        ("0 Gb/sec", None),
        ("", None),
        ("N/A", None),
        ("4x ???", None),
    ],
)
def test_rates_with_and_without_lanes_and_names(text: str, rate: Rate | None) -> None:
    assert parse_rate(text) == rate


def test_number_and_word_of_a_state_need_not_agree() -> None:
    assert parse_physical_state("4: ACTIVE\n") == "link_up"
    assert parse_physical_state("5: LinkUp\n") == "link_up"
    assert parse_physical_state("3: Disabled") == "disabled"
    assert parse_physical_state("2: <unknown>") == "polling"
    assert parse_state("4: ACTIVE") == "active"
    assert parse_state("1: DOWN\n\n") == "down"
    assert parse_state("") == parse_state("9: strange") == "unknown"


def test_a_second_line_and_a_missing_newline_change_nothing() -> None:
    assert parse_link_layer("InfiniBand\n\n") == parse_link_layer("InfiniBand") == "InfiniBand"
    assert parse_link_layer("Unspecified\n") == "unknown"
    assert parse_guid("b83f:d203:00B1:0001") == parse_guid("b83f:d203:00b1:0001\n") == "b83f:d203:00b1:0001"
    assert parse_guid("0000:0000:0000:0000") is None


@pytest.mark.parametrize(("text", "gbps"), [("200000\n", 200.0), ("-1", None), ("0", None), ("4294967295", None)])
def test_speeds_of_network_devices_are_megabits(text: str, gbps: float | None) -> None:
    assert parse_net_speed(text) == gbps


def test_pci_addresses_are_the_end_of_a_path() -> None:
    assert parse_pci_address("/sys/devices/pci0000:97/0000:97:01.0/0000:9C:00.0") == "0000:9c:00.0"
    assert parse_pci_address("/sys/devices/pci0000:97") is None


def test_pcie_links() -> None:
    assert parse_link_speed("32.0 GT/s PCIe\n") == 32.0
    assert parse_link_speed("5 GT/s") == 5.0
    assert parse_link_speed("Unknown") is None
    assert (parse_link_width("16\n"), parse_link_width("0"), parse_link_width("255")) == (16, None, None)
    assert (mbps(32.0, 8), mbps(32.0, 16), mbps(5.0, 1)) == (252056, 504112, 4000), "as the kernel prints them"


@given(st.text(max_size=60))
def test_any_text_is_survived(text: str) -> None:
    rate = parse_rate(text)
    assert rate is None or rate.gbps > 0
    assert isinstance(parse_state(text), str) and isinstance(parse_physical_state(text), str)
    assert parse_link_width(text) is None or 0 < (parse_link_width(text) or 0) <= 32
    speed = parse_link_speed(text)
    assert speed is None or mbps(speed, 1)
    parse_guid(text), parse_net_speed(text), parse_pci_address(text), parse_link_layer(text)
