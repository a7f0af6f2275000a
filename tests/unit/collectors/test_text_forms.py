"""Hazards that every parser of text meets: line ends of other systems, and numbers of other places. No sample of either
was ever seen in the field, so these are made.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.clocks.chrony import parse_tracking
from collectors.events.bonds import parse_bond
from collectors.events.classifying import classify
from collectors.events.framing import parse_line
from collectors.events.lldp import parse_neighbours
from collectors.events.qos import parse_dcb_pfc, parse_mlnx_qos
from collectors.flows.datapath import parse_dump
from collectors.flows.rnic import parse_cards
from collectors.flows.tc import parse_filters
from collectors.rnic.counter_text import Unread, parse_counter
from collectors.rnic.fabric_text import parse_perfquery
from collectors.rnic.tool_text import parse_ethtool, parse_hw_counters
from collectors.switches.readings import parse_number
from collectors.switches.tables import (
    neighbours,
    nexus_pauses,
    pfc_counters,
    queue_counters,
    queue_watermarks,
    software_version,
    watchdog,
)

DATA = Path(__file__).parents[2] / "data" / "collectors"


def lines(text: str) -> object:
    return [classify(parse_line(line, 1_767_225_610_000_000)) for line in text.split("\n")]


PARSERS: tuple[tuple[Callable[[str], object], str], ...] = (
    (lines, "events/kernel_lines.tsv"),
    (lines, "events/carrier.log"),
    (lines, "events/vswitchd.log"),
    (lambda text: parse_bond(text, "bond0"), "events/bond_lacp.txt"),
    (parse_mlnx_qos, "events/mlnx_qos.txt"),
    (parse_dcb_pfc, "events/dcb_pfc.json"),
    (parse_neighbours, "events/lldp_two.json"),
    (parse_dump, "flows/mixed_offload.txt"),
    (parse_dump, "flows/not_offloaded_short.txt"),
    (parse_dump, "flows/userspace_long.txt"),
    (lambda text: parse_filters(text, "p0"), "flows/tc_filters.txt"),
    (parse_cards, "flows/cards.ndjson"),
    (parse_hw_counters, "rnic/rdma_statistic.txt"),
    (parse_hw_counters, "rnic/rdma_statistic_pretty.txt"),
    (parse_hw_counters, "rnic/show_counters.txt"),
    (parse_ethtool, "rnic/ethtool_statistics.txt"),
    (parse_perfquery, "rnic/perfquery.txt"),
    (lambda text: list(queue_counters(text)), "switches/queue_counters.txt"),
    (lambda text: list(queue_watermarks(text)), "switches/watermarks.txt"),
    (lambda text: list(pfc_counters(text)), "switches/pfc_counters.txt"),
    (lambda text: list(watchdog(text)), "switches/pfcwd_sequence.txt"),
    (lambda text: list(nexus_pauses(text)), "switches/nexus_pauses.txt"),
    (neighbours, "switches/lldp_table.txt"),
    (software_version, "switches/show_version.txt"),
    (lambda text: parse_tracking(text, 5), "clocks/tracking_slow.csv"),
)


@pytest.mark.parametrize(("parse", "name"), PARSERS, ids=[name for _, name in PARSERS])
def test_line_ends_of_other_systems_change_nothing(parse: Callable[[str], object], name: str) -> None:
    text = (DATA / name).read_text()
    found = parse(text)
    assert found is not None and found not in ([], {}, "")
    assert parse(text.replace("\n", "\r\n")) == found


@pytest.mark.parametrize(("parse", "name"), PARSERS, ids=[name for _, name in PARSERS])
def test_what_terminals_and_editors_add_changes_nothing(parse: Callable[[str], object], name: str) -> None:
    text = (DATA / name).read_text()
    coloured = "\n".join(f"\x1b[0m{line}\x1b[K\x1b[0m" if line else line for line in text.split("\n"))
    for form in ("\ufeff" + text, "\0" * 4096 + text, text + "\0", coloured):
        assert parse(form) == parse(text)


@given(st.integers(0, 2**53 - 1), st.sampled_from(["{:_}", "{:,}", "{}"]), st.sampled_from([".", "'", " ", "\u00a0"]))
def test_a_number_is_never_taken_for_another_one_because_of_where_it_was_written(
    number: int, form: str, separator: str
) -> None:
    """Groups by commas are read; those by other signs are no number rather than a wrong one."""
    text = form.format(number).replace("_", separator)
    expected = number if form != "{:_}" or number < 1000 else None
    read = parse_counter(text.encode())
    assert (None if isinstance(read, Unread) else read) == parse_number(text) == expected


@given(st.integers(0, 10**6), st.integers(0, 99))
def test_a_decimal_comma_is_no_group(whole: int, part: int) -> None:
    assert parse_number(f"{whole},{part:02}") is None and parse_counter(f"{whole},{part:02}".encode()) is Unread.TEXT
