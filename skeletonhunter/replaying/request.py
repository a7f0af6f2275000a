"""What is to be replayed, and how? The same request for both engines."""

from __future__ import annotations

from dataclasses import dataclass

from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.outcome import Progress, quiet
from skeletonhunter.settings import Settings


class ReplayError(RuntimeError):
    """A replay could not be carried out; the text says why."""


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """``speed``: event time per wall time, None = as fast as possible.

    ``broker``, ``clickhouse``: what was asked for on the command line, None = nothing was; the Kafka engine then starts
    the embedded broker and writes to the embedded ClickHouse, the local one writes no rows.
    """

    recording: Recording
    settings: Settings
    speed: float | None = None
    broker: str | None = None
    clickhouse: str | None = None
    progress: Progress = quiet
