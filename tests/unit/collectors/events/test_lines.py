"""Lines of kernels, daemons, jobs and switches: which code each means, of which component, and when it was written."""

from __future__ import annotations

import calendar
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.events.classifying import Source, classify
from collectors.events.framing import parse_kmsg, parse_line
from collectors.events.instants import of_iso, of_rfc3164
from collectors.events.job_times import EARLY_S, JobTimes
from collectors.events.kernel_log import instant
from collectors.events.log_files import MOST_REPEATED, notices_of
from collectors.events.notices import Line, Notice
from collectors.events.telling import MOST, Teller
from collectors.events.wrapping import join_wrapped
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


def test_a_message_that_a_terminal_wrapped_is_read_whole() -> None:
    pasted = [
        "    mlx5_core 0000:9c:00.0: port_module:252:(pid 0): Port module",
        "    event[error]: module 0, Cable error, Power budget exceeded",
        "[  913.000001] mlx5_core 0000:1a:00.0 eth2: Link down",
    ]
    joined = join_wrapped(pasted)
    assert len(joined) == 2
    found = notice(joined[0])
    assert found is not None and found.values["reason"] == "Power budget exceeded"
    assert join_wrapped([pasted[0], pasted[2]]) == [pasted[0], pasted[2]]


@given(st.data())
def test_a_driver_s_line_means_the_same_wherever_it_was_wrapped(data: st.DataObject) -> None:
    whole = data.draw(
        st.sampled_from([line for code, _, line in catalogue() if code.startswith(("pcie_deg", "module"))])
    )
    head = re.search(r"\d\d\.\d: ", whole)
    assert head is not None
    cuts = sorted(data.draw(st.sets(st.integers(head.end() + 1, len(whole) - 1), min_size=1, max_size=2)))
    parts = [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, None], strict=True)]
    (joined,) = join_wrapped([parts[0], *(f"    {part}" for part in parts[1:])])
    expected, found = notice(whole), notice(joined)
    assert (
        expected is not None and found is not None and (found.code, found.subject) == (expected.code, expected.subject)
    )


def test_lines_that_stand_for_themselves_are_never_joined() -> None:
    alone = "mlx5_core 0000:1a:00.0: some new message"
    for following in (
        "ib6: lost carrier",
        "    NETDEV WATCHDOG: eth2 (mlx5_core): transmit queue 3 timed out",
        "",
        "x",
    ):
        assert join_wrapped([alone, following]) == [alone, following]
    assert join_wrapped([]) == []


@pytest.mark.parametrize(
    "frame",
    [
        "Dec 31 23:59:58 h1 systemd-networkd[539]: message repeated 5 times: [ {}]",
        "2025-12-31T23:59:58.5Z h1 systemd-networkd[539]: message repeated 5 times: [{}]",
        "Dec 31 23:59:58 h1 kernel: [  913.000001] message repeated 5 times: [ [  912.000001] {}]",
    ],
)
@pytest.mark.parametrize("words", ["ib6: Lost carrier", "mlx5_core 0000:9c:00.0 ib6: Link down"])
def test_flaps_that_syslog_counted_in_place_of_writing_them_are_counted(frame: str, words: str) -> None:
    found = [each for each, _ in notices_of([frame.format(words)], NOW, "host", 0)]
    assert [each.code for each in found] == ["port_down"] * 5 and found[0].values["times"] == 5
    assert found[0].text == words
    many = frame.format(words).replace("5 times", "9999 times")
    flood = [each for each, _ in notices_of([many], NOW, "host", 0)]
    assert len(flood) == MOST_REPEATED and flood[0].values["times"] == 9999


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
    unit = notice(
        "Mar  5 11:14:48 h1 systemd[1]: ovs-vswitchd.service: Main process exited, code=killed, status=11/SEGV"
    )
    assert unit is not None and (unit.code, unit.severity) == ("vswitch_restart", "error")


def job_notice(line: str) -> Notice:
    found = notice(line, "job")
    assert found is not None, line
    return found


def test_jobs() -> None:
    found = [notice(line, "job") for line in text("nccl.log").splitlines()]
    assert [each.code if each else None for each in found] == [
        "qp_error", "qp_error", "qp_error", "gdr_error", "carrier", "qp_error", "qp_error", "rdma_fallback",
        "limits_exceeded", None,
    ]  # fmt: skip
    retried, peered, flushed = (each for each in found[:3] if each is not None)
    assert retried.values["meaning"] == "retries exceeded: peer or path" and retried.severity == "warning"
    assert peered.values["remote_gid"] == "::ffff:192.0.2.5" and peered.values["rdma"] == "mlx5_1"
    assert flushed.severity == "info" and "consequence" in str(flushed.values["meaning"])
    assert all("opcode" not in each.values and "len" not in each.values for each in found if each)
    pathless = found[6]
    assert pathless is not None and pathless.values["errno"] == 110


COMPLETION = "NCCL WARN NET/IB: Got completion from peer 192.0.2.5<53908> with "


@given(
    status=st.sampled_from([12, 5, 4, 13, 10, 1]),
    vendor=st.sampled_from([129, 249, 81, 0, 135]),
    junk=st.integers(10_000, 2**31),
    newer=st.booleans(),
    stamp=st.sampled_from(["", "[2025-12-31 23:00:00] ", "2025-12-31 23:00:00,125 "]),
    card=st.sampled_from(["", " hca mlx5_3"]),
)
def test_a_status_means_the_same_in_every_release(
    status: int, vendor: int, junk: int, newer: bool, stamp: str, card: str
) -> None:
    if newer:
        numbers = f"status=IBV_WC_X_ERR({status}) opcode=IBV_WC_SEND({junk}) vendor_err={vendor} (Recv)"
    else:
        numbers = f"status={status} opcode={junk} len={junk} vendor err {vendor} (Recv)"
    line = f"{stamp}h1:1:2 [0] transport/net_ib.cc:9 {COMPLETION}{numbers} localGid ::1 remoteGids::2{card}"
    found = job_notice(line)
    assert found.code == ("gdr_error" if (status, vendor) == (4, 81) else "qp_error")
    assert found.values["status"] == status and found.values["remote_gid"] == "::2"
    assert ("consequence" in str(found.values["meaning"])) == (status == 5) == (found.severity == "info")
    assert ("retries exceeded" in str(found.values["meaning"])) == (status == 12)
    assert found.values.get("rdma") == ("mlx5_3" if card else None) and junk not in found.values.values()
    assert (parse_line(line, NOW.t_us).t_us is not None) == bool(stamp)


@pytest.mark.parametrize(
    ("line", "code", "severity", "meaning"),
    [
        ("NCCL WARN Call to ibv_modify_qp failed with 61 No data available, on dev m", "qp_error", "warning", "hole"),
        ("NCCL WARN Call to ibv_modify_qp failed with error No such device", "qp_error", "warning", "namespace"),
        ("NCCL WARN Call to ibv_modify_qp failed with 113 No route to host", "qp_error", "warning", "no path"),
        ("NCCL WARN Call to ibv_post_send() failed with error Invalid argument", None, "", ""),
        ("NCCL WARN read failed in ncclIbRoceGetVersionNum: Invalid argument", "gid_missing", "warning", "namespace"),
        ("NCCL WARN NET/IB : mlx5_1:1 Got async event : port error", "port_down", "error", "local port"),
        ("NCCL WARN NET/IB : Got async event : port error", "carrier", "info", "not named"),
        ("NCCL INFO NET/IB : mlx5_1:1 Got async event : GID table change", "gid_changed", "info", "not told"),
        ("NCCL WARN NET/IB : mlx5_1:1 Got async event : client reregistration", None, "", ""),
        ("ib_mlx5_log.c: Transport retry count exceeded on mlx5_1:1/RoCE (synd 0x15)", "qp_error", "warning", "path"),
        ("libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.", "limits_exceeded", "warning", ""),
        ("NCCL WARN Call to ibv_create_qp failed with error Cannot allocate memory", "limits_exceeded", "warning", ""),
        ("[rank4]:[E1231 23:53:53.863 P.cpp:6] [Rank 4] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=1, OpType=ALLGATHER, Timeout(ms)=600000) ran for 600074 milliseconds",
         "collective_timeout", "info", "consequence"),
        ("NCCL WARN NET/IB: ncclIbResiliencyHandleDeviceFailure: Device 0 marked as failed.", "qp_error", "info",
         "consequence"),
    ],
)  # fmt: skip
def test_cause_and_consequence_in_jobs(line: str, code: str | None, severity: str, meaning: str) -> None:
    found = notice(line, "job")
    assert (found.code if found else None) == code
    if found is not None:
        assert found.severity == severity and meaning in str(found.values.get("meaning", ""))


def test_a_line_of_pytorch_has_a_time_without_a_year() -> None:
    line = parse_line("[rank4]:[E1231 23:53:53.863594849 ProcessGroupNCCL.cpp:685] [Rank 4] words", NOW.t_us)
    assert line.t_us == NEW_YEAR_US - 366_136_406 and line.text.endswith("[Rank 4] words")


@given(before_s=st.integers(0, 100_000), starts=st.booleans(), late=st.sampled_from(["", "no time", "told"]))
def test_never_reached_is_told_from_lost(before_s: int, starts: bool, late: str) -> None:
    times, log = JobTimes(), []
    stamp = f"[{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(NOW.t_us // 1_000_000 - before_s))}] "
    if late:
        times.begin_late([stamp + "first words" if late == "told" else "first words"], NOW.t_us, 0)
    elif not starts:
        log = [stamp + "first words"]
    if starts:
        log = [stamp + "h1:1:2 [0] NCCL INFO NCCL version 2.27.3+cuda12.9"]
    times.take([*log, "words"], NOW.t_us, 0)
    gone = job_notice("NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129")
    values = times.judge(gone, NOW.t_us).values
    if late == "no time" and not starts:
        assert "reached" not in values
    else:
        assert values["reached"] == ("never" if before_s < EARLY_S else "lost") and values["after_s"] == before_s
    flushed = job_notice("NCCL WARN NET/IB : Got completion with error 5, opcode 0, len 0, vendor err 249")
    assert times.judge(flushed, NOW.t_us) == flushed
    times.exchanged()
    times.take(["words"], NOW.t_us, 0)
    assert times.judge(gone, NOW.t_us) == gone, "a rotated log is no new job"


LEAF = "Mar  5 11:14:48 leaf-0 "
ORCHAGENT = "<29>Mar  5 11:14:48 leaf-0 orchagent: :- updatePortOperStatus: Port Ethernet4 oper state set from "
STORM = "orchagent: PFC Watchdog detected PFC storm on port Ethernet4, queue index 3, queue id 0x1, port id 0x2"
LINEPROTO = "%LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet3/1 (to h1), changed state to down"
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
        (f"{LEAF}{STORM}", "pfc_storm", "leaf-0/Ethernet4"),
        (f"{LEAF}kernel: something else", None, None),
    ],
)
def test_switches(line: str, code: str | None, port: str | None) -> None:
    now = Now(t_us=1_772_709_300_000_000, mono_us=1)  # March 5th, 2026
    found = list(Teller("syslog", devices).tell(notices_of([line], now, "switch", 0, "leaf-0"), now))
    assert [(fact.fields["event"], fact.fields["device"]) for fact in found] == (
        [(code, f"port:{port}")] if code else []
    )


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
