"""What is a kind of evidence worth? The same recording, diagnosed with that evidence taken out of what the engines see.

Flow tables, queues and device events are topics: a recording without them is as if nobody had collected them, which
proves nothing to the engines. ``queues`` are whole ``switch-queues``, with the ports' other counters. Without
``healthy-pairs`` the fabric-wide inference gets the trains of pairs only while they have an open anomaly, as if each
pair were looked at by itself; that the sources of the others live is still known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import msgspec

from schemas.diagnosis import Anomaly, PairWindows
from schemas.folding import Emission, Engine, Event, Observation
from skeletonhunter.replaying.local import LocalReplay
from streams.local import LocalPipeline

EvidenceName = Literal["flow-tables", "queues", "device-events", "healthy-pairs"]
EVIDENCE: tuple[EvidenceName, ...] = get_args(EvidenceName)
TOPICS: dict[EvidenceName, str] = {
    "flow-tables": "flow-tables",
    "queues": "switch-queues",
    "device-events": "device-events",
}
COLUMNS = ("src", "dst", "sport", "path", "sent", "lost", "rtt_us")


def blinded(replay: LocalReplay, without: EvidenceName | None) -> LocalReplay:
    """The replay, made to show its engines no such evidence; null: as it is."""
    if without in TOPICS:
        replay.left_out |= {TOPICS[without]}
    elif without == "healthy-pairs":
        replay.prepare = show_ill_pairs_only
    return replay


def show_ill_pairs_only(pipeline: LocalPipeline) -> None:
    """Lets localization see trains of ill pairs only."""
    for fold in pipeline.folds:
        if fold.stage.name == "localization":
            fold.engine = IllPairsOnly(fold.engine)


@dataclass(slots=True)
class NarrowState:
    """The engine's own state, and the pairs (unordered) of open anomalies by the anomaly's id."""

    inner: Any
    ill: dict[str, frozenset[str]] = field(default_factory=dict)


class IllPairsOnly:
    """The localization engine behind a filter: rows of ``pair-windows`` whose pair has no open anomaly are taken out.

    A pair is ill from the second in which its anomaly opens; anomalies of a second come before its windows.
    """

    def __init__(self, engine: Engine[Any]) -> None:
        self.engine = engine

    def start(self, key: str) -> NarrowState:
        """The state before the first event of fabric ``key``."""
        return NarrowState(self.engine.start(key))

    def step(self, state: NarrowState, event: Event) -> tuple[NarrowState, Sequence[Emission]]:
        """See ``schemas.folding.Engine``."""
        value = event.value if isinstance(event, Observation) else None
        if isinstance(value, Anomaly):
            if value.state == "open":
                state.ill[value.anomaly] = frozenset((value.src, value.dst))
            else:
                state.ill.pop(value.anomaly, None)
        elif isinstance(event, Observation) and isinstance(value, PairWindows):
            state.inner.store.probing.update(value.src)
            event = Observation(event.topic, rows_of(value, set(state.ill.values())))
        state.inner, emissions = self.engine.step(state.inner, event)
        return state, emissions


def rows_of(windows: PairWindows, pairs: set[frozenset[str]]) -> PairWindows:
    """The rows of some (unordered) pairs."""
    ends = zip(windows.src, windows.dst, strict=True)
    kept = [row for row, pair in enumerate(ends) if frozenset(pair) in pairs]
    columns = {name: tuple(getattr(windows, name)[row] for row in kept) for name in COLUMNS}
    return msgspec.structs.replace(windows, **columns)
