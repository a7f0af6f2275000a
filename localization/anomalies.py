"""Which pairs are ill, since when, and when are they well again? The open anomalies of a job, with hysteresis.

An anomaly is one (pair, symptom, onset); its id follows from these, so a replay names it the same. It is cleared only
when evidence for the background has grown to ``RECOVERY_NATS`` and stayed there for the stable period: a link that
flaps is one anomaly. Evidence of recovery is bounded, so that old health does not outvote new trouble.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from schemas.diagnosis import Anomaly, Observed, Symptom
from schemas.envelope import Producer

RECOVERY_NATS = 6.0
SYMPTOMS: tuple[Symptom, ...] = ("unconnectivity", "packet_loss", "high_latency")
Key = tuple[int, Symptom]
"""(row of the pair, symptom)"""


@dataclass(frozen=True, slots=True)
class Finding:
    """A pair that has just turned ill: what an ``Anomaly`` will say about it. ``at``: position among the pair sums,
    ``row``: in the columns of the panel;
    ``level``: what its recovery is measured against, in the units of its detector."""

    at: int
    row: int
    symptom: Symptom
    detector: str
    onset_us: int
    score: float
    level: float
    baseline: Observed
    observed: Observed


@dataclass(slots=True)
class OpenAnomaly:
    """An anomaly as opened; ``level``: loss or z at that time; ``bad_us``: last bad window; ``recovery``: nats."""

    message: Anomaly
    level: float
    bad_us: int
    recovery: float = 0.0


@dataclass(slots=True)
class AnomalyBook:
    """Open anomalies by (row, symptom)."""

    open: dict[Key, OpenAnomaly] = field(default_factory=dict)

    def rows(self, symptom: Symptom | None = None) -> set[int]:
        """Rows of pairs with an open anomaly (of that symptom)."""
        return {row for row, kind in self.open if symptom is None or kind == symptom}

    def start(self, key: Key, message: Anomaly, level: float) -> Anomaly:
        """Opens an anomaly."""
        self.open[key] = OpenAnomaly(message, level, message.t_us)
        return message

    def weigh(self, key: Key, gain: float, t_us: int, bad: bool) -> None:
        """Adds a window's evidence of recovery, nats."""
        anomaly = self.open[key]
        anomaly.recovery = min(max(0.0, anomaly.recovery + gain), 2.0 * RECOVERY_NATS)
        if bad or anomaly.recovery < RECOVERY_NATS:
            anomaly.bad_us = t_us

    def recovered(self, t_us: int, stable_us: int) -> list[Key]:
        """Anomalies that are over."""
        return [
            key
            for key, anomaly in self.open.items()
            if anomaly.recovery >= RECOVERY_NATS and t_us - anomaly.bad_us >= stable_us
        ]

    def clear(self, key: Key, t_us: int, producer: Producer) -> Anomaly:
        """Closes an anomaly."""
        return msgspec.structs.replace(self.open.pop(key).message, t_us=t_us, producer=producer, state="cleared")

    def renumber(self, rows: dict[int, int]) -> None:
        """Follows the pair table when rows move."""
        self.open = {(rows[row], symptom): anomaly for (row, symptom), anomaly in self.open.items()}
