"""What a queue's samples say is what a plain list of them says, whatever was read, and after old ones were dropped."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest

from localization.queue_log import COUNTERS
from localization.queues import MOST_LAYOUTS, QueueStore
from schemas.telemetry import QueueColumns, SwitchQueues
from tests.small_fabric import envelope

Entry = tuple[int, tuple[int | None, ...]]


class Plain:
    """Every sample and every reading by itself."""

    def __init__(self) -> None:
        self.samples: list[tuple[int, int | None]] = []
        self.entries: list[Entry] = []

    def add(self, column: QueueColumns) -> None:
        self.samples += zip(column.t_us, column.depth_bytes, strict=True)
        columns = [getattr(column, name) for name in COUNTERS]
        values = tuple(each[-1] if each else None for each in columns)
        if any(each is not None for each in values):
            self.entries.append((column.t_us[-1], values))

    def depths(self, start_us: int, end_us: int) -> list[int]:
        return [depth for t_us, depth in self.samples if start_us < t_us <= end_us and depth is not None]

    def pairs(self, start_us: int, end_us: int) -> list[tuple[Entry, Entry]]:
        return list(pairwise([each for each in self.entries if start_us < each[0] <= end_us]))

    def grown(self, start_us: int, end_us: int) -> dict[str, int]:
        found: dict[str, int] = {}
        for (_, earlier), (_, later) in self.pairs(start_us, end_us):
            for name, old, new in zip(COUNTERS, earlier, later, strict=True):
                if old is not None and new is not None and new > old:
                    found[name] = found.get(name, 0) + new - old
        return found

    def marking(self, start_us: int, end_us: int, least: float) -> tuple[int, int]:
        quiet = marked = 0
        for (begin_us, earlier), (until_us, later) in self.pairs(start_us, end_us):
            old, new = earlier[0], later[0]
            if old is not None and new is not None and new >= old:
                marked += new > old
                quiet += new == old and any(depth >= least for depth in self.depths(begin_us, until_us))
        return quiet, marked


def column_of(draw: np.random.Generator, port: str, t_us: tuple[int, ...], counters: list[int]) -> QueueColumns:
    """Samples, one in eight of them null; counters that mostly stand still, are sometimes null, and begin anew."""
    counters[:] = [
        0 if draw.random() < 0.02 else each + int(draw.integers(1, 9)) * (draw.random() < 0.2) for each in counters
    ]
    depths = tuple(None if draw.random() < 0.125 else int(draw.integers(0, 2000)) for _ in t_us)
    told = {
        name: (None if draw.random() < 0.1 else value,) * len(t_us)
        for name, value in zip(COUNTERS, counters, strict=True)
        if draw.random() < 0.8
    }
    return QueueColumns(port=port, queue=0, t_us=t_us, depth_bytes=depths, **told)  # type: ignore[arg-type]


def message(number: int, columns: list[QueueColumns]) -> SwitchQueues:
    return SwitchQueues(**envelope("q", float(number), number), switch="s", ports=tuple(columns))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(12))
def test_a_series_says_what_a_plain_list_says(seed: int) -> None:
    """Whichever queues a message tells of, in whichever order, at the same instants or each at its own."""
    draw = np.random.default_rng(seed)
    changing, apart, ports = (0.0, 0.1, 0.9)[seed % 3], (0.0, 0.3)[seed % 2], "abcde"
    store, told = QueueStore(300), list(ports)
    plain, counters = {port: Plain() for port in ports}, {port: [0] * len(COUNTERS) for port in ports}
    for number in range(200):
        t_us = 10 * number + (40 if draw.random() < 0.05 else 0)  # some come in disorder
        if draw.random() < changing:
            told = draw.permutation(list(ports))[: draw.integers(1, 6)].tolist()
        instants = {port: (t_us, t_us + 1)[: draw.integers(0, 3) if draw.random() < apart else 2] for port in told}
        columns = [column_of(draw, port, at, counters[port]) for port, at in instants.items()]
        store.take(message(number, columns))
        for column in columns:
            if column.t_us:
                plain[column.port].add(column)
        if draw.random() < 0.05:
            store.trimmed_us = t_us - 60_000_000
            store.trim(t_us)
        if draw.random() < 0.05:
            store = pickle.loads(pickle.dumps(store))
        port = ports[draw.integers(5)]
        begin, end = sorted(draw.integers(t_us - 250, t_us + 10, 2).tolist())
        found = store.series(f"s/{port}").get("0")
        if found is None:
            assert not plain[port].samples or plain[port].samples[-1][0] < begin
            continue
        assert found.depths(begin, end).tolist() == plain[port].depths(begin, end)
        assert found.grown(begin, end) == plain[port].grown(begin, end)
        assert found.marking(begin, end, 1500.0) == plain[port].marking(begin, end, 1500.0)
    assert max(len(log.t_us) for log in store.logs.values()) < 2 * 200


def test_what_is_old_is_dropped() -> None:
    store = QueueStore(keep_us=1_000_000)
    for second in range(300):
        column = QueueColumns(port="1", queue=0, t_us=(second * 1_000_000,), depth_bytes=(second,), dropped=(second,))
        store.take(message(second, [column, QueueColumns(port="2", queue=0, t_us=(0,), depth_bytes=(0,))]))
        store.trim(second * 1_000_000)
    assert len(store.series("s/2")["0"].depth) == 59  # those that have come since second 240
    kept = store.series("s/1")["0"]
    assert kept.depth.tolist() == list(range(239, 300))
    assert kept.grown(0, 300_000_000) == {"dropped": 60}


def test_a_switch_that_tells_of_other_queues_each_time_has_a_log_for_each_queue() -> None:
    store = QueueStore(keep_us=10**9)
    for number in range(500):
        told = [port for port in range(10) if (number >> port) & 1]
        columns = [QueueColumns(port=str(port), queue=0, t_us=(number,), depth_bytes=(port,)) for port in told]
        store.take(message(number, columns))
    assert len(store.logs) <= MOST_LAYOUTS + 10
    assert store.series("s/3")["0"].t_us.tolist() == [number for number in range(500) if (number >> 3) & 1]


def test_a_depth_that_no_queue_has_is_taken_as_the_deepest() -> None:
    store = QueueStore(keep_us=10**9)
    store.take(message(0, [QueueColumns(port="1", queue=0, t_us=(1, 2), depth_bytes=(5, 2**64 - 1))]))
    assert store.series("s/1")["0"].depths(0, 2).tolist() == [5, 2**63 - 1]
