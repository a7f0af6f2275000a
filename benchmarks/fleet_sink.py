"""What does it cost to keep a fleet's messages in ClickHouse, in processor time and on disk, beside bare Arrow?

    python benchmarks/fleet_sink.py [--rnics 1000] [--seconds 15] [--rounds 1] [-o RESULTS.json]

As ``clickhouse_sink.py`` with the embedded engine, with the load of ``fleet_load``: *bare* inserts ready Arrow tables,
*sink* starts from the bytes of the records and does everything but ask Kafka. Shares are of a core per second of event
time. Disk: bytes of the parts of each table once all are merged, per second of event time.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.clickhouse_sink import Bench, batches_of, best_of
from benchmarks.fleet_load import Fleet, fleet, messages, note
from skeletonhunter.sinks.rows import STORED_TOPICS
from streams.records import Record


def records_of(load: Fleet, seconds: int) -> list[Record]:
    """What the sink reads of the fleet's own messages; what stages say is a small part and left out."""
    sent = [each for _, part in messages(load, seconds) for each in part if each.topic in STORED_TOPICS]
    return [
        Record(topic, 0, number, key, value, arrival_us) for number, (topic, key, arrival_us, value) in enumerate(sent)
    ]


def on_disk(bench: Bench) -> dict[str, int]:
    """Bytes by table when all parts are merged."""
    tables = "SELECT name FROM system.tables WHERE database = 'skeletonhunter' AND engine LIKE '%MergeTree'"
    for (name,) in bench.client.query(tables).result_rows:
        bench.client.command(f"OPTIMIZE TABLE skeletonhunter.{name} FINAL")
    sizes = (
        "SELECT table, sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'skeletonhunter' "
        "GROUP BY table HAVING sum(rows) > 0 ORDER BY table"
    )
    return {table: int(size) for table, size in bench.client.query(sizes).result_rows if table != "schema_migrations"}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Both ways, and the disk."""
    load = fleet(options.rnics)
    records = records_of(load, options.seconds)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(f"chdb://{folder}/db")
        batches = batches_of(records, bench.writer, bench.settings.clickhouse.batch_rows)
        rows = sum(frame.height for batch in batches for frame in batch.values())
        ways = {"bare": lambda: bench.bare(batches), "sink": lambda: bench.sink(records)}
        taken = best_of(options.rounds, bench, ways)
        disk = on_disk(bench)
        bench.client.close()
    return {
        "what": "sink",
        "rnics": load.rnics,
        "seconds": options.seconds,
        "messages": len(records),
        "bytes": sum(len(record.value) for record in records),
        "rows": rows,
        "share_of_a_core": {way: round(busy_s / options.seconds, 4) for way, (_, busy_s) in taken.items()},
        "of_bare_by_processor_time": round(taken["bare"][1] / taken["sink"][1], 2),
        "disk_bytes": disk,
        "load_average": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    """Prints a JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rnics", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    note(measure(options), options.output)


if __name__ == "__main__":
    main()
