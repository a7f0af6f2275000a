"""How many bytes a second does a fleet put into Kafka, by topic, as JSON and packed as agents pack it?

    python benchmarks/fleet_bytes.py [--rnics 1000] [--seconds 20] [-o RESULTS.json]

An agent packs with gzip what it sends at a time (``collectors.kafka_producer``); here the messages of one producer id's
agent in one second. *Unpacking*: processor time that a reader of these needs, us per message.
"""

from __future__ import annotations

import argparse
import gzip
import os
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import orjson

from benchmarks.fleet_load import fleet, messages, note
from streams.claims import agent_of


def measure(rnics: int, seconds: int) -> dict[str, Any]:
    """Bytes by topic of so many seconds."""
    load = fleet(rnics)
    count: Counter[str] = Counter()
    plain: Counter[str] = Counter()
    packed: Counter[str] = Counter()
    unpacking_s: Counter[str] = Counter()
    for _, sent in messages(load, seconds):
        batches: dict[tuple[str, str], list[bytes]] = defaultdict(list)
        for each in sent:
            batches[each.topic, agent_of(orjson.loads(each.value)["producer"]["id"])].append(each.key + each.value)
            count[each.topic] += 1
            plain[each.topic] += len(each.key) + len(each.value)
        for (topic, _), values in batches.items():
            one = gzip.compress(b"".join(values), 6)
            packed[topic] += len(one)
            begin = time.process_time()
            gzip.decompress(one)
            unpacking_s[topic] += time.process_time() - begin
    topics = {
        topic: {
            "messages_per_s": round(count[topic] / seconds, 2),
            "bytes_per_s": round(plain[topic] / seconds),
            "packed_bytes_per_s": round(packed[topic] / seconds),
            "unpacking_us": round(1e6 * unpacking_s[topic] / count[topic], 1),
        }
        for topic in sorted(count)
    }
    load_average = round(os.getloadavg()[0], 1)
    return {"what": "bytes", "rnics": load.rnics, "seconds": seconds, "topics": topics, "load_average": load_average}


def main() -> None:
    """Prints a JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rnics", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    note(measure(options.rnics, options.seconds), options.output)


if __name__ == "__main__":
    main()
