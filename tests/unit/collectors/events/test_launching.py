"""What runtimes, launchers and the journal put around a line changes neither its meaning nor its time."""

from __future__ import annotations

import json

import pytest

from collectors.events.classifying import classify
from collectors.events.framing import parse_line
from tests.unit.collectors.events.hosts import NEW_YEAR_US, NOW

HOUR_US = 3_600_000_000
WORDS = "h1:1:2 [0] NCCL WARN NET/IB : mlx5_1:1 Got async event : port error"
STAMPED = f"[2025-12-31 23:00:00] {WORDS}"


@pytest.mark.parametrize(
    "label",
    [
        "(RayTrainWorker pid=4009, ip=192.0.2.7) ",
        "\x1b[36m(RayWorkerWrapper pid=4009)\x1b[0m ",
        "[36m(RayWorkerWrapper pid=4009)[0m ",
        "(VllmWorker rank=3 pid=4009) ",
        "(pid=12, ip=192.0.2.7) ",
        "[1,3]<stderr>:",
        "[prterun-h1-2233@1,5]<stdout>: ",
        "[pod/train-0/pytorch] ",
        "[default3]:",
        "[rank3]: ",
        "worker-1  | ",
        "gpu-node-07: ",
        " 12: ",
        "[3] ",
        "[pod/train-0/pytorch] [rank3]:",
        "[80746] ",
    ],
)
def test_a_launcher_s_label_is_no_part_of_the_line(label: str) -> None:
    line = parse_line(label + STAMPED, NOW.t_us)
    assert (line.text, line.t_us) == (WORDS, NEW_YEAR_US - HOUR_US)


def test_times_of_mpirun_and_kubectl() -> None:
    tagged = parse_line(f"Wed Dec 31 23:00:00 2025[1,0]<stdout>:{WORDS}", NOW.t_us)
    assert (tagged.text, tagged.t_us) == (WORDS, NEW_YEAR_US - HOUR_US)
    for label in ("", "[pod/train-0/pytorch] "):
        line = parse_line(f"{label}2025-12-31T23:00:00.123456789Z {WORDS}", NOW.t_us)
        assert (line.text, line.t_us) == (WORDS, NEW_YEAR_US - HOUR_US + 123_456)
    docker = json.dumps({"log": f"[rank3]:[E1231 23:00:00.5 P.cpp:6] {WORDS}\n", "time": "2025-12-31T23:00:01Z"})
    assert parse_line(docker, NOW.t_us).t_us == NEW_YEAR_US - HOUR_US + 500_000


def test_a_line_of_pytorch_that_a_progress_bar_did_not_end_has_its_time() -> None:
    bar = "[1763]   1%|          | 24/1752 [01:08<1:22:56,  2.88s/it]"
    line = parse_line(f"{bar}[rank5]:[E1231 23:00:00.185053341 ProcessGroupNCCL.cpp:632] [Rank 5] words", NOW.t_us)
    assert line.t_us == NEW_YEAR_US - HOUR_US + 185_053 and line.text.endswith("words")


@pytest.mark.parametrize(
    "text",
    [
        "[mlx5_3]: words",
        "12: words",
        "[3] words",
        "node01: words",
        "(unlikely) words",
        "mlx5_core: probe of 0000:1a:00.0 failed",
    ],
)
def test_what_only_looks_like_a_label_stays(text: str) -> None:
    assert parse_line(text, NOW.t_us).text == text


@pytest.mark.parametrize(
    ("frame", "t_us"),
    [
        ("node01: [   66.816635] {}", None),
        ("node01: [Wed Dec 31 23:00:00 2025] {}", NEW_YEAR_US - HOUR_US),
        ("node01: Dec 31 23:00:00 node01 kernel: {}", NEW_YEAR_US - HOUR_US),
        ("node01: kern  :err   : [Wed Dec 31 23:00:00 2025] {}", NEW_YEAR_US - HOUR_US),
    ],
)
def test_another_host_s_seconds_since_boot_are_not_ours(frame: str, t_us: int | None) -> None:
    line = parse_line(frame.format("mlx5_core 0000:1a:00.0 eth2: Link down"), NOW.t_us)
    assert (line.t_us, line.since_boot_us, line.host, line.program) == (t_us, None, "node01", "kernel")
    found = classify(line)
    assert found is not None and found.code == "port_down"


def test_the_journal_as_json() -> None:
    entry = {
        "__REALTIME_TIMESTAMP": str(NEW_YEAR_US),
        "PRIORITY": "4",
        "_HOSTNAME": "h1",
        "SYSLOG_IDENTIFIER": "kernel",
        "MESSAGE": "mlx5_core 0000:1a:00.0 eth2: Link down",
    }
    line = parse_line(json.dumps(entry), NOW.t_us)
    assert (line.t_us, line.host, line.program, line.priority) == (NEW_YEAR_US, "h1", "kernel", 4)
    assert line.text == entry["MESSAGE"]
    as_bytes = parse_line(json.dumps({**entry, "MESSAGE": list(b"mlx5_core 0000:1a:00.0 eth2: Link down\xff")}), 0)
    assert as_bytes.text.startswith("mlx5_core 0000:1a:00.0 eth2: Link down")
    for broken in ({**entry, "MESSAGE": None}, {**entry, "MESSAGE": [-1, 999]}, {**entry, "PRIORITY": "x"}):
        assert parse_line(json.dumps(broken), 0).t_us == NEW_YEAR_US
    assert parse_line('{"MESSAGE": {"a": 1}, "__REALTIME_TIMESTAMP": "1"}', 0).t_us is None


def test_lines_that_were_shipped_as_json() -> None:
    """A line's own time is better than its shipper's, which may have read it later."""
    said = {"@timestamp": "2026-01-01T00:00:00.000Z", "message": "mlx5_core 0000:1a:00.0 eth2: Link down"}
    for entry in ({**said, "host": {"name": "h1"}}, {**said, "host": "h1"}):
        line = parse_line(json.dumps(entry), NOW.t_us)
        assert (line.t_us, line.host, line.text) == (NEW_YEAR_US, "h1", said["message"])
    vector = {"host": "h1", "message": said["message"], "timestamp": "2026-01-01T00:00:00.000Z"}
    assert parse_line(json.dumps(vector), NOW.t_us).t_us == NEW_YEAR_US
    syslog = {**said, "message": f"Dec 31 23:00:00 h1 kernel: {said['message']}"}
    line = parse_line(json.dumps(syslog), NOW.t_us)
    assert (line.t_us, line.program, line.text) == (NEW_YEAR_US - HOUR_US, "kernel", said["message"])
    for broken in ({**said, "@timestamp": 5}, {**said, "@timestamp": "x"}, {**said, "message": None}):
        assert parse_line(json.dumps(broken), NOW.t_us).t_us is None


@pytest.mark.parametrize(
    "found_in", ["/var/log/kern.log:", "./messages:", "messages-20251231:", "1234:", "syslog.1:1234:", "~/h1.txt:7:"]
)
def test_the_file_and_the_number_that_grep_puts_before_a_line(found_in: str) -> None:
    text = "mlx5_core 0000:1a:00.0 eth2: Link down"
    line = parse_line(f"{found_in}Dec 31 23:00:00 h1 kernel: {text}", NOW.t_us)
    assert (line.t_us, line.host, line.program, line.text) == (NEW_YEAR_US - HOUR_US, "h1", "kernel", text)
    assert parse_line(f"{found_in}[Wed Dec 31 23:00:00 2025] {text}", NOW.t_us).t_us == NEW_YEAR_US - HOUR_US


def test_a_command_that_searches_for_a_line_is_no_such_line() -> None:
    quoted = "COMMAND=/usr/bin/grep 'mlx5_core 0000:1a:00.0 eth2: Link down' /var/log/messages"
    for program in ("sudo", "sudo[794]", "CROND[12]"):
        line = parse_line(f"Dec 31 23:00:00 h1 {program}: root : TTY=pts/0 ; USER=root ; {quoted}", NOW.t_us)
        assert classify(line) is None and classify(line, "switch") is None
