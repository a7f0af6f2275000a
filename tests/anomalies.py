"""What detection might have told of the small fabric."""

from __future__ import annotations

from schemas.diagnosis import Anomaly, Observed
from schemas.instants import SECOND_US
from tests.small_fabric import BEGIN_US, envelope


def anomaly(number: int, src: str, dst: str, t_us: int) -> Anomaly:
    """Anomaly number so and so of job ``j``: nothing passes from ``src`` to ``dst`` since ``t_us``."""
    return Anomaly(
        **envelope("detection:j", (t_us - BEGIN_US) / SECOND_US, number),
        job="j",
        anomaly=f"a{number}",
        src=src,
        dst=dst,
        symptom="unconnectivity",
        onset_us=t_us,
        detected_us=t_us,
        detector="failed-trains",
        score=1.0,
        baseline=Observed(loss=0.0, rtt_us=13.0),
        observed=Observed(loss=1.0, rtt_us=None, sent=100, window_s=1.0),
        path=None,
        state="open",
    )
