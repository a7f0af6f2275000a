"""The parts that ask switches: gNMI from a real server, SONiC by its commands."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import msgspec
import pytest

from collectors.events.devices import Devices
from collectors.observing import Closing, Collector, Now, Observed
from collectors.switches.facts import MOST_COLUMNS, facts_of
from collectors.switches.gnmi import GnmiSwitch, GnmiTarget
from collectors.switches.sonic import SonicCommands, SonicSwitch, device_time
from schemas.telemetry import DeviceEvent, SwitchQueues
from tests.small_fabric import envelope
from tests.unit.collectors.switches.gnmi_server import Server, notification

DATA = Path(__file__).parents[3] / "data" / "collectors" / "switches"
SECOND_US = 1_000_000


def devices() -> Devices:
    return Devices(host="h1")


def clock(later_s: float = 0.0) -> Now:
    return Now(t_us=time.time_ns() // 1_000, mono_us=time.monotonic_ns() // 1_000 + round(later_s * SECOND_US))


def converted(fact: Observed) -> SwitchQueues | DeviceEvent:
    body = msgspec.to_builtins(envelope(f"agent:h1/{fact.stream}", 1.0, 1))
    return msgspec.convert(body | fact.fields, SwitchQueues if fact.topic == "switch-queues" else DeviceEvent)


QOS = [("qos", {}), ("interfaces", {}), ("interface", {"interface-id": "Ethernet4"}), ("output", {}), ("queues", {})]
PFC = [*QOS[:3], ("pfc", {}), ("pfc-priorities", {}), ("pfc-priority", {"dot1p": "3"}), ("state", {})]
CRC = [("interfaces", {}), ("interface", {"name": "Ethernet4"}), ("ethernet", {}), ("state", {}), ("counters", {})]


def queue(name: str, leaf: str) -> list:
    return [("queue", {"name": name}), ("state", {}), (leaf, {})]


def a_second(t_ns: int, depth: int) -> list:
    return [
        notification(t_ns, QOS, [(queue("3", "avg-queue-len"), depth), (queue("3", "dropped-pkts"), 17)]),
        notification(t_ns, PFC, [([("statistics", {})], '{"pause-frames-rx": "12"}')]),
        notification(t_ns, CRC, [([("in-crc-errors", {})], 5)]),
        notification(t_ns, [], [([("system", {}), ("state", {}), ("software-version", {})], '"SONiC.202405"')]),
    ]


@pytest.fixture
def serving() -> Iterator[list[Server]]:
    servers: list[Server] = []
    yield servers
    for server in servers:
        server.stop()


def target(server: Server, **further: object) -> GnmiTarget:
    return GnmiTarget(switch="leaf-0", host="127.0.0.1", port=server.port, insecure=True, **further)  # type: ignore[arg-type]


def collect_until(part: GnmiSwitch, enough: int) -> list[Observed]:
    """Asks until there are so many facts."""
    found: list[Observed] = []
    until = time.monotonic() + 20.0
    while len(found) < enough:
        assert time.monotonic() < until, "the stream brings nothing"
        found += part.collect(clock())
        part._stream and part._stream._thread.join(0.01)
    return found


@pytest.mark.webhook
def test_what_a_switch_streams_becomes_columns_with_both_clocks(serving: list[Server]) -> None:
    behind_ns = time.time_ns() - 40_000_000
    serving.append(Server(a_second(behind_ns, 1000) + a_second(behind_ns + 1_000_000, 2000)))
    part = GnmiSwitch(target(serving[0]), devices)
    assert isinstance(part, Collector) and isinstance(part, Closing)
    found: dict[tuple[str, object], object] = {}
    rows = 0
    while rows < 2 or len(found) < 2:
        for fact in collect_until(part, 1):
            value = converted(fact)
            assert isinstance(value, SwitchQueues) and value.switch == "leaf-0"
            for column in value.ports:
                found[column.port, column.queue] = column
                rows += sum(depth is not None for depth in column.depth_bytes)
                assert column.received_us is not None and column.t_us[0] in (
                    behind_ns // 1000,
                    behind_ns // 1000 + 1000,
                )
                assert all(0 < got - t < 20 * SECOND_US for got, t in zip(column.received_us, column.t_us, strict=True))
    assert set(found) == {("Ethernet4", 3), ("Ethernet4", "port")}
    while part._software is None:
        list(part.collect(clock()))
    assert part._software == "SONiC.202405"
    request = serving[0].requests[0].subscribe
    assert {entry.sample_interval for entry in request.subscription} == {10**9} and len(request.subscription) == 4
    part.close(clock())


@pytest.mark.webhook
@pytest.mark.parametrize("cut", [0, 2, 3], ids=["no prefix", "the table in the path", "the table in the prefix"])
def test_sonic_s_database_by_gnmi(serving: list[Server], cut: int) -> None:
    steps = [(name, {}) for name in ("COUNTERS_DB", "localhost", "COUNTERS", "Ethernet68", "Queues")]
    prefix, where = steps[:cut], steps[cut or 2 :]
    stormed, names = '"PFC_WD_STATUS": "stormed"', [("COUNTERS_PORT_NAME_MAP", {})]
    depth = '"SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES": "4096"'
    value = f'{{"Ethernet68:0": {{}}, "Ethernet68:3": {{{depth}, {stormed}}}}}'
    others = notification(time.time_ns(), [], [(names, '{"Ethernet68": "oid:0x1000000000002"}')])
    serving.append(Server([others, notification(time.time_ns(), prefix, [(where, value)])]))
    wanted = target(serving[0], target="COUNTERS_DB", paths=("COUNTERS/Ethernet*/Queues",), encoding="json_ietf")
    part = GnmiSwitch(wanted, devices)
    queues, storm = (converted(fact) for fact in collect_until(part, 2))
    assert isinstance(queues, SwitchQueues) and queues.ports[0].depth_bytes == (4096,)
    assert isinstance(storm, DeviceEvent)
    assert (storm.device, storm.event) == ("port:leaf-0/Ethernet68", "pfc_storm")
    request = serving[0].requests[0].subscribe
    assert request.prefix.target == "COUNTERS_DB"
    assert [step.name for step in request.subscription[0].path.elem] == ["COUNTERS", "Ethernet*", "Queues"]
    part.close(clock())


@pytest.mark.webhook
def test_a_clock_that_is_far_off_is_told_and_not_used(serving: list[Server]) -> None:
    serving.append(Server(a_second(time.time_ns() - 3_600 * 10**9, 1000)))
    part = GnmiSwitch(target(serving[0]), devices)
    found = [converted(fact) for fact in collect_until(part, 2)]
    told = [each for each in found if isinstance(each, DeviceEvent)]
    assert [(each.device, each.event) for each in told] == [("switch:leaf-0", "unknown")]
    assert abs(int(str(told[0].values["skew_us"])) + 3_600 * SECOND_US) < 60 * SECOND_US
    columns = [column for each in found if isinstance(each, SwitchQueues) for column in each.ports]
    assert columns and all(column.t_us == column.received_us for column in columns)
    part.close(clock())


@pytest.mark.webhook
def test_a_stream_that_ends_is_begun_anew_after_a_pause(serving: list[Server]) -> None:
    serving.append(Server(a_second(time.time_ns(), 1000), ends=True))
    part = GnmiSwitch(target(serving[0]), devices)
    collect_until(part, 1)
    assert "ended: the switch ended it" in failure(part)
    assert list(part.collect(clock())) == [] and part._stream is None, "a pause"
    list(part.collect(clock(10.0)))
    assert part._stream is not None
    part.close(clock())


def failure(part: GnmiSwitch) -> str:
    until = time.monotonic() + 20.0
    while time.monotonic() < until:
        try:
            list(part.collect(clock()))
        except OSError as error:
            return str(error)
        part._stream and part._stream._thread.join(0.05)
    raise AssertionError("it does not fail")


@pytest.mark.webhook
def test_a_switch_that_refuses_is_a_failure_and_no_event(serving: list[Server]) -> None:
    serving.append(Server([], refuses=grpc.StatusCode.INVALID_ARGUMENT))
    part = GnmiSwitch(target(serving[0]), devices)
    for _ in range(3):
        part._again_us = 0
        assert "no such path" in failure(part)


@pytest.mark.webhook
def test_a_switch_that_nobody_reaches_is_told_after_three_tries(serving: list[Server]) -> None:
    server = Server([])
    server.stop()
    part = GnmiSwitch(target(server, timeout_s=1), devices)
    for _ in range(2):
        part._again_us = 0
        assert "gNMI stream of leaf-0 ended" in failure(part)
    part._again_us = 0
    (fact,) = collect_until(part, 1)
    value = converted(fact)
    assert isinstance(value, DeviceEvent)
    assert (value.device, value.event, value.severity) == ("switch:leaf-0", "switch_unreachable", "warning")


LOADED = """
import sys
import collectors.switches.gnmi, collectors.switches.sonic
print("pygnmi" in sys.modules, "grpc" in sys.modules)
"""


def test_pygnmi_is_loaded_only_when_a_switch_is_asked() -> None:
    ran = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert ran.stdout == "False False\n"


def commands(**changes: object) -> SonicCommands:
    def show(name: str) -> tuple[str, ...]:
        return "cat", str(DATA / name)

    known = {
        "clock": ("date", "+%s%N"),
        "version": ("echo", "SONiC Software Version: SONiC.202405.1"),
        "queues": show("queue_counters.txt"),
        "watermarks": show("watermarks.txt"),
        "pauses": show("pfc_counters.txt"),
        "watchdog": show("pfcwd_sequence.txt"),
        "lldp": show("lldp_table.txt"),
    }
    return SonicCommands(**known | changes)  # type: ignore[arg-type]


def test_a_sonic_switch_by_its_commands() -> None:
    part = SonicSwitch("leaf-0", devices, commands())
    assert isinstance(part, Collector)
    queues, *storms = part.collect(clock())
    value = converted(queues)
    assert isinstance(value, SwitchQueues) and value.software == "SONiC.202405.1"
    columns = {(column.port, column.queue): column for column in value.ports}
    third = columns["Ethernet0", 3]
    assert (third.depth_bytes, third.dropped, third.pfc_rx, third.pfc_tx) == ((143_520,), (117,), (203,), (213,))
    assert third.received_us is not None and 0 <= third.t_us[0] - third.received_us[0] < 5 * SECOND_US
    assert ("Ethernet0", "ALL16") not in columns, "what is N/A throughout is no queue of this switch"
    assert {(fact.fields["device"], fact.fields["event"]) for fact in storms} == {
        ("port:leaf-0/Ethernet4", "pfc_storm")
    }
    assert {fact.fields["values"]["peer"] for fact in storms} == {"h1/eth2"}
    assert all("from h1/eth2" in fact.fields["text"] for fact in storms)
    silent = SonicSwitch("leaf-0", devices, commands(lldp=("false",)))
    _, *unnamed = silent.collect(clock())
    assert len(unnamed) == len(storms) and all("peer" not in fact.fields["values"] for fact in unnamed)


def test_congestion_control_of_a_sonic_switch_is_checked_if_asked() -> None:
    quiet = {"watchdog": None, "settings": ("cat", str(DATA / "config_{table}.json"))}
    part = SonicSwitch("leaf-0", devices, commands(lossless=frozenset({3}), **quiet))
    _, *told = part.collect(clock())
    assert [(fact.fields["device"], fact.fields["event"]) for fact in told] == [
        (f"config:leaf-0/{port}", "cc_disabled") for port in ("Ethernet12", "Ethernet16", "Ethernet8")
    ]
    assert len(list(part.collect(clock()))) == 1, "told once"
    silent = SonicSwitch("leaf-0", devices, commands(lossless=frozenset({3}), watchdog=None, settings=("false",)))
    assert len(list(silent.collect(clock()))) == 1


def test_a_command_that_this_release_lacks_leaves_its_columns_out() -> None:
    part = SonicSwitch("leaf-0", devices, commands(watermarks=("false",), watchdog=("false",)))
    (fact,) = part.collect(clock())
    assert all(column["depth_bytes"] == [None] for column in fact.fields["ports"])


def test_a_command_that_prints_half_an_answer_leaves_its_columns_out() -> None:
    cut = ("echo", '{"Ethernet0": {"UC3": {"droppa')
    (fact,) = SonicSwitch("leaf-0", devices, commands(queues=cut, watchdog=None)).collect(clock())
    assert fact.fields["ports"] and all("dropped" not in column for column in fact.fields["ports"])
    alone = SonicSwitch("leaf-0", devices, commands(queues=cut, watermarks=None, pauses=None, watchdog=None))
    with pytest.raises(ValueError, match="show queue counters: not JSON"):
        list(alone.collect(clock()))


def test_a_sonic_switch_that_does_not_answer() -> None:
    part = SonicSwitch("leaf-0", devices, commands(prefix=("false",)))
    for _ in range(2):
        with pytest.raises(OSError, match="false ended with status 1"):
            list(part.collect(clock()))
    (fact,) = part.collect(clock())
    assert (fact.fields["device"], fact.fields["event"]) == ("switch:leaf-0", "switch_unreachable")
    with pytest.raises(OSError, match="status 1"):
        list(part.collect(clock()))


def test_the_switch_s_own_time() -> None:
    assert device_time("1753000000123456789\n") == 1_753_000_000_123_456
    assert device_time("1753000000N\n") is device_time("") is None


def test_a_sonic_switch_whose_clock_is_far_off() -> None:
    part = SonicSwitch("leaf-0", devices, commands(clock=("echo", "1753000000123456789"), watchdog=None))
    queues, told = part.collect(clock())
    assert all(column["t_us"] == column["received_us"] for column in queues.fields["ports"])
    assert (told.fields["device"], told.fields["severity"]) == ("switch:leaf-0", "warning")
    assert len(list(part.collect(clock()))) == 1, "told once"


def test_a_large_switch_takes_several_messages() -> None:
    columns = [{"port": f"Ethernet{n}"} for n in range(2 * MOST_COLUMNS + 1)]
    sizes = [len(fact.fields["ports"]) for fact in facts_of("leaf-0", columns, None, clock())]
    assert sizes == [MOST_COLUMNS, MOST_COLUMNS, 1] and list(facts_of("leaf-0", [], None, clock())) == []
