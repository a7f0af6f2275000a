"""Lines of jobs' logs: causes and consequences, the local port, and whether a peer was ever reached."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.events.classifying import classify
from collectors.events.framing import parse_line
from collectors.events.job_times import EARLY_S, JobTimes
from collectors.events.notices import Notice
from collectors.events.telling import Teller
from tests.unit.collectors.events.hosts import NEW_YEAR_US, NOW, devices, text


def notice(line: str) -> Notice | None:
    return classify(parse_line(line, NOW.t_us), "job")


def job_notice(line: str) -> Notice:
    found = notice(line)
    assert found is not None, line
    return found


def test_jobs() -> None:
    found = [notice(line) for line in text("nccl.log").splitlines()]
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


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        ("Unresponsive receiver (reachable by EFA device but handshake failed) My EFA addr: x", "retries exceeded"),
        ("Unreachable remote (never received a response)", "retries exceeded"),
        ("Flushed during QP destroy", "flushed: a consequence"),
        ("Receiver not ready", "posts no receives"),
        ("Invalid address", "other"),
    ],
)
def test_what_libfabric_says_of_efa(words: str, meaning: str) -> None:
    ends = "Completed length: 0, Request: { dev: 0, size: 0, state: CREATED, type: SEND }"
    for error in (
        f"Error: 4126 ({words}). {ends}",
        f"Error: {words}. {ends}",
        f"Flags: 8. Error: 13 ({words}). {ends}",
    ):
        found = job_notice(
            f"h1:1:2 [0] NCCL WARN NET/OFI Request 0x7f456c224810 completed with error. RC: 103. {error}"
        )
        assert found.code == "qp_error" and meaning in str(found.values["meaning"]) and found.values["errno"] == 103
        assert found.severity == ("info" if words.startswith("Flushed") else "warning")


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
        ("348: h1:1:2 [0] net_ib.cc:253 NCCL WARN NET/IB : mlx5_1:1 Got non-fatal async event: port error(10)",
         "port_down", "error", "local port"),
        ("NCCL WARN NET/IB : mlx5_1:1 Got non-fatal async event: port active(9)", None, "", ""),
        ("NCCL WARN NET/IB : mlx5_1:1 async fatal event: local catastrophic error", "fw_health", "error", ""),
        ("NCCL WARN NET/IB : mlx5_1:1 async fatal event on QP (0x7f): local access violation work queue error",
         "qp_error", "warning", "local queue"),
        ("NCCL WARN NET/IB : mlx5_1:1 GID table changed", "gid_changed", "info", "not told"),
        ("NCCL INFO Call to ibv_modify_qp failed with 110 Connection timed out, on m:1, retrying 1/3 after 9 msec",
         "qp_error", "info", "again"),
        ("NCCL WARN Call to ibv_modify_qp failed with 101 Network is unreachable, on dev m:1", "qp_error", "warning",
         "no path"),
        ("UCX  ERROR Local protection on mlx5_1:1/RoCE (synd 0x4 vend 0x51)", "qp_error", "warning", "local"),
        ("UCX  DIAG  IB Async event on mlx5_1: port error on port 1", "port_down", "error", "local port"),
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
    found = notice(line)
    assert (found.code if found else None) == code
    if found is not None:
        assert found.severity == severity and meaning in str(found.values.get("meaning", ""))


def test_a_port_that_no_card_of_this_host_has_accuses_nobody() -> None:
    words = "NCCL WARN NET/IB : {}:1 Got async event : port error"
    named, foreign = (job_notice(words.format(card)) for card in ("mlx5_1", "mlx5_7"))
    facts = Teller("log", devices).tell([(named, None), (foreign, None)], NOW)
    told = [(fact.fields["device"], fact.fields["event"], fact.fields["severity"]) for fact in facts]
    assert told == [("rnic:h1/mlx5_1", "port_down", "error"), ("host:h1", "carrier", "info")]


@pytest.mark.parametrize(
    "frame",
    [
        "2025-12-31T23:00:00.669794202Z stderr F {}",
        '{{"log":"{}\\n","stream":"stderr","time":"2025-12-31T23:00:00.669794202Z"}}',
    ],
)
def test_files_of_container_runtimes(frame: str) -> None:
    words = "h1:1:2 [0] NCCL WARN NET/IB : mlx5_1:1 Got async event : port error"
    line = parse_line(frame.format(words), NOW.t_us)
    assert (line.text, line.t_us) == (words, NEW_YEAR_US - 3_599_330_206)
    own = parse_line(frame.format(f"[2025-12-31 22:59:59] {words}"), NOW.t_us)
    assert (own.text, own.t_us) == (words, NEW_YEAR_US - 3_601_000_000), "a library's own stamp counts"
    broken = frame.format(words).replace('"time"', "time")
    assert words in parse_line(broken, NOW.t_us).text


def test_a_launcher_s_number_of_the_task_is_no_part_of_the_time() -> None:
    for prefix in ("1000: ", "9: [rank9]:", ""):
        line = parse_line(f"{prefix}[E1231 23:00:00.000 P.cpp:1] words", NOW.t_us)
        assert line.t_us == NEW_YEAR_US - 3_600_000_000, prefix
    line = parse_line("1000: [2025-12-31 23:00:00] h1:1:2 [0] words", NOW.t_us)
    assert (line.t_us, line.text) == (NEW_YEAR_US - 3_600_000_000, "h1:1:2 [0] words")


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


@pytest.mark.parametrize(
    ("line", "code", "severity", "meaning"),
    [
        ("h1:1:2 [0] NCCL WARN NET/IB : mlx5_1:1 async fatal event on QP (0x7309dc3bb338): invalid request local work "
         "queue error", "qp_error", "warning", "local queue"),
        ("2025-12-31T16:13:44.884Z: [1,12]<stdout>:h1:815:864 [0] transport/net_ib.cu:80 NCCL WARN NET/IB : Got async "
         "event : local catastrophic error", "fw_health", "warning", "not named"),
        ("[1,620]<stderr>:[h1:27796:0:27796] ib_mlx5_log.c:113  FATAL: Error on QP 0x6b10 wqe[057]: Transport retry "
         "count exceeded (synd 0x15 vend 0x81) opcode SEND", "qp_error", "warning", "retries exceeded"),
        ("ib_mlx5_log.c:109  UCX  ERROR Error on QP 0x16d83 wqe[134]: Local QP operation (synd 0x2 vend 0x68) opcode "
         "SEND", "qp_error", "warning", "other"),
        ("dc_verbs.c:614  UCX  ERROR Send completion with error on qp 0x6214: remote access error syndrome 0x88",
         "qp_error", "warning", "peer refused"),
        ("[h1:15382:0:15382]    ud_iface.c:781  Fatal: transport error: Endpoint timeout", "qp_error", "warning",
         "retries exceeded"),
        ("ucp_worker.c:380  UCX  ERROR Error Endpoint timeout was not handled for ep 0x11c1870 - dc_mlx5/mlx5_5:1",
         "qp_error", "info", "consequence"),
        ("ib_device.c:1163 UCX  ERROR   ibv_create_ah(dlid=49152 sl=0 port=1 src_path_bits=0 dgid=::ffff:192.0.2.2 "
         "flow_label=0xffffffff sgid_index=3 traffic_class=106) for UD mlx5 connect on mlx5_1 failed: Connection timed "
         "out", "qp_error", "warning", "no path"),
        ("ib_mlx5_dv.c:430  UCX  ERROR   mlx5dv_devx_obj_create(QP) failed on mlx5_0, syndrome 0x2c4154: Remote I/O "
         "error", "fw_command_failed", "info", ""),
        ("[1629615908.043472] [h1:1:0] ib_device.c:1168 UCX  TRACE mlx5_0:2 does not support flags 0x0: Destination is "
         "unreachable", None, "", ""),
        ("E1213 02:57:10.528410 5811 worker_pool.cpp:274] Worker: Process failed for slice (opcode: 0, source_addr: "
         "0x7efdf3ffd010, length: 404, dest_addr: 140532604981264, local_nic: mlx5_1, peer_nic: 192.0.2.1:8149@mlx5_0, "
         "dest_rkey: 2105088, retry_cnt: 0): transport retry counter exceeded", "qp_error", "warning",
         "retries exceeded"),
        ("ibrc.cpp:417: non-zero status: 110 ibv_modify_qp failed", "qp_error", "warning", "no path"),
        ("libfabric:451707:1708520807::efa:cq:efa_rdm_txe_handle_error():737<warn> err: 5, message: Unresponsive "
         "receiver (reachable by EFA device but handshake failed)", "qp_error", "warning", "retries exceeded"),
        ("libfabric:462:1673041636:efa:core:rxr_info_to_rxr():506<warn> FI_HMEM capability requires RDMA, which this "
         "device does not support.", None, "", ""),
    ],
)  # fmt: skip
def test_other_libraries_than_nccl(line: str, code: str | None, severity: str, meaning: str) -> None:
    found = notice(line)
    assert (found.code if found else None) == code
    if found is not None:
        assert found.severity == severity and meaning in str(found.values.get("meaning", ""))


def test_a_slice_that_mooncake_lost_names_both_cards() -> None:
    found = job_notice(
        "Worker: Process failed for slice (opcode: 1, source_addr: 0x14, length: 65536, dest_addr: 0x14, local_nic: "
        "mlx5_7, peer_nic: 192.0.2.132:14127@mlx5_4, dest_rkey: 2359727, retry_cnt: 0): transport retry counter "
        "exceeded"
    )
    assert (found.values["rdma"], found.values["peer"]) == ("mlx5_7", "192.0.2.132:14127@mlx5_4")


def test_more_stamps_of_jobs() -> None:
    vllm = parse_line("(VllmWorkerProcess pid=217) WARNING 12-31 23:00:00 [store.py:181] words", NOW.t_us)
    assert vllm.t_us == NEW_YEAR_US - 3_600_000_000 and vllm.text.startswith("WARNING")
    tagged = parse_line("2025-12-31T23:00:00.884Z: [1,12]<stdout>:h1:815:864 [0] words", NOW.t_us)
    assert (tagged.t_us, tagged.text) == (NEW_YEAR_US - 3_599_116_000, "h1:815:864 [0] words")
    built = parse_line("17:03:46 [1767222000.5] [juno000:73195:0]      ib_device.c:151  UCX  WARN  words", NOW.t_us)
    assert built.t_us == NEW_YEAR_US - 3_600_000_000 + 500_000
