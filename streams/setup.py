"""What does a worker need to know? The part of the settings that concerns Faust, without a default for anything."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from streams.parameters import Parameters


class WorkerSetup(Struct, frozen=True, kw_only=True):
    """One worker.

    ``brokers`` are ``host:port``; ``prefix`` stands before topics and the group. ``stages`` run here; ``pipeline`` are
    all stages that run somewhere, whose ticks are waited for. ``librdkafka`` goes to the ticker's clients as it is.
    A worker that is silent for longer than ``session_s`` is given up; the broker may hold a read for ``fetch_wait_ms``.
    ``store`` is ``memory`` or ``rocksdb``.
    """

    brokers: tuple[str, ...]
    prefix: str
    partitions: int
    replication: int
    max_message_bytes: int
    librdkafka: Mapping[str, str | int | float | bool]
    session_s: float
    fetch_wait_ms: int
    stages: tuple[str, ...]
    pipeline: tuple[str, ...]
    data_dir: str
    store: str
    checkpoint_s: float
    ticker: bool
    dead_letters_per_minute: int
    parameters: Parameters

    @property
    def group(self) -> str:
        """The consumer group; workers with the same stages share it, and so the partitions."""
        part = "" if self.stages == self.pipeline else "-" + "-".join(self.stages)
        return f"{self.prefix}skeletonhunter{part}"
