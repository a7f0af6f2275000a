"""Disks are full: that of an agent's spool while Kafka is away, and that of a worker's RocksDB.

The disks are small file systems in memory, which only root may mount.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from skeletonhunter.settings import Settings
from streams.topic_admin import TopicAdmin, plan_topics
from tests.chaos.conftest import Theatre
from tests.chaos.installation import Play, Script
from tests.chaos.nodes import Node
from tests.chaos.outcome import Outcome, assert_same
from tests.integration.collectors.agents import Reader, agent, job_map, make_cards, publish, settings_file

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(os.getuid() != 0, reason="chaos: only root may mount the small disks"),
]

TOPICS = ("agent-health", "rnic-counters", "rnic-bursts", "device-events")
REGULAR = ("agent-health", "rnic-counters", "rnic-bursts")
"""Streams whose next message shows by its number what was dropped before."""
SPOOL_KB, TABLES_KB = 64, 8192
FULL_FOR_S = 5.0
PATIENCE_S = 120.0
QUICK = """
[rnic]
message_s = 1.0
burst_message_s = 1.0
"""


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A file system of that size."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "chaos", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def free_bytes(folder: Path) -> int:
    """Room that is left on a file system."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def until(condition: Callable[[], bool], what: str) -> None:
    """Waits."""
    ends_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < ends_s, f"waited {PATIENCE_S:.0f} s in vain until {what}"
        threading.Event().wait(0.1)


def test_the_disk_of_the_spool_is_full_while_kafka_is_away(kafka: Node, theatre: Theatre, tmp_path: Path) -> None:
    """The agent lives on; what it can't keep is counted, and everything else arrives, in order."""
    TopicAdmin(kafka.address, "", {}).ensure(plan_topics(1 << 20), 2, 1)
    make_cards(tmp_path / "sys", 8)
    publish(kafka.address, "endpoint-map", "j-1", job_map([0], rnics=8))
    with small_disk(tmp_path / "spool-0", SPOOL_KB) as disk:
        parts = ["rnic-counters", "rnic-bursts", "rnic-state"]
        with agent(settings_file(tmp_path, 0, kafka.address, parts, QUICK)) as running:
            reader = Reader(kafka.address, TOPICS)
            reader.until(lambda values: len(reader.of("rnic-counters")) >= 3)
            kafka.stop()
            until(lambda: free_bytes(disk) < 4096, "the disk is full")
            time.sleep(FULL_FOR_S)
            assert running.ended() is None
            kafka.start()
            begun_s = time.monotonic()
            until(lambda: free_bytes(disk) > SPOOL_KB * 1024 // 2, "the spool is read")
            theatre.say(recovery_s={"collect": [round(time.monotonic() - begun_s, 1)]})
            since_us = time.time_ns() // 1000
            reader.until(lambda _: all(any(v["t_us"] > since_us for v in reader.of(name)) for name in REGULAR))
            assert running.stop() == 0
        read_to_the_end(reader)
    sent, arrived = numbers(reader)
    dropped = max(value["dropped"] for value in reader.of("agent-health"))
    theatre.say(sent=sent, arrived=arrived, dropped=dropped)
    assert dropped > 0
    assert sent - arrived == dropped
    assert "the disk is full" in (tmp_path / "agent-0.log").read_text()


def read_to_the_end(reader: Reader) -> None:
    """Reads what there is, in all partitions."""
    reader.until(lambda values: any(value.get("state") == "stopping" for value in values))
    reader.to_the_end()
    reader.close()


def numbers(reader: Reader) -> tuple[int, int]:
    """How many messages were sent, by their numbers, and how many of them arrived; each stream is in order."""
    streams: dict[str, list[int]] = {}
    for value in reader.values:
        if value["producer"]["id"].startswith("agent:h-0"):
            streams.setdefault(value["producer"]["id"], []).append(value["producer"]["seq"])
    assert streams
    assert streams == {name: sorted(set(seqs)) for name, seqs in streams.items()}
    return sum(seqs[-1] + 1 for seqs in streams.values()), sum(len(seqs) for seqs in streams.values())


def full_tables(play: Play, disk: Path) -> Script:
    """Something fills the disk of the tables, and is taken away when the worker has stumbled over it."""
    yield play.reached(62.0)
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(bytes(4096))
    yield lambda: bool(play.running.ended)
    yield play.passed(FULL_FOR_S)
    filler.unlink()
    play.watch("work-1")


@pytest.mark.usefixtures("long_form")
def test_the_disk_of_rocksdb_is_full(theatre: Theatre, undisturbed: Outcome, tmp_path: Path) -> None:
    """The worker ends and says why, is started again in vain, and goes on when there is room."""
    pytest.importorskip("rocksdict", reason="the extra rocksdb is not installed")
    with small_disk(tmp_path / "tables", TABLES_KB) as disk:

        def on_the_disk(settings: Settings) -> Settings:
            worker = msgspec.structs.replace(settings.worker, store="rocksdb", data_dir=str(disk), checkpoint_s=5.0)
            return msgspec.structs.replace(settings, worker=worker)

        found = theatre.run(lambda play: [full_tables(play, disk)], change=on_the_disk)
    assert "No space left on device" in theatre.heard["work-1"]
    assert_same(found, undisturbed)
