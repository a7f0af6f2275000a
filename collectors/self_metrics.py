"""What does the agent say of itself to Prometheus? What it published, what waits on disk, and what it uses.

The same facts go to ``agent-health``; this is for the machine's own Prometheus, also while Kafka is away.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import get_args

from collectors.agent import Agent
from collectors.health import State
from collectors.vitals import processor_s, resident_bytes
from schemas.metrics import Reading, instant


def agent_readings(agent: Agent, began_us: int) -> Iterator[Reading]:
    """Values of the agent now."""
    yield Reading("info", 1, ("collect", version("skeletonhunter")))
    yield instant("start_timestamp_seconds", began_us, "collect")
    publisher = agent.publisher
    for topic, count in list(publisher.published.items()):
        yield Reading("messages_sent_total", count, ("collect", topic))
    now = agent.health.state(agent.loop.clocks())
    for state in get_args(State):
        yield Reading("agent_state", float(state == now), (state,))
    yield Reading("agent_dropped_total", publisher.dropped)
    yield Reading("agent_spool_bytes", 0 if publisher.spool.is_empty() else publisher.spool.bytes_kept())
    yield Reading("agent_spool_limit_bytes", publisher.spool.max_bytes)
    yield Reading("agent_processor_seconds_total", processor_s())
    resident = resident_bytes()
    if resident is not None:
        yield Reading("agent_resident_bytes", resident)
