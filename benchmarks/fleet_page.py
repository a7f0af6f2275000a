"""What do 40,000, 200,000 and a million RNICs need? Tables from what was measured, for ``docs/reference/capacity.md``.

    python benchmarks/fleet_page.py

Reads ``benchmarks/fleet_measured.jsonl``, to which ``fleet_cost.py``, ``fleet_bytes.py``, ``fleet_kafka.py`` and
``fleet_sink.py`` add a line each with ``-o``; of several lines of one kind and size the last counts. Everything that is
not measured is in ``Assumed`` and is printed as such.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from math import ceil
from pathlib import Path
from typing import Any

from schemas.topics import topics

HERE = Path(__file__)
MEASURED = HERE.with_name("fleet_measured.jsonl")
PAGE = HERE.parents[1] / "docs/reference/capacity.md"
STAGES = ("skeleton", "detection", "fabric", "planner", "localization")
BY_JOB = ("skeleton", "detection", "planner")
FLEETS = (40_000, 200_000, 1_000_000)
DAY_S = 86_400
PROBE_ROW_BYTES = 8.6
"""On disk, from docs/reference/query-latency.md: the rows of copied pods pack better than those of a real fleet."""

Point = dict[str, Any]


@dataclass(frozen=True)
class Assumed:
    """What was not measured here."""

    busy: float = 0.6
    copies: int = 3
    broker_mb_s: float = 50.0
    partitions_per_worker: int = 2


WHY = {
    "busy": "share of a core that a worker or sink may use on average: room for the worst second and for catching up",
    "copies": "replicas of each Kafka topic",
    "broker_mb_s": "MB/s that a broker takes, replicas included, with disks and network to spare",
    "partitions_per_worker": "so that a worker that is lost is shared by several others",
}


def read(path: Path) -> dict[str, list[Point]]:
    """Points by kind, in order of RNICs."""
    found: dict[str, dict[int, Point]] = {}
    for line in path.read_text().splitlines():
        point = json.loads(line)
        found.setdefault(point["what"], {})[point["rnics"]] = point
    return {what: [points[size] for size in sorted(points)] for what, points in found.items()}


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table in Markdown; the first column is text."""
    names = list(head)
    lines = [names, ["---", *["---:"] * (len(names) - 1)], *[[str(cell) for cell in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def bare_share(point: Point) -> float:
    """Share of a core that orjson alone takes for the probe results."""
    return float(point["bare_decode_s"]) / (point["seconds"] - point["steady_s"])


def curve(points: list[Point]) -> str:
    """Shares by size, and the whole beside bare decoding."""
    rows = []
    for point in points:
        shares = [point[stage]["share_of_a_core"] for stage in STAGES]
        whole = sum(shares)
        rest = f"{whole:.2f}", f"{whole / bare_share(point):.0f}", point["worker_peak_rss_mib"], point["load_average"]
        rows.append((f"{point['rnics']:,}", f"{point['jobs']:,}", *[f"{share:.3f}" for share in shares], *rest))
    head = ("RNICs", "jobs", *STAGES, "whole", "times bare orjson", "memory, MiB", "load of the machine")
    return table(head, rows)


def by_frequency(points: list[Point]) -> str:
    """Shares of the largest fleet by how often it is probed."""
    rows = []
    for point in points:
        shares = [point[stage]["share_of_a_core"] for stage in STAGES]
        messages, size = (point["detection"][name]["probe-results"] for name in ("messages_in", "bytes_in"))
        slot = (
            f"{point.get('slot_s', 0.02):g}",
            f"{messages / point['seconds']:,.0f}",
            f"{size / point['seconds'] / 1e6:.1f}",
        )
        rows.append(
            (f"{point['rnics']:,}", *slot, *[f"{s:.3f}" for s in shares], f"{sum(shares):.2f}", point["load_average"])
        )
    return table(("RNICs", "`slot_s`", "probe results/s", "MB/s", *STAGES, "whole", "load of the machine"), rows)


def per_stage(point: Point) -> str:
    """What one stage reads, writes and keeps, per second of event time."""
    rows = []
    for stage in STAGES:
        of = point[stage]
        seconds = point["seconds"]
        checkpoint = of["checkpoint_bytes"] / seconds
        rows.append(
            (
                f"`{stage}`",
                f"{sum(of['messages_in'].values()) / seconds:,.0f}",
                f"{sum(of['bytes_in'].values()) / seconds / 1e6:.2f}",
                f"{sum(of['bytes_out'].values()) / seconds / 1e6:.3f}",
                f"{checkpoint / 1e6:.3f}",
                f"{of['state_bytes'] / 2**20:.1f}",
                f"{of['share_of_a_core']:.3f}",
                f"{of['worst_second_s']:.2f}",
                f"{40_000 / point['rnics'] * of['share_of_a_core']:.2f}",
            )
        )
    head = ("stage", "messages/s", "MB/s in", "MB/s out", "changelog MB/s", "state, MiB", "share of a core")
    return table((*head, "worst second, s", "cores at 40,000"), rows)


def topics_table(point: Point) -> str:
    """Kafka's bytes by topic."""
    rows = []
    for name, of in point["topics"].items():
        plain, packed = of["bytes_per_s"] / 1e3, of["packed_bytes_per_s"] / 1e3
        keep = topics()[name].retention_hours
        rate = f"{of['messages_per_s']:,.1f}"
        rows.append((f"`{name}`", rate, f"{plain:,.0f}", f"{packed:,.0f}", of["unpacking_us"], keep or "compacted"))
    return table(("topic", "messages/s", "kB/s", "kB/s as agents pack", "unpacking, us", "kept, h"), rows)


@dataclass(frozen=True)
class Needs:
    """Per RNIC: shares of a core, bytes a second, and bytes that Kafka keeps of the topics that are deleted by age.

    ``by_job`` and ``by_fabric`` are what a worker takes through Kafka, split as the stages' own shares are.
    """

    by_job: float
    by_fabric: float
    sink: float
    into_kafka: float
    by_stages: float
    changelog: float
    kept: float
    rows: float


def needs(found: dict[str, list[Point]]) -> Needs:
    """Costs of one RNIC: of the stages from the largest fleet, of the rest from the only size that was measured."""
    stages, volume, sink, limits = (found[what][-1] for what in ("stages-slower", "bytes", "sink", "limits"))
    shares = {stage: stages[stage]["share_of_a_core"] for stage in STAGES}
    worker = limits["share_of_a_core"]["real"] / limits["rnics"] / sum(shares.values())
    own = volume["topics"]
    written = {name: each["packed_bytes_per_s"] / volume["rnics"] for name, each in own.items()}
    derived: dict[str, float] = {}
    for stage in STAGES:
        for name, size in stages[stage]["bytes_out"].items():
            derived[name] = derived.get(name, 0.0) + size / stages["seconds"] / stages["rnics"]
    logged = sum(stages[s]["checkpoint_bytes"] for s in STAGES)
    everything = {**written, **{name: size for name, size in derived.items() if name != "ticks"}}
    return Needs(
        by_job=worker * sum(shares[stage] for stage in BY_JOB),
        by_fabric=worker * (shares["fabric"] + shares["localization"]),
        sink=sink["share_of_a_core"]["sink"] / sink["rnics"],
        into_kafka=sum(written.values()),
        by_stages=sum(derived.values()),
        changelog=logged / stages["seconds"] / stages["rnics"],
        kept=sum(size * 3600 * (topics()[name].retention_hours or 0) for name, size in everything.items()),
        rows=_rows_a_second(sink),
    )


def _rows_a_second(sink: Point) -> float:
    """Bytes on disk per second and RNIC of the tables that grow all the time; maps are written once."""
    growing = sum(size for name, size in sink["disk_bytes"].items() if name in CONTINUOUS)
    results = RESULTS_PER_RNIC_S * PROBE_ROW_BYTES
    return float(growing) / sink["seconds"] / sink["rnics"] + results


def capacity(need: Needs, assumed: Assumed) -> str:
    """How much of everything, by fleet."""
    rows: list[tuple[object, ...]] = []

    def row(name: str, of: Callable[[int], float], form: str = ",.0f") -> None:
        rows.append((name, *(format(of(rnics), form) for rnics in FLEETS)))

    def workers(rnics: int) -> int:
        return ceil(rnics * (need.by_job + need.by_fabric) / assumed.busy)

    def broker_mb(rnics: int) -> float:
        return rnics * (need.into_kafka + need.by_stages + need.changelog) * assumed.copies / 1e6

    largest = assumed.busy / need.by_fabric
    row("cores of the stages by job (skeleton, detection, planner)", lambda n: n * need.by_job, ",.1f")
    row("cores of the stages by fabric (fabric, localization)", lambda n: n * need.by_fabric, ",.1f")
    row("workers, a core each", workers)
    row("partitions of each topic", lambda n: assumed.partitions_per_worker * workers(n))
    row("fabrics (or more), so that one worker can follow each", lambda n: ceil(n / largest))
    row("Kafka: MB/s from agents", lambda n: n * need.into_kafka / 1e6, ",.1f")
    row("Kafka: MB/s from stages", lambda n: n * need.by_stages / 1e6, ",.1f")
    row("Kafka: MB/s of changelog", lambda n: n * need.changelog / 1e6, ",.2f")
    row("brokers", lambda n: max(assumed.copies, ceil(broker_mb(n) / assumed.broker_mb_s)))
    row("Kafka: TB kept, all copies", lambda n: n * need.kept * assumed.copies / 1e12, ",.1f")
    row("sinks, a core each", lambda n: ceil(n * need.sink / assumed.busy))
    row("ClickHouse shards, two cores each for inserts", lambda n: ceil(n * need.sink / assumed.busy / 2))
    row("ClickHouse: GB a day, one copy", lambda n: n * need.rows * DAY_S / 1e9)
    return table(("", *(f"{rnics:,} RNICs" for rnics in FLEETS)), rows)


def assumptions(assumed: Assumed) -> Iterator[str]:
    """What was not measured, a line each."""
    for each in fields(assumed):
        yield f"- `{each.name}` = {getattr(assumed, each.name)}: {WHY[each.name]}."


def of_kafka(found: dict[str, list[Point]]) -> str:
    """Ways of reading, beside the least."""
    point = found["limits"][-1]
    raw = point["us_per_record"]["raw"]
    rows = [(WAYS[way], spent, f"{spent / raw:.0f}") for way, spent in point["us_per_record"].items()]
    return table(("way", "processor time, us per record", "times raw"), rows)


WAYS = {
    "raw": "confluent-kafka consumes and does nothing",
    "empty": "a Faust agent that does nothing, one record per event",
    "silent": "our worker, engines that say nothing: decoding, barriers, sequencing, checkpoints",
    "real": "our worker",
}
CONTINUOUS = ("agent_health", "flow_entries", "flow_snapshots", "rnic_bursts", "rnic_counters", "switch_queues")
RESULTS_PER_RNIC_S = 8.4
"""Of the pod's own plans: one train at a time, both ends, at 4,000 packets a second."""


def of_workers(found: dict[str, list[Point]]) -> str:
    """Seconds by number of workers."""
    point = found["scale"][-1]
    runs = [(n, point[n]) for n in ("1", "2", "4") if n in point]
    rows = [
        (n, f"{r['wall_s']:.0f}", f"{r['records_per_s']:,.0f}", f"{r['processor_s']:.1f}", f"{r['busiest_s']:.1f}")
        for n, r in runs
    ]
    return table(("workers", "wall, s", "records/s", "processor, s", "of the busiest, s"), rows)


def of_lateness(found: dict[str, list[Point]]) -> str:
    """How late incidents were, by size, and whether the worker kept up."""
    rows = []
    for point in found["live"]:
        first, word = point["onset_to_incident_s"], point["event_to_word_s"]
        share = point["processor_s"] / point["seconds"]
        rows.append(
            (
                f"{point['rnics']:,}",
                f"{share:.2f}",
                f"{point['wall_s'] - point['seconds']:.0f}",
                f"{first['p50']}, {first['p99']} ({point['incidents']})",
                f"{word['p50']}, {word['p99']} ({point['words']})",
                point["load_average"],
            )
        )
    onset, words = "fault to first word, s: p50, p99 (incidents)", "event time to word, s: p50, p99 (words)"
    return table(("RNICs", "cores taken", "over after the last second, s", onset, words, "load of the machine"), rows)


def main() -> None:
    """Puts the tables between the page's marks."""
    found, assumed = read(MEASURED), Assumed()
    parts = {
        "curve": curve(found["stages-slower"]),
        "slower": by_frequency([found["stages"][-1], found["stages-slower"][-1]]),
        "stages": per_stage(found["stages-slower"][-1]),
        "topics": topics_table(found["bytes"][-1]),
        "kafka": of_kafka(found),
        "workers": of_workers(found),
        "lateness": of_lateness(found),
        "capacity": capacity(needs(found), assumed),
        "assumed": "\n".join(assumptions(assumed)),
    }
    text = PAGE.read_text()
    for name, part in parts.items():
        begin, end = f"<!-- {name} -->", f"<!-- end {name} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{part}\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
