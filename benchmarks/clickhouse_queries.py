"""How long does every query of the cookbook take on 100 million probe rows, and how many bytes does a row cost?

    python benchmarks/clickhouse_queries.py [--rows 20000000] [--repeat 4] [--keep FOLDER] [--page FILE]

Everything is made inside the embedded engine: ten jobs of 1,000 pairs, each pair probed every 8 s (a train of 1,000
probes, three RTT samples, a path of four links) until there are so many rows; insertions are an hour each, the roll-ups
catch up hour by hour as they do on a server. ``--repeat`` then puts copies of rows and roll-ups before them in time,
which is quicker than making them: 20 million rows and 4 copies are 100 million. Other tables get what such a fleet
would send in the same time. Each query is asked over the whole time, once to warm up and then three times; the median
counts. Needs about 4 GB of disk.
"""

from __future__ import annotations

import argparse
import statistics
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from filling import Fleet, fill, fill_probes, repeat
from rich import print as say

from skeletonhunter import migrations
from skeletonhunter.queries import Query, queries
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.settings import ClickHouseSettings
from skeletonhunter.sinks.connection import connect
from skeletonhunter.sinks.rollups import refresh

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

DATABASE = "skeletonhunter"
RECORDING = Path(__file__).parents[1] / "examples/incidents/stale-flow-offload"
AIM_S = 1.0
RUNS = 3
WHY = {
    "late_data": "groups every message of the collectors; ask about a shorter time",
    "links_dropped_most": "reads every sample of every port, of which there is no roll-up; ask about a shorter time",
    "marks_and_pauses": "reads every sample of every port, likewise",
    "congested_ports": "reads every sample of every port, likewise",
    "rtt_heat_map": "over a thousand minutes of a thousand pairs; ask about a shorter time",
}
"""Why a query takes long where it does."""


def main() -> None:
    """Fills, measures, prints, and writes the page if asked to."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=20_000_000)
    options.add_argument("--repeat", type=int, default=0)
    options.add_argument("--keep", type=Path)
    options.add_argument("--page", type=Path)
    asked = options.parse_args()
    with TemporaryDirectory(prefix="clickhouse-queries-") as scratch:
        folder = asked.keep or Path(scratch)
        is_there = folder.exists() and any(folder.iterdir())
        client = connect(ClickHouseSettings(dsn=f"chdb://{folder.absolute()}"))
        migrations.apply(client, DATABASE)
        fleet = Fleet.of(client, asked.rows, datetime.now(UTC))
        facts = {} if is_there else filled(client, fleet)
        if asked.repeat:
            client.command("SYSTEM STOP VIEWS")
            repeat(client, fleet, asked.repeat, say)
            fleet = Fleet.of(client, asked.rows, datetime.now(UTC))
        lines = report(client, fleet, facts)
        client.close()
    say("\n".join(lines))
    if asked.page:
        asked.page.write_text("\n".join(lines) + "\n")


def filled(client: Client, fleet: Fleet) -> dict[str, float]:
    """Makes the rows and rolls them up; how long that took, s."""
    began_s = time.monotonic()
    client.command("SYSTEM STOP VIEWS")
    fill(client, fleet)
    fill_probes(client, fleet, say)
    inserted_s = time.monotonic()
    client.command("SYSTEM START VIEWS")
    before = -1
    while (now := int(value(client, "SELECT max(source_at) FROM pair_minutes"))) != before:
        before = now
        refresh(client, DATABASE)
        say(f"rolled up to {datetime.fromtimestamp(before, UTC):%d %H:%M}")
    client.command("SYSTEM STOP VIEWS")
    return {"insert": inserted_s - began_s, "roll up": time.monotonic() - inserted_s}


def value(client: Client, sql: str) -> Any:
    """The only value of the answer; a date as seconds since the epoch."""
    [[found]] = client.query(sql).result_rows
    return found.replace(tzinfo=UTC).timestamp() if isinstance(found, datetime) else found


def report(client: Client, fleet: Fleet, facts: dict[str, float]) -> list[str]:
    """The page."""
    probes = value(client, "SELECT count() FROM probe_results")
    words = [
        "# Query latency and storage",
        "",
        "Measured with `python benchmarks/clickhouse_queries.py` (20 million rows made, and copies of them) on the "
        f"embedded engine ({value(client, 'SELECT version()')}) with {fleet.cores} cores that others used as well: "
        f"{probes:,} probe rows of {fleet.hours:.1f} h, ten jobs of 1,000 pairs. "
        "Each query is asked over the whole time; seconds are "
        f"the median of {RUNS} after one to warm up. The aim is {AIM_S:.0f} s.",
        "",
    ]
    if facts:
        words += [
            "Filling took " + ", ".join(f"{seconds:.0f} s to {what}" for what, seconds in facts.items()) + ".",
            "",
        ]
    return [*words, *storage(client), "", "## Latency", "", *latency(client, fleet)]


def storage(client: Client) -> list[str]:
    """Rows and bytes by table, and bytes of a probe result beside JSON."""
    sizes = client.query(
        "SELECT table, sum(rows), sum(data_compressed_bytes), sum(data_compressed_bytes) / sum(rows) FROM system.parts "
        f"WHERE active AND database = '{DATABASE}' AND rows > 0 GROUP BY table ORDER BY 3 DESC LIMIT 12"
    ).result_rows
    json_bytes, packed_bytes, results = recorded()
    lines = ["## Storage", "", "| table | rows | MB | bytes per row |", "|---|---:|---:|---:|"]
    lines += [f"| `{table}` | {rows:,} | {size / 1e6:,.1f} | {each:.1f} |" for table, rows, size, each in sizes]
    mine = next(each for table, _, _, each in sizes if table == "probe_results")
    lines += [
        "",
        f"One probe result takes {mine:.1f} bytes here. As JSON, as it stands in Kafka, one of the bundled incident "
        f"takes {json_bytes / results:.0f} bytes, and {packed_bytes / results:.0f} in a recording's zstd files.",
    ]
    return lines


def recorded() -> tuple[int, int, int]:
    """Of the bundled incident's probe results: bytes as JSON, bytes in its compressed file, and how many."""
    with Recording(RECORDING) as recording:
        lines = [line.raw for line in recording.lines() if line.topic == "probe-results"]
        packed = recording.files["probe-results"].stat().st_size
    return sum(map(len, lines)), packed, sum(raw.count(b'"outcome"') for raw in lines)


def latency(client: Client, fleet: Fleet) -> list[str]:
    """One line per query."""
    lines = ["| query | s | rows of the answer | |", "|---|---:|---:|---|"]
    slow = []
    for name, query in queries().items():
        seconds, rows = timed(client, query, fleet)
        lines.append(f"| `{name}` | {seconds:.3f} | {rows:,} | {_why(name, seconds)} |")
        slow += [name] if seconds > AIM_S else []
        say(lines[-1])
    return [*lines, "", f"{len(queries()) - len(slow)} of {len(queries())} are within {AIM_S:.0f} s."]


def _why(name: str, seconds: float) -> str:
    return f"above the aim: {WHY.get(name, 'not explained')}" if seconds > AIM_S else ""


def timed(client: Client, query: Query, fleet: Fleet) -> tuple[float, int]:
    """Median seconds, rows of the answer."""
    given: dict[str, Any] = {**fleet.examples, "since": fleet.begin - timedelta(hours=1), "until": fleet.end}
    parameters = {parameter.name: given[parameter.name] for parameter in query.parameters}
    took = []
    for _ in range(RUNS + 1):
        began_s = time.monotonic()
        answer = client.query(query.sql, parameters=parameters)
        took.append(time.monotonic() - began_s)
    return statistics.median(took[1:]), len(answer.result_rows)


if __name__ == "__main__":
    main()
