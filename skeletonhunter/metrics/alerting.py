"""What does an alert sender say of itself? What it told whom with what success, and what is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from schemas.metrics import Reading
from skeletonhunter.metrics.readings import Flow, Start, dead_letters

if TYPE_CHECKING:
    from skeletonhunter.sinks.alerts import AlertLoop


def alert_readings(start: Start, loops: Sequence[AlertLoop]) -> Iterator[Reading]:
    """Values of all targets; what is read from Kafka is told of the target that is furthest."""
    yield from start.readings()
    flow = max((loop.flow for loop in loops), key=lambda flow: flow.messages.total(), default=Flow())
    yield from flow.readings("alert")
    letters: Counter[tuple[str, str]] = Counter()
    for loop in loops:
        yield from _of_target(loop)
        letters.update(loop.letters)
    yield from dead_letters("alert", letters)
    census = max((loop.incidents_open for loop in loops), key=len, default={})
    for kind, count in Counter(list(census.values())).items():
        yield Reading("incidents_open", count, (kind,))


def _of_target(loop: AlertLoop) -> Iterator[Reading]:
    name = loop.target.name
    for outcome, count in dict(loop.outcomes).items():
        yield Reading("alert_tellings_total", count, (name, outcome))
    yield Reading("alert_attempts_total", loop.attempts, (name,))
    for severity, count in loop.pages_open().items():
        yield Reading("alert_pages_open", count, (name, severity))
