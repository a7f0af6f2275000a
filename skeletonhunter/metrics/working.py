"""What does a worker say of itself? Messages, their fates, how far it has come, and the age of its checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemas.metrics import Reading, instant
from skeletonhunter.metrics.readings import Start, dead_letters
from streams.worker import Worker


def worker_readings(start: Start, workers: Sequence[Worker]) -> Iterator[Reading]:
    """Values of the worker; before there is one only who and since when."""
    yield from start.readings()
    for worker in workers:
        yield from _of_worker(worker)


def _of_worker(worker: Worker) -> Iterator[Reading]:
    for topic, count in list(worker.received.items()):
        yield Reading("messages_received_total", count, ("work", topic))
    for topic, count in list(worker.sent.items()):
        yield Reading("messages_sent_total", count, ("work", topic))
    yield from dead_letters("work", dict(worker.effects.letters.counts))
    yield from _stages(worker)
    if worker.patience is not None:
        yield Reading("ticker_waited_seconds_total", worker.patience.waited_s)


def _stages(worker: Worker) -> Iterator[Reading]:
    fates: dict[tuple[str, str], int] = {}
    for (stage, partition), runner in list(worker.runners.items()):
        counts = runner.fold.counts()
        for fate in ("new", "duplicate", "late"):
            fates[stage, fate] = fates.get((stage, fate), 0) + getattr(counts, fate)
        place = (stage, str(partition))
        yield instant("stage_handled_timestamp_seconds", max(0, runner.handled_us), *place)
        yield instant("stage_checkpoint_timestamp_seconds", max(0, runner.checkpointed_us), *place)
    for about, count in fates.items():
        yield Reading("stage_messages_total", count, about)
