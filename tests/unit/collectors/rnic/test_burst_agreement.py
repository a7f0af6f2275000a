"""Bursts found on the host against those of a simulated job, as the skeleton reads both.

The bundled healthy job tells when each endpoint sent and received what. From that the counters of its cards are made,
sampled every 50 ms as the agent does, and read by the detector. What the skeleton's logs then hold must agree: each
transfer with its bytes, its edges within one sampling interval, and in all no byte more than the counters moved.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from collectors.rnic.bursts import BurstDetector, Found, Sensing
from schemas.envelope import Clock, Producer
from schemas.telemetry import Burst, RnicBursts, RnicColumns, RnicCounters
from skeleton.bursts import BurstLog
from skeleton.counters import CounterLog
from skeletonhunter.recordings.reader import Recording

RECORDING = Path(__file__).parents[4] / "examples" / "incidents" / "healthy-job"
SECONDS = 20
INTERVAL_US = 50_000
ENDPOINTS = 8

Told = dict[str, list[tuple[int, int, int, str]]]


@pytest.fixture(scope="module")
def told() -> Told:
    """Transfers of some endpoints in the first part of the recording."""
    import orjson

    found: Told = defaultdict(list)
    with Recording(RECORDING) as recording:
        for line in recording.lines():
            if line.topic == "rnic-bursts":
                value = orjson.loads(line.raw)["value"] if b'"value"' in line.raw else orjson.loads(line.raw)
                for burst in value["bursts"]:
                    row = (burst["start_us"], burst["end_us"], burst["bytes"], burst["direction"])
                    found[value["endpoint"]].append(row)
    names = sorted(found)[:ENDPOINTS]
    start = min(row[0] for name in names for row in found[name])
    return {name: sorted(row for row in found[name] if row[1] < start + SECONDS * 10**6) for name in names}


def curve(rows: list[tuple[int, int, int, str]], way: str, instants: np.ndarray) -> np.ndarray:
    """The counter at each instant."""
    total = 400_000.0 * (instants - instants[0]) / 1e6
    for start, end, size, direction in rows:
        if direction == way:
            total += size * np.clip((instants - start) / max(end - start, 1), 0.0, 1.0)
    return total.astype(np.int64)


def heard(name: str, rows: list[tuple[int, int, int, str]], seed: int) -> tuple[list[Found], RnicCounters]:
    """What the agent finds on these counters, and its 1 Hz samples of them."""
    rng = np.random.default_rng(seed)
    start, end = rows[0][0] - 500_000, max(row[1] for row in rows) + 500_000
    instants = np.arange(start + int(rng.integers(INTERVAL_US)), end, INTERVAL_US) + rng.integers(0, 2_000)
    tx, rx = curve(rows, "tx", instants), curve(rows, "rx", instants)
    detector = BurstDetector(Sensing(line_bytes_s=50e9))
    for at_us, sent, received in zip(instants.tolist(), tx.tolist(), rx.tolist(), strict=True):
        detector.sample(at_us, at_us - start, sent, received)
    container, _, rnic = name.partition("/")
    columns = RnicColumns(
        rnic=rnic, t_us=tuple(instants.tolist()), tx_bytes=tuple(tx.tolist()), rx_bytes=tuple(rx.tolist())
    )
    return detector.take(), RnicCounters(**envelope(int(instants[-1])), container=container, host="h", rnics=(columns,))


def envelope(t_us: int) -> dict[str, object]:
    producer = Producer(id="agent:a/x", kind="k", boot="b", seq=0)
    return {
        "v": 1,
        "t_us": t_us,
        "producer": producer,
        "clock": Clock(source="ptp", offset_us=0.0, error_us=1.0),
        "fabric": "f",
        "job": "j",
    }


def apart(rows: list[tuple[int, int, int, str]], way: str) -> list[tuple[int, int, int, str]]:
    """Transfers of one direction; those without a pause of two intervals between them as one."""
    joined: list[tuple[int, int, int, str]] = []
    for start, end, size, direction in rows:
        if direction == way and joined and start - joined[-1][1] < 2 * INTERVAL_US:
            last = joined.pop()
            joined.append((last[0], max(end, last[1]), size + last[2], way))
        elif direction == way:
            joined.append((start, end, size, way))
    return joined


def test_the_skeleton_reads_the_same_bursts_as_from_the_simulation(told: Told) -> None:
    log, counted, compared = BurstLog(), CounterLog(), 0
    for seed, (name, rows) in enumerate(told.items()):
        found, counters = heard(name, rows, seed)
        bursts = tuple(Burst(**one._asdict()) for one in found)
        log.add(RnicBursts(**envelope(rows[-1][1]), endpoint=name, bursts=bursts))
        counted.add(counters)
    log.settle(None, 0)
    counted.settle(None, 0)
    for name, rows in told.items():
        series = log.series[name]
        for way in ("tx", "rx"):
            mine = series.sent if way == "tx" else ~series.sent
            start, end, size = series.start_us[mine], series.end_us[mine], series.size[mine]
            order = np.argsort(start)
            true = apart(rows, way)
            for t0, t1, moved, _ in true:
                near = order[np.argmin(np.abs(start[order] - t0))]
                if len(true) == len(order):
                    assert abs(int(start[near]) - t0) <= INTERVAL_US
                    assert abs(int(end[near]) - t1) <= INTERVAL_US
                    assert abs(float(size[near]) - moved) <= 0.01 * moved
                    compared += 1
            total = np.nansum(counted.series[name].tx if way == "tx" else counted.series[name].rx)
            assert 0.98 * total <= float(size.sum()) <= 1.001 * total
    assert compared > 100
