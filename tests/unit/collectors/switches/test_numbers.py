"""What each number is that a switch tells: OpenConfig paths, COUNTERS_DB, tables; and how they become columns."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.switches.columns import HOLD_US, QueueRows, Told
from collectors.switches.counters_db import storms_of_db
from collectors.switches.openconfig import parse_path, readings_of
from collectors.switches.readings import PORT, Reading, parse_number, queue_name
from collectors.switches.settings_db import TABLES, judge_settings, marking_queues, parse_table
from collectors.switches.tables import (
    neighbours,
    nexus_pauses,
    pfc_counters,
    queue_counters,
    queue_watermarks,
    software_version,
    watchdog,
)
from schemas.telemetry import QueueColumns

DATA = Path(__file__).parents[3] / "data" / "collectors" / "switches"
Plain = tuple[str, int | str, str, int | None]


def text(name: str) -> str:
    return (DATA / name).read_text()


def plain(readings: object) -> list[Plain]:
    return [(each.port, each.queue, each.column, each.value) for each in readings]  # type: ignore[attr-defined]


def test_queue_counters_of_several_releases_in_one_paste() -> None:
    assert plain(queue_counters(text("queue_counters.txt"))) == [
        *(("Ethernet0", q, "dropped", 39 * q) for q in range(4)),
        ("Ethernet0", "MC8", "dropped", 74),
        ("Ethernet0", "ALL16", "dropped", None),
        ("Ethernet4", 3, "dropped", 421_358_651),
        ("Ethernet4", 7, "dropped", 0),
        ("Ethernet8", 3, "dropped", 830_694_313),
    ]


def test_marks_where_a_platform_counts_them() -> None:
    printed = (
        "    Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes   EcnMarked/pkts EcnMarked/bytes\n"
        "--------  -----  --------------  ---------------  -----------  ------------   -------------- ---------------\n"
        "    Eth4    UC3           1,234           56,789            7           890            4,321         987,654\n"
        "    Eth4    UC4               0                0            0             0              N/A             N/A\n"
    )
    assert plain(queue_counters(printed)) == [
        ("Eth4", 3, "dropped", 7),
        ("Eth4", 3, "ecn_marked", 4_321),
        ("Eth4", 4, "dropped", 0),
        ("Eth4", 4, "ecn_marked", None),
    ]
    alone = (
        "Port    TxQ    WredDrp/pkts    EcnMarked/pkts\n------  -----  --------------  ----------------\n"
        "  Eth4    UC3             N/A             4,321\n  Eth4    UC4             N/A               N/A\n"
    )
    assert plain(queue_counters(alone)) == [("Eth4", 3, "ecn_marked", 4_321), ("Eth4", 4, "ecn_marked", None)]


def test_queue_counters_as_json() -> None:
    assert plain(queue_counters(text("queue_counters.json"))) == [
        ("Ethernet0", 3, "dropped", 1019),
        ("Ethernet0", "ALL20", "dropped", None),
    ]
    with pytest.raises(ValueError, match="show queue counters: not JSON"):
        list(queue_counters("{broken"))


def test_pauses_by_priority_and_direction() -> None:
    found = plain(pfc_counters(text("pfc_counters.txt")))
    assert found[:2] == [("Ethernet0", 0, "pfc_rx", 1200), ("Ethernet0", 1, "pfc_rx", 201)]
    assert ("Ethernet0", 0, "pfc_tx", 1210) in found and ("Ethernet-BP4", 7, "pfc_tx", None) in found
    assert len(found) == 32


def test_headings_of_the_next_table_are_no_row_of_the_one_before() -> None:
    pasted = "## show pfc counters\n" + text("pfc_counters.txt") + "## show pfcwd stats\n" + text("pfcwd_sequence.txt")
    for paste in (pasted, pasted.replace("\n", "\r\n")):
        assert plain(pfc_counters(paste)) == plain(pfc_counters(text("pfc_counters.txt")))
        assert list(watchdog(paste)) == list(watchdog(text("pfcwd_sequence.txt")))


@pytest.mark.parametrize("said", ["", "\n", "Object map is empty!\n", "----  ----"])
def test_a_command_that_says_nothing_gives_nothing(said: str) -> None:
    assert [*queue_counters(said), *pfc_counters(said), *queue_watermarks(said), *watchdog(said)] == []
    assert neighbours(said) == {}


def test_what_is_attached_to_ports() -> None:
    assert neighbours(text("lldp_table.txt")) == {
        "Ethernet0": "spine-1/Ethernet12",
        "Ethernet4": "h1/eth2",
        "Ethernet8": "02:00:00:00:00:07",
    }
    assert neighbours("bash: show: command not found") == {}


def test_watermarks_and_version() -> None:
    assert plain(queue_watermarks(text("watermarks.txt"))) == [
        ("Ethernet0", 0, "depth_bytes", 0),
        ("Ethernet0", 1, "depth_bytes", 208),
        ("Ethernet0", 3, "depth_bytes", 143_520),
        *(("Ethernet4", q, "depth_bytes", None) for q in (0, 1, 3)),
    ]
    assert software_version("\nSONiC Software Version: SONiC.202405.1\nDistribution: Debian\n") == "SONiC.202405.1"
    assert software_version("bash: show: command not found") is None


def test_pauses_of_nexus_ports_internal_ones_too() -> None:
    assert plain(nexus_pauses(text("nexus_pauses.txt"))) == [
        ("Ethernet1/2/1", PORT, "pfc_rx", 0),
        ("Ethernet1/2/1", PORT, "pfc_tx", 2_787_490),
        ("ii1/1/1", PORT, "pfc_rx", 16_464_312),
        ("ii1/1/1", PORT, "pfc_tx", 4_771_198),
        ("Ethernet1/3", PORT, "pfc_rx", 0),
        ("Ethernet1/3", PORT, "pfc_tx", 0),
    ]


def test_counters_db() -> None:
    found = [plain(readings_of(path, value).readings) for path, value in json.loads(text("counters_db.json")).items()]
    assert found[0] == [
        ("Ethernet68", 1, "dropped", 2),
        ("Ethernet68", 1, "depth_bytes", 64),
        ("Ethernet68", 3, "depth_bytes", 4096),
        ("Ethernet68", 3, "dropped", 0),
        ("Ethernet68", 3, "ecn_marked", 17),
        ("Ethernet68", 3, "depth_bytes", 9000),
    ]
    assert found[1] == [("Ethernet1", 7, "pfc_rx", 1), ("Ethernet68", 7, "pfc_rx", 2)]
    assert found[2:] == [[("Ethernet68", PORT, "crc_errors", 5)], []]
    (storm,) = storms_of_db(
        ["Ethernet68", "Queues"], json.loads(text("counters_db.json"))["COUNTERS/Ethernet68/Queues"]
    )
    assert (storm.port, storm.queue, storm.stormed, storm.detected, storm.restored) == ("Ethernet68", 3, False, 4, 4)


QUEUE = "openconfig-qos:qos/interfaces/interface[interface-id=Ethernet1/1]/output/queues/queue[name=3]/state"


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (f"{QUEUE}/avg-queue-len", 1500, [("Ethernet1/1", 3, "depth_bytes", 1500)]),
        (f"{QUEUE}/dropped-pkts", "17", [("Ethernet1/1", 3, "dropped", 17)]),
        (f"{QUEUE}/dropped-pkts", "N/A", [("Ethernet1/1", 3, "dropped", None)]),
        (f"{QUEUE}/transmit-pkts", 5, []),
        (
            QUEUE,
            {"openconfig-qos:max-queue-len": "9", "ecn-marked-pkts": 4},
            [("Ethernet1/1", 3, "depth_bytes", 9), ("Ethernet1/1", 3, "ecn_marked", 4)],
        ),
        (
            "qos/interfaces/interface[interface-id=Ethernet4]/pfc/pfc-priorities/pfc-priority[dot1p=3]/state/statistics",
            {"pause-frames-rx": "12", "pause-frames-tx": 0},
            [("Ethernet4", 3, "pfc_rx", 12), ("Ethernet4", 3, "pfc_tx", 0)],
        ),
        (
            "interfaces/interface[name=Ethernet4]/ethernet/state/counters/in-crc-errors",
            8,
            [("Ethernet4", PORT, "crc_errors", 8)],
        ),
        (
            "interfaces",
            {"interface": [{"name": "Ethernet4", "state": {"counters": {"in-fcs-errors": "3"}}}]},
            [("Ethernet4", PORT, "crc_errors", 3)],
        ),
        ("", {"qos": {"interfaces": {"interface": [{"interface-id": "e1", "output": {"queues": {"queue": [
            {"name": "UC3", "state": {"name": "UC3", "dropped-pkts": 2}}]}}}]}}}, [("e1", 3, "dropped", 2)]),
        ("interfaces/interface[name=Ethernet4]/state/oper-status", "UP", []),
        ("", None, []),
    ],
)  # fmt: skip
def test_openconfig(path: str, value: object, expected: list[Plain]) -> None:
    assert plain(readings_of(path, value).readings) == expected


def test_prefixes_keys_and_the_release() -> None:
    found = readings_of("queue[name=3]/state/dropped-pkts", 1, QUEUE.partition("/queue[")[0])
    assert plain(found.readings) == [("Ethernet1/1", 3, "dropped", 1)]
    assert readings_of("openconfig-system:system/state/software-version", "SONiC.202405").software == "SONiC.202405"
    steps = parse_path("a/m:b[k=x/y][l=c\\]d]/e")
    assert [(step.name, step.keys) for step in steps] == [("a", {}), ("b", {"k": "x/y", "l": "c]d"}), ("e", {})]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5), ("5", 5), ("1,234", 1234), ("421,358,651", 421_358_651), (" 7 ", 7), (4.0, 4), ("0", 0),
        ("N/A", None), ("", None), ("-4,272", None), (-1, None), (4.5, None), (True, None), (None, None),
        ("1,23", None), ("0.00", None), (1 << 64, None), ("99999999999999999999", None), ([], None),
        ("1.8527668e+07", 18_527_668), ("5e3", 5_000), ("1.5e0", None), ("1.8446744e+19", None), ("0,5", None),
        ("oid:0x1500000000001", None), ("0x15", None), ("12\r\n", 12), ("1.234.567", None), ("٣", None),
    ],
)  # fmt: skip
def test_numbers_as_switches_write_them(value: object, expected: int | None) -> None:
    assert parse_number(value) == expected


def test_names_of_queues() -> None:
    assert [queue_name(name) for name in ("3", "UC3", "MC10", "ALL20", "roce")] == [3, 3, "MC10", "ALL20", "roce"]


def told(column: str, value: int | None, t_us: int, rank: int = 0, queue: int | str = 3) -> Told:
    return Told(Reading("e1", queue, column, value, rank), t_us, t_us + 40_000)  # type: ignore[arg-type]


def test_each_depth_is_a_row_and_the_last_one_has_the_newest_counters() -> None:
    rows = QueueRows()
    batch = [
        told("depth_bytes", 100, 1_000_000),
        told("dropped", 5, 1_500_000),
        told("depth_bytes", 300, 2_000_000),
        told("ecn_marked", 7, 2_100_000),
    ]
    (columns,) = rows.take(batch)
    assert columns == {
        "port": "e1",
        "queue": 3,
        "t_us": [1_000_000, 2_000_000],
        "received_us": [1_040_000, 2_040_000],
        "depth_bytes": [100, 300],
        "dropped": [None, 5],
        "ecn_marked": [None, 7],
    }
    msgspec.convert(columns, QueueColumns)
    (later,) = rows.take([told("depth_bytes", 200, 3_000_000)])
    assert (later["dropped"], later["ecn_marked"]) == ([5], [7]), "counters that were not told anew are still known"
    (after,) = rows.take([told("depth_bytes", 200, 3_000_000 + HOLD_US)])
    assert (after["dropped"], after["ecn_marked"]) == ([None], [None]), "but not for ever"


def test_kinds_of_depths_are_not_mixed() -> None:
    rows = QueueRows()
    (first,) = rows.take([told("depth_bytes", 9_000, 1, rank=3)])
    assert first["depth_bytes"] == [9_000]
    (second,) = rows.take([told("depth_bytes", 50, 2, rank=0), told("depth_bytes", 9_000, 2, rank=3)])
    assert second["depth_bytes"] == [50]
    assert rows.take([told("depth_bytes", 9_000, 3, rank=3)]) == []


def test_a_queue_of_which_nothing_is_known_is_not_told() -> None:
    assert QueueRows().take([told("dropped", None, 1, queue="ALL20")]) == []
    (port,) = QueueRows().take([told("crc_errors", 2, 1, queue=PORT)])
    assert port["depth_bytes"] == [None] and port["crc_errors"] == [2]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["depth_bytes", "dropped", "pfc_rx"]),
            st.one_of(st.none(), st.integers(0, 9)),
            st.integers(0, 99),
        ),
        max_size=30,
    )
)
def test_columns_have_one_length_and_go_with_time(numbers: list[tuple[str, int | None, int]]) -> None:
    for columns in QueueRows().take([told(column, value, t_us) for column, value, t_us in numbers]):
        converted = msgspec.convert(columns, QueueColumns)
        assert list(converted.t_us) == sorted(converted.t_us)
        depths = sum(column == "depth_bytes" for column, _, _ in numbers)
        assert len(converted.t_us) == max(1, depths)


def settings(edit: tuple[str, str] = ("", "")) -> tuple[dict, dict, dict]:
    queues, profiles, maps = (parse_table(text(f"config_{name}.json").replace(*edit)) for name in TABLES)
    return queues, profiles, maps


def test_ports_whose_congestion_control_is_off() -> None:
    found = {each.subject.name: each for each in judge_settings("leaf-0", settings(), frozenset({3}))}
    assert all(each.code == "cc_disabled" and each.subject.kind == "config" for each in found.values())
    assert {name: each.text.partition(": ")[2] for name, each in found.items()} == {
        "leaf-0/Ethernet8": "PFC off on priority 3",
        "leaf-0/Ethernet12": "ECN profile missing on queue 3",
        "leaf-0/Ethernet16": "ECN profile missing on queue 3",
    }
    assert marking_queues(*settings()[:2])["Ethernet4"] == {3, 4}


def test_a_switch_that_knows_nothing_of_the_priority_is_not_judged() -> None:
    assert list(judge_settings("leaf-0", settings(), frozenset({6}))) == []
    assert list(judge_settings("leaf-0", ({}, {}, {}), frozenset({3}))) == []
    with pytest.raises(ValueError, match="sonic-cfggen: not JSON"):
        parse_table("Traceback")
