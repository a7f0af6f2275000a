"""The parts that listen: the kernel log, files through rotation, a syslog socket, a container runtime."""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from collectors.events.journal import Journal
from collectors.events.kernel_log import KernelLog
from collectors.events.log_files import MOST_BYTES, LogFile, SyslogSocket
from collectors.events.runtime import ContainerRuntime
from collectors.observing import Closing, Collector, Listener, Observed
from schemas.telemetry import DeviceEvent
from tests.small_fabric import endpoint_map, envelope
from tests.unit.collectors.events.hosts import NOW, devices, text

DOWN = "mlx5_core 0000:1a:00.0 eth2: Link down"


def told(facts: object) -> list[tuple[str, str]]:
    found = list(facts)  # type: ignore[call-overload]
    for fact in found:
        assert isinstance(fact, Observed) and fact.topic == "device-events"
        body = msgspec.to_builtins(envelope(f"agent:h1/{fact.stream}", 1.0, 1))
        msgspec.convert(body | fact.fields, DeviceEvent)
    return [(fact.fields["device"], fact.fields["event"]) for fact in found]


def test_the_kernel_log_is_read_record_by_record() -> None:
    reading, writing = os.pipe2(os.O_NONBLOCK)
    part = KernelLog(devices, f"/proc/self/fd/{reading}", backlog=True)
    assert isinstance(part, Listener) and isinstance(part, Closing)
    assert part.fileno() == part.fileno()
    os.write(writing, f"4,1,{NOW.mono_us - 3_000_000},-;{DOWN}\n".encode())
    (fact,) = part.receive(NOW)
    assert fact.t_us == NOW.t_us - 3_000_000 and fact.fields["device"] == "rnic:h1/mlx5_0"
    os.write(writing, b"6,2,5,-;nothing of ours\n")
    assert list(part.receive(NOW)) == [] and list(part.receive(NOW)) == []
    part.close(NOW)
    os.close(reading)
    os.close(writing)


def test_a_kernel_log_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        KernelLog(devices, "/no/such/log").fileno()


@pytest.mark.parametrize("backlog", [False, True])
def test_what_was_there_before_counts_only_if_asked(tmp_path: Path, backlog: bool) -> None:
    path = tmp_path / "kmsg"
    path.write_text(f"4,1,0,-;{DOWN}\n")
    part = KernelLog(devices, str(path), backlog)
    part.fileno()
    assert told(part.receive(NOW)) == ([("rnic:h1/mlx5_0", "port_down")] if backlog else [])
    part.close(NOW)


def append(path: Path, data: str) -> None:
    with path.open("a") as file:
        file.write(data)


def test_a_file_is_followed_through_rotation(tmp_path: Path) -> None:
    path = tmp_path / "kern.log"
    path.write_text(f"{DOWN}\n")
    part = LogFile(path, devices)
    assert isinstance(part, Collector)
    assert told(part.collect(NOW)) == [], "what was there before is old"
    append(path, f"{DOWN}\n{DOWN}")
    assert told(part.collect(NOW)) == [("rnic:h1/mlx5_0", "port_down")], "half a line waits for its end"
    append(path, "\n")
    assert len(told(part.collect(NOW))) == 1
    path.rename(tmp_path / "kern.log.1")
    path.write_text(f"{DOWN}\n{DOWN}\n")
    assert len(told(part.collect(NOW))) == 2, "a new file is read from its beginning"
    path.write_text(f"{DOWN}\n")
    assert len(told(part.collect(NOW))) == 1, "a file that was cut, too"
    path.unlink()
    with pytest.raises(FileNotFoundError):
        list(part.collect(NOW))


def test_too_much_at_once_is_skipped_and_told(tmp_path: Path) -> None:
    path = tmp_path / "kern.log"
    path.touch()
    part = LogFile(path, devices)
    list(part.collect(NOW))
    append(path, "x" * 99 + "\n")
    append(path, ("y" * 99 + "\n") * (MOST_BYTES // 100))
    append(path, f"{DOWN}\n")
    found = list(part.collect(NOW))
    assert told(found) == [("rnic:h1/mlx5_0", "port_down"), ("host:h1", "unknown")]
    assert "bytes of kern.log were skipped" in found[1].fields["text"]


def test_what_follows_on_a_progress_bar_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "rank0.log"
    path.touch()
    part = LogFile(path, devices, ("job", "c-01"))
    list(part.collect(NOW))
    bar = "\rEpoch 1:  10%|#         | 10/100 [00:01<00:09]"
    words = "NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129"
    gone = f"[2026-01-01 00:00:05] h1:1:2 [0] NCCL WARN {words}"
    append(path, bar * 1_000)
    assert told(part.collect(NOW)) == []
    append(path, f"{bar}\r{gone}\r\n{bar * 1_000}\r{gone}{bar}\n")
    found = list(part.collect(NOW))
    assert told(found) == [("container:c-01", "qp_error")] * 2
    assert {fact.t_us for fact in found} == {NOW.t_us - 5_000_000}, "with the instant that it tells"


def test_a_job_s_log_is_about_its_container(tmp_path: Path) -> None:
    path = tmp_path / "rank0.log"
    path.touch()
    part = LogFile(path, devices, ("job", "c-01"))
    list(part.collect(NOW))
    append(path, text("nccl.log"))
    found = list(part.collect(NOW))
    assert {fact.fields["values"]["container"] for fact in found} == {"c-01"}
    by_device: dict[str, set[str]] = {}
    for device, event in told(found):
        by_device.setdefault(device, set()).add(event)
    assert by_device == {
        "container:c-01": {"qp_error", "carrier", "limits_exceeded"},
        "host:h1": {"gdr_error", "rdma_fallback"},
    }


def test_a_job_s_log_tells_whether_a_peer_was_never_reached_or_lost(tmp_path: Path) -> None:
    gone = "h1:1:2 [0] NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129\n"
    fresh, old, untold = (tmp_path / name for name in ("fresh.log", "old.log", "untold.log"))
    fresh.touch()
    old.write_text("[2025-12-31 23:00:00] h1:1:2 [0] NCCL INFO Bootstrap : Using eth0\n")
    untold.write_text("training\n")
    parts = {path: LogFile(path, devices, ("job", "c-01")) for path in (fresh, old, untold)}
    for path, part in parts.items():
        list(part.collect(NOW))
        append(path, gone)
    reached = [[fact.fields["values"].get("reached") for fact in part.collect(NOW)] for part in parts.values()]
    assert reached == [["never"], ["lost"], [None]]


@pytest.mark.webhook
def test_switches_send_syslog() -> None:
    part = SyslogSocket(("127.0.0.1", 0), {"127.0.0.1": "leaf-0"}, devices)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        line = "<29>orchagent: Port Ethernet4 oper state set from up to down"
        sender.sendto(line.encode(), part.address)
        wait(part.fileno())
        assert told(part.receive(NOW)) == [("port:leaf-0/Ethernet4", "port_down")]
        unknown = SyslogSocket(("127.0.0.1", 0), {}, devices)
        sender.sendto(line.encode(), unknown.address)
        wait(unknown.fileno())
        assert told(unknown.receive(NOW)) == [], "nobody knows who that is"
    for each in (part, unknown):
        each.close(NOW)


@pytest.mark.webhook
def test_a_switch_is_known_however_its_address_is_spelt() -> None:
    line = b"<29>orchagent: Port Ethernet4 oper state set from up to down"
    for listening, to, known in (("::", "127.0.0.1", "127.0.0.1"), ("::1", "::1", "0:0:0:0:0:0:0:1")):
        part = SyslogSocket((listening, 0), {known: "leaf-0"}, devices)
        try:
            part.fileno()
        except OSError:
            pytest.skip("this machine has no IPv6")
        family = socket.AF_INET6 if ":" in to else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            sender.sendto(line, (to, part.address[1]))
            wait(part.fileno())
            assert told(part.receive(NOW)) == [("port:leaf-0/Ethernet4", "port_down")], known
        part.close(NOW)


def wait(descriptor: int) -> None:
    assert select.select([descriptor], [], [], 10.0)[0]


JOURNAL = """
printf '2026-01-01T00:00:05+0000 h1 systemd-networkd[398]: ib6: Lost carrier\n'
printf '2026-01-01T00:00:05+0000 h1 kernel: mlx5_core 0000:1a:00.0 eth2: Link down\n'
"""


def test_the_journal_is_listened_to_but_for_the_kernel() -> None:
    part = Journal(devices, ("sh", "-c", JOURNAL))
    assert isinstance(part, Listener) and isinstance(part, Closing)
    found: list[Observed] = []
    until_end(part, found.append)
    assert told(found) == [("rnic:h1/mlx5_1", "port_down")] and found[0].t_us == NOW.t_us - 5_000_000
    part.close(NOW)


def runtime(script: str, aliases: dict[str, str] | None = None) -> ContainerRuntime:
    part = ContainerRuntime(devices, ("sh", "-c", script), aliases)
    part.take_map(endpoint_map())
    return part


def until_end(part: Listener, take: Callable[[Observed], None]) -> OSError:
    for _ in range(100):
        wait(part.fileno())
        try:
            for fact in part.receive(NOW):
                take(fact)
        except OSError as error:
            return error
    raise AssertionError("it did not end")


def test_a_runtime_is_listened_to_and_started_again() -> None:
    part = runtime(
        """printf '{"container":"c1","event":"exit","exit_code":1}\\n{"container":"x","event":"exit"}\\n'; exit 3"""
    )
    for _ in range(2):
        found: list[Observed] = []
        error = until_end(part, found.append)
        assert told(found) == [("container:c1", "container_exit")], "only containers of the endpoint map are told"
        assert "sh ended with status" in str(error)
    part.close(NOW)


def test_events_of_crictl_stand_over_several_lines() -> None:
    """crictl indents its JSON, and may be cut off within an event."""
    status = {"id": "f00", "metadata": {"name": "main"}, "exitCode": 137}
    event = {
        "containerId": "f00",
        "containerEventType": "CONTAINER_STOPPED_EVENT",
        "podSandboxStatus": {"id": "5a7d", "metadata": {"name": "c1", "namespace": "ml"}},
        "containersStatuses": [status],
    }
    printed = json.dumps(event, indent=2)
    script = f"printf '%s\\n' '{printed}' '{printed}'; sleep 0.1; printf '%s\\n' '{printed[:90]}'"
    part = runtime(script)
    for _ in range(2):
        found: list[Observed] = []
        until_end(part, found.append)
        assert told(found) == [("container:c1", "container_exit")] * 2
        assert {fact.fields["values"]["exit_code"] for fact in found} == {137}
    part.close(NOW)


def test_containers_are_found_by_alias_and_forgotten_with_their_job() -> None:
    script = """printf '{"container":"f00","event":"start"}\\n'"""
    found: list[Observed] = []
    until_end(runtime(script, {"f00": "c2"}), found.append)
    assert told(found) == [("container:c2", "container_start")]
    ended = runtime(script, {"f00": "c2"})
    ended.take_map(endpoint_map(version=2, state="ended"))
    found.clear()
    until_end(ended, found.append)
    assert found == []


def test_a_runtime_that_is_not_installed() -> None:
    with pytest.raises(FileNotFoundError):
        ContainerRuntime(devices, ("no-such-runtime",)).fileno()
