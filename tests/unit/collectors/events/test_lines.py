"""Lines of kernels, daemons, jobs and switches: which code each means, of which component, and when it was written."""

from __future__ import annotations

import calendar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.events.classifying import Source, classify
from collectors.events.framing import parse_kmsg, parse_line
from collectors.events.instants import of_iso, of_rfc3164
from collectors.events.kernel_log import instant
from collectors.events.log_files import notices_of
from collectors.events.notices import Line, Notice
from collectors.events.telling import MOST, Teller
from collectors.observing import Now
from tests.unit.collectors.events.hosts import DEVICES, NEW_YEAR_US, NOW, devices, text


def notice(line: str, source: Source = "host") -> Notice | None:
    return classify(parse_line(line, NOW.t_us), source)


def catalogue() -> list[tuple[str, str, str]]:
    rows = [line.split("\t") for line in text("kernel_lines.tsv").splitlines()[1:]]
    return [(code, about, line) for code, about, line in rows]


@pytest.mark.parametrize(("code", "about", "line"), catalogue())
def test_the_catalogue_of_kernel_lines(code: str, about: str, line: str) -> None:
    found = notice(line)
    facts = [] if found is None else list(Teller("log", devices).tell([(found, None)], NOW))
    told = [(f"{fact.fields['event']} {fact.fields['severity']}", fact.fields["device"]) for fact in facts]
    assert told == ([] if code == "-" else [(code, about)])


@pytest.mark.parametrize(("code", "about", "line"), catalogue())
def test_a_line_means_the_same_in_every_frame(code: str, about: str, line: str) -> None:
    bare = parse_line(line, NOW.t_us).text
    assert not bare.startswith(("[", "kernel"))
    frames = (
        f"kernel: [   66.816635] {bare}",
        f"[   66.816635] {bare}",
        f"[Sun Dec  1 14:54:40 2024] {bare}",
        f"[Sun Dec  1 14:54:40 2024] h1 kernel: {bare}",
        f"Dec  1 14:54:40 h1 kernel: [   66.816635] {bare}",
        f"<4>Dec  1 14:54:40 h1 kernel: {bare}",
        f"2024-12-01T14:54:40.123456+00:00 h1 kernel: {bare}",
        f"2024-12-01T14:54:40,123456+00:00 {bare}",
        f"<28>1 2024-12-01T14:54:40.123Z h1 kernel - - - {bare}",
        f"2024 Dec  1 14:54:40.123456 h1 kernel: [   66.816635] {bare}",
        f"Dec 1 2024 14:54:40 h1 kernel: {bare}",
        f"Sun 2024-12-01 14:54:40 CET h1 kernel: {bare}",
        f"1733064880.123456 h1 kernel: {bare}",
        f"kern  :warn  : [   66.816635] {bare}",
        f"kern  :warn  : [Sun Dec  1 14:54:40 2024] {bare}",
        f"[   66.816635 <    0.000012>] {bare}",
        f"\x1b[32m[   66.816635] \x1b[0m\x1b[33m{bare}\x1b[0m",
        f"#033[32m[   66.816635]#033[0m {bare}",
        f"\0\0\0\0Dec  1 14:54:40 h1 kernel: {bare}\0",
        f"\ufeffDec  1 14:54:40 h1 kernel: {bare}",
    )
    expected = notice(bare)
    for frame in frames:
        found = notice(frame)
        assert (found is None) == (expected is None), frame
        if found is not None and expected is not None:
            assert (found.code, found.subject, found.text) == (expected.code, expected.subject, expected.text), frame


def test_values_name_the_victim_and_the_limiting_bridge() -> None:
    limited = next(line for code, _, line in catalogue() if code.startswith("pcie_degraded"))
    found = notice(limited)
    assert found is not None
    assert (found.values["pci"], found.values["limited_by"]) == ("0000:9c:00.0", "0000:97:01.0")
    assert (found.values["width"], found.values["capable_width"], found.values["available_gbps"]) == (8, 16, 252.056)


def test_suppressed_lines_are_a_lower_bound() -> None:
    found = notice("mlx5_cmd_out_err: 353 callbacks suppressed")
    assert found is not None and found.values["at_least"] == 353 and found.values["lower_bound"] is True


@pytest.mark.parametrize(("words", "code"), [("disconnected", "port_down"), ("connected", "port_up")])
def test_what_networkmanager_says_of_carriers(words: str, code: str) -> None:
    line = f"Dec 31 23:59:58 h1 NetworkManager[9]: <info>  [1767225598.12] device (ib6): carrier: link {words}"
    found = notice(line)
    assert found is not None and (found.code, found.subject.name) == (code, "ib6")


def test_kernels_before_5_5_name_pcie_speeds_in_fewer_words() -> None:
    found = notice(
        "mlx5_core 0000:9c:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8 GT/s x8 link at 0000:97:01.0 "
        "(capable of 126.016 Gb/s with 8 GT/s x16 link)"
    )
    assert found is not None and (found.code, found.values["limited_by"]) == ("pcie_degraded", "0000:97:01.0")


def test_six_flaps_in_some_seconds_are_six_across_the_new_year() -> None:
    lines = text("carrier.log").splitlines()
    found = list(Teller("log", devices).tell(notices_of(lines, NOW, "host", 0), NOW))
    down = [fact for fact in found if fact.fields["event"] == "port_down"]
    ib6 = [fact.t_us - NEW_YEAR_US for fact in down if fact.fields["values"]["netdev"] == "ib6"]
    assert ib6 == [-2_000_000, -1_000_000, -1_000_000, -1_000_000, 1_000_000, 1_000_000]
    ranks = {fact.fields["values"]["netdev"]: (fact.fields["device"], fact.fields["severity"]) for fact in down}
    assert ranks == {
        "ib6": ("rnic:h1/mlx5_1", "error"),
        "eth0": ("port:h1/eth0", "warning"),
        "ib1": ("port:h1/ib1", "error"),
    }
    assert [fact.fields["event"] for fact in found].count("port_up") == 1


def test_links_of_cards_that_are_watched_elsewhere_are_told_as_evidence_only() -> None:
    lines = text("carrier.log").splitlines()
    found = list(Teller("log", devices, links=False).tell(notices_of(lines, NOW, "host", 0), NOW))
    told = {(fact.fields["device"], fact.fields["event"], fact.fields["severity"]) for fact in found}
    assert told == {
        ("rnic:h1/mlx5_1", "carrier", "info"),
        ("port:h1/eth0", "port_down", "warning"),
        ("port:h1/ib1", "port_down", "error"),
    }


def test_lines_of_another_time_are_not_told_again() -> None:
    later = Now(t_us=NOW.t_us + 7_200 * 1_000_000, mono_us=NOW.mono_us)
    assert list(notices_of(text("carrier.log").splitlines(), later, "host", 0)) == []


def test_no_line_is_of_the_future_and_a_switch_s_clock_is_believed_within_seconds() -> None:
    ahead = "2026-01-01T05:00:00Z h1 kernel: mlx5_core 0000:1a:00.0 eth2: Link down"
    assert [t_us for _, t_us in notices_of([ahead], NOW, "host", 0)] == [NOW.t_us]
    words = "orchagent: Port Ethernet4 oper state set from up to down"
    lines = [f"<29>Jan  1 00:00:0{second} leaf-0 {words}" for second in (2, 7)]
    found = [t_us for _, t_us in notices_of(lines, NOW, "switch", 0, "leaf-0")]
    assert found == [NOW.t_us, NEW_YEAR_US + 7_000_000]


@given(st.integers(0, 365 * 86_400), st.integers(-180 * 86_400, 180 * 86_400))
def test_a_year_that_is_not_written_is_the_one_nearest_to_now(start_s: int, apart_s: int) -> None:
    written_s = NEW_YEAR_US // 1_000_000 + start_s
    moment = calendar.timegm  # the reference: what the standard library makes of the date
    parts = __import__("time").gmtime(written_s)
    stamp = __import__("time").strftime("%b %e %H:%M:%S", parts)
    found = of_rfc3164(stamp, (written_s + apart_s) * 1_000_000, 0)
    assert found == moment(parts) * 1_000_000


def test_zones() -> None:
    assert of_iso("2026-01-01T01:00:00+01:00", 0) == NEW_YEAR_US
    assert of_iso("2026-01-01T01:00:00", 3_600) == NEW_YEAR_US
    assert of_iso("2025-12-31 19:00:00.5-0500", 7) == NEW_YEAR_US + 500_000
    assert of_rfc3164("Jan  1 05:30:00", NEW_YEAR_US, 19_800) == NEW_YEAR_US
    assert of_iso("2026-02-31T00:00:00Z", 0) is None and of_rfc3164("Feb 31 00:00:00", NEW_YEAR_US, 0) is None
    leap_day = 1_709_164_800_000_000
    assert of_rfc3164("Feb 29 00:00:00", leap_day + 86_400_000_000, 0) == leap_day


def test_kernel_records() -> None:
    record = (
        "4,1234,2000000123,-;mlx5_core 0000:1a:00.0 eth2: Link down\\x0a\n SUBSYSTEM=pci\n DEVICE=+pci:0000:1a:00.0\n"
    )
    line = parse_kmsg(record)
    assert line is not None and (line.priority, line.since_boot_us, line.program) == (4, 2_000_000_123, "kernel")
    assert line.text == "mlx5_core 0000:1a:00.0 eth2: Link down\n"
    assert parse_kmsg("no record") is None
    aged = Line(text="", since_boot_us=NOW.mono_us - 5_000)
    assert instant(aged, NOW) == NOW.t_us - 5_000
    assert instant(Line(text="", since_boot_us=NOW.mono_us + 5_000), NOW) == NOW.t_us, "never in the future"


def test_open_vswitch() -> None:
    found = [
        (each.code, each.severity, each.text) for line in text("vswitchd.log").splitlines() if (each := notice(line))
    ]
    assert [(code, severity) for code, severity, _ in found] == [
        ("vswitch_restart", "warning"),
        ("offload_disabled", "warning"),
        ("unknown", "info"),
        ("offload_disabled", "warning"),
        ("vswitch_restart", "error"),
        ("unknown", "warning"),
    ]
    words = "ovs|00035|dpif_netlink(handler2)|ERR|failed to offload flow: No such file or directory: p0"
    in_syslog = notice(f"Mar  5 11:14:48 h1 ovs-vswitchd: {words}")
    assert in_syslog is not None and in_syslog.values == {"reason": "No such file or directory", "port": "p0"}
    assert DEVICES.component(in_syslog.subject) == "vswitch:h1"
    words = "netdev_offload_dpdk(pmd-c03/id:8)|WARN|dpdk0: rte_flow creation failed: 1 (no room)."
    dpdk = notice(f"2024-03-05T11:14:48.824Z|00001|{words}")
    assert dpdk is not None and (dpdk.code, dpdk.severity) == ("offload_disabled", "warning")
    assert dpdk.values == {"port": "dpdk0", "error": 1, "reason": "no room"}
    unit = notice(
        "Mar  5 11:14:48 h1 systemd[1]: ovs-vswitchd.service: Main process exited, code=killed, status=11/SEGV"
    )
    assert unit is not None and (unit.code, unit.severity) == ("vswitch_restart", "error")


LEAF = "Mar  5 11:14:48 leaf-0 "
ORCHAGENT = "<29>Mar  5 11:14:48 leaf-0 orchagent: :- updatePortOperStatus: Port Ethernet4 oper state set from "
STORM = "orchagent: PFC Watchdog detected PFC storm on port Ethernet4, queue index 3, queue id 0x1, port id 0x2"
LINEPROTO = "%LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet3/1 (to h1), changed state to down"
XR_LINK = "LINK-3-UPDOWN : Interface HundredGigE0/0/0/7"
JUNOS = '<28>1 2026-03-05T11:14:48.561Z leaf-0 mib2d 77 SNMP_TRAP_LINK_DOWN [junos@2636.1.1.1.2.29 admin-status="up(1)"'
IF_DOWN = "%ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Ethernet1/4 is down (Link failure)"


@pytest.mark.parametrize(
    ("line", "code", "port"),
    [
        (f"{ORCHAGENT}up to down", "port_down", "leaf-0/Ethernet4"),
        (f"{ORCHAGENT}down to up", "port_up", "leaf-0/Ethernet4"),
        (f"{LEAF}Ebra: {LINEPROTO}", "port_down", "leaf-0/Ethernet3/1"),
        (f"{LEAF}{IF_DOWN}", "port_down", "leaf-0/Ethernet1/4"),
        (
            f"{LEAF}%LINK-3-UPDOWN: Interface TwentyFiveGigE1/0/4, changed state to down",
            "port_down",
            "leaf-0/TwentyFiveGigE1/0/4",
        ),
        (
            f"<187>RP/0/RP0/CPU0:Mar  5 11:14:48.561 UTC: ifmgr[402]: %PKT_INFRA-{XR_LINK}, changed state to Down",
            "port_down",
            "leaf-0/HundredGigE0/0/0/7",
        ),
        (
            f"<189>LC/0/0/CPU0:2026 Mar  5 11:14:48.561 UTC: ifmgr[402]: %PKT_INFRA-{XR_LINK}, changed state to Up",
            "port_up",
            "leaf-0/HundredGigE0/0/0/7",
        ),
        (f"{JUNOS}] ifIndex 528, ifOperStatus down(2), ifName et-0/0/1", "port_down", "leaf-0/et-0/0/1"),
        (f'{JUNOS} interface-name="et-0/0/1"]', "port_down", "leaf-0/et-0/0/1"),
        (f"{LEAF}{STORM}", "pfc_storm", "leaf-0/Ethernet4"),
        (
            f"{LEAF}NOTICE orchagent: :- f: PFC Watchdog storm restored on  port Ethernet4, queue index 3.",
            "pfc_storm",
            "leaf-0/Ethernet4",
        ),
        (
            "Mar  5 11:14:48.561319 leaf-0 NOTICE swss#orchagent: :- f: Port Ethernet4 oper state set from up to down",
            "port_down",
            "leaf-0/Ethernet4",
        ),
        (f"{LEAF}kernel: something else", None, None),
    ],
)
def test_switches(line: str, code: str | None, port: str | None) -> None:
    now = Now(t_us=1_772_709_300_000_000, mono_us=1)  # March 5th, 2026
    found = list(Teller("syslog", devices).tell(notices_of([line], now, "switch", 0, "leaf-0"), now))
    assert [(fact.fields["event"], fact.fields["device"]) for fact in found] == (
        [(code, f"port:{port}")] if code else []
    )


@pytest.mark.parametrize("year", ["", "2026 "])
def test_a_severity_in_a_sonic_switch_s_own_file_counts(year: str) -> None:
    words = year + "Mar  5 11:14:48.561319 leaf-0 {} syncd#syncd: [none] SAI_API_PORT: something went wrong"
    loud, quiet = (notice(words.format(level), "switch") for level in ("ERR", "NOTICE"))
    assert loud is not None and loud.code == "unknown" and quiet is None


def test_quiet_lines_of_drivers_are_left_out_and_loud_ones_kept() -> None:
    quiet = Line(text="mlx5_core 0000:1a:00.0: some new message about nothing", priority=6, program="kernel")
    assert classify(quiet) is None
    loud = classify(Line(text="mlx5_core 0000:1a:00.0: some new message about nothing", priority=4, program="kernel"))
    assert loud is not None and (loud.code, loud.severity) == ("unknown", "warning")
    words = classify(Line(text="mlx5_core 0000:1a:00.0: something failed", priority=6, program="kernel"))
    assert words is not None and words.code == "unknown"


def test_a_flood_is_bounded_and_told() -> None:
    teller = Teller("kernel-log", devices)
    flood = [(notice("mlx5_core 0000:1a:00.0 eth2: Link down"), None)] * (MOST + 30)
    assert len(list(teller.tell(flood, NOW))) == MOST  # type: ignore[arg-type]
    later = Now(t_us=NOW.t_us + 61_000_000, mono_us=NOW.mono_us + 61_000_000)
    (told,) = teller.tell([], later)
    assert told.fields["values"] == {"left_out": 30} and told.fields["device"] == "rnic:h1/mlx5_0"
    assert list(teller.tell([], later)) == []


def test_a_port_that_kernels_tell_of_twice_went_down_once() -> None:
    lines = [
        "[ 4435.115811] mlx5_core 0000:1a:00.0 eth2: Link down",
        "[ 4435.115900] mlx5_core 0000:1a:00.0 mlx5_0: Port: 1 Link DOWN",
        "[ 4441.768101] mlx5_core 0000:1a:00.0 eth2: Link up",
        "[ 4441.769587] mlx5_core 0000:1a:00.0 mlx5_0: Port: 1 Link ACTIVE",
    ]
    at_boot = Now(t_us=NOW.t_us, mono_us=4_450_000_000)
    found = [each.code for each, _ in notices_of(lines, at_boot, "host", 0)]
    assert found == ["port_down", "carrier", "port_up", "carrier"]
