"""The spool: order, bound, restarts and torn files, against a slow obvious model."""

from __future__ import annotations

import os
import tempfile
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from collectors.spool import Place, Spool, SpoolError
from collectors.stamping import Stamped

PLENTY = 10_000_000


def message(number: int, size: int = 20) -> Stamped:
    return Stamped("device-events", f"fabric-{number}", str(number).encode().ljust(size, b"."))


def drain(spool: Spool) -> list[Stamped]:
    found = []
    while (item := spool.read()) is not None:
        found.append(item[0])
        spool.confirm(item[1])
    return found


def test_messages_come_out_in_order_and_leave_nothing(tmp_path: Path) -> None:
    spool = Spool(tmp_path, PLENTY)
    written = [message(number) for number in range(100)]
    for each in written:
        spool.append(each)
    assert drain(spool) == written
    assert spool.is_empty()
    assert list(tmp_path.glob("*.spool")) == []


def test_what_was_not_confirmed_comes_again_after_a_restart(tmp_path: Path) -> None:
    spool = Spool(tmp_path, PLENTY)
    for number in range(10):
        spool.append(message(number))
    places = [spool.read() for _ in range(6)]
    assert places[3] is not None
    spool.confirm(places[3][1])
    spool.close()
    again = Spool(tmp_path, PLENTY)
    again.append(message(10))
    assert drain(again) == [message(number) for number in range(4, 11)]


def test_what_comes_after_a_restart_of_an_emptied_spool_is_not_taken_for_old(tmp_path: Path) -> None:
    spool = Spool(tmp_path, PLENTY)
    spool.append(message(1))
    assert drain(spool) == [message(1)]
    spool.close()
    again = Spool(tmp_path, PLENTY)
    again.append(message(2))
    assert drain(again) == [message(2)]


def test_a_crash_repeats_but_loses_nothing(tmp_path: Path) -> None:
    spool = Spool(tmp_path, PLENTY)
    for number in range(10):
        spool.append(message(number))
    item = spool.read()
    assert item is not None
    spool.confirm(item[1])  # never saved
    survivor = copy_of(tmp_path, tmp_path.parent / "copy")
    spool.close()
    assert drain(Spool(survivor, PLENTY)) == [message(number) for number in range(10)]


def copy_of(folder: Path, target: Path) -> Path:
    target.mkdir()
    for path in folder.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target


def test_beyond_its_bound_the_oldest_go_and_are_counted(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 40_000)
    for number in range(1000):
        spool.append(message(number, size=200))
        assert spool.bytes_kept() <= 40_000
    left = drain(spool)
    assert left == [message(number, size=200) for number in range(1000 - len(left), 1000)]
    assert spool.dropped == 1000 - len(left)
    assert len(left) > 100


def test_what_was_read_before_it_was_dropped_is_not_counted(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 40_000)
    for number in range(100):
        spool.append(message(number, size=200))
    read = [spool.read() for _ in range(20)]
    assert all(read)
    for number in range(100, 1000):
        spool.append(message(number, size=200))
    left = drain(spool)
    assert 20 + len(left) + spool.dropped == 1000


def test_a_full_disk_refuses_and_leaves_no_half_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(tmp_path, PLENTY)
    spool.append(message(0))
    whole = os.pwrite

    def half(fd: int, data: bytes, offset: int) -> int:
        return whole(fd, data[: len(data) // 2], offset)

    with monkeypatch.context() as patch:
        patch.setattr("collectors.spool.os.pwrite", half)
        with pytest.raises(OSError, match="the disk is full"):
            spool.append(message(1))
    spool.append(message(2))
    assert drain(spool) == [message(0), message(2)]


def test_the_front_is_before_everything_also_after_a_restart(tmp_path: Path) -> None:
    spool = Spool(tmp_path, PLENTY)
    for number in range(3, 9):
        spool.append(message(number))
    for _ in range(2):
        spool.read()  # 3 and 4 are under way
    spool.put_first([message(number) for number in (1, 3, 4)])
    spool.close()
    again = Spool(tmp_path, PLENTY)
    assert drain(again) == [message(number) for number in (1, 3, 4, 5, 6, 7, 8)]


def test_two_agents_can_not_share_a_spool(tmp_path: Path) -> None:
    first = Spool(tmp_path, PLENTY)
    with pytest.raises(SpoolError, match="another agent uses this spool"):
        Spool(tmp_path, PLENTY)
    first.close()
    Spool(tmp_path, PLENTY).close()


def test_a_folder_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpoolError, match=f"^{tmp_path}/file/spool: can't be used as a spool: Not a directory$"):
        Spool(tmp_path / "file" / "spool", PLENTY)


@settings(max_examples=60)
@given(st.integers(0, 400), st.binary(max_size=12))
def test_torn_and_spoilt_segments_cost_their_rest_only(cut: int, noise: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spool = Spool(folder, PLENTY)
        for number in range(8):
            spool.append(message(number))
        spool.close()
        (segment,) = folder.glob("*.spool")
        segment.write_bytes(segment.read_bytes()[:cut] + noise)
        again = Spool(folder, PLENTY)
        again.append(message(99))
        found = drain(again)
        assert found[-1] == message(99)
        assert found[:-1] == [message(number) for number in range(len(found) - 1)]


class SpoolAgainstModel(RuleBasedStateMachine):
    """A queue in memory says what the spool must give."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.spool = Spool(Path(self.folder.name), PLENTY)
        self.waiting: deque[Stamped] = deque()
        self.under_way: list[tuple[Stamped, Place]] = []
        self.number = 0

    @rule(size=st.integers(1, 3000))
    def append(self, size: int) -> None:
        self.number += 1
        self.spool.append(message(self.number, size))
        self.waiting.append(message(self.number, size))

    @rule()
    def read(self) -> None:
        item = self.spool.read()
        if item is None:
            assert not self.waiting
        else:
            assert item[0] == self.waiting.popleft()
            self.under_way.append(item)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def confirm(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(1, len(self.under_way)))
        self.spool.confirm(self.under_way[count - 1][1])
        del self.under_way[:count]

    @rule()
    def restart(self) -> None:
        self.spool.close()
        self.spool = Spool(Path(self.folder.name), PLENTY)
        self.waiting.extendleft(stamped for stamped, _ in reversed(self.under_way))
        self.under_way = []

    @rule()
    def stop_with_what_is_under_way(self) -> None:
        first = [message(-1), *(stamped for stamped, _ in self.under_way)]
        self.spool.put_first(first)
        self.under_way = []
        self.waiting.extendleft(reversed(first))
        self.restart()

    @invariant()
    def emptiness_is_known(self) -> None:
        assert self.spool.is_empty() == (not self.waiting)

    def teardown(self) -> None:
        self.spool.close()
        self.folder.cleanup()


TestSpoolAgainstModel = SpoolAgainstModel.TestCase
TestSpoolAgainstModel.settings = settings(max_examples=40, stateful_step_count=40)
