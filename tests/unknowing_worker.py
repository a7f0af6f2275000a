"""``python -m tests.unknowing_worker SECONDS TOPIC...``: then as the toy worker, which at first does not know topics.

A broker that has just begun, or has just made a topic, may leave it out when a client asks what there is. Here topics
whose names end as given are left out of what aiokafka knows for so long.
"""

from __future__ import annotations

import runpy
import sys
import time
from typing import Any

from aiokafka.cluster import ClusterMetadata

LEADER = "-__assignor-__leader"
CHANGELOG = "-state-changelog"


def leave_out(endings: tuple[str, ...], seconds: float) -> None:
    """aiokafka does not know these topics for so long."""
    known, until_s = ClusterMetadata.partitions_for_topic, time.monotonic() + seconds

    def partitions_for_topic(self: Any, topic: str) -> Any:
        is_left_out = topic.endswith(endings) and time.monotonic() < until_s
        return None if is_left_out else known(self, topic)

    ClusterMetadata.partitions_for_topic = partitions_for_topic


if __name__ == "__main__":
    seconds, number = float(sys.argv[1]), sys.argv.index("--config")
    leave_out(tuple(sys.argv[2:number]), seconds)
    sys.argv[1:number] = []
    runpy.run_module("tests.toy_worker", run_name="__main__")
