"""Two small stages for tests of everything around engines: what they say shows all that they were given, in order.

``steps`` (key job) tells each second which training steps it has seen, as an anomaly of the job's fabric; ``verdicts``
(key fabric) tells in incidents what it has heard from all jobs and devices. So there is a change of key, a derived
topic and an output that several partitions of the first stage have a part in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from schemas.diagnosis import Action, Anomaly, Evidence, Incident, Observed
from schemas.envelope import Message
from schemas.folding import DERIVED_CLOCK, Emission, Event, TimeReached, derived_producer
from schemas.ids import content_id
from schemas.maps import Ecmp, FabricMap
from schemas.telemetry import JobProgress
from streams.stages import Stage
from tests.toys import CLOCK, Producer, at

SPAN_US = 5_000_000


def job_progress(offset_s: float, seq: int, job: str, fabric: str, step: int) -> JobProgress:
    """A finished training step."""
    return JobProgress(
        v=1,
        t_us=at(offset_s),
        producer=Producer(id=f"agent:{job}/job-progress", kind="host", boot="b1", seq=seq),
        clock=CLOCK,
        fabric=fabric,
        job=job,
        step=step,
        step_s=0.5,
    )


def fabric_map(offset_s: float, seq: int, fabric: str) -> FabricMap:
    """A map, which counts also when it comes too late."""
    return FabricMap(
        v=1,
        t_us=at(offset_s),
        producer=Producer(id=f"agent:{fabric}/fabric-map", kind="topology", boot="b1", seq=seq),
        clock=CLOCK,
        fabric=fabric,
        version=seq,
        nodes=(),
        links=(),
        ecmp=Ecmp(method="traced"),
    )


@dataclass
class Seen:
    """State of both engines."""

    key: str
    said: int = 0
    fabric: str = ""
    texts: list[str] = field(default_factory=list)
    opened: dict[str, int] = field(default_factory=dict)


def _text(event: Any) -> str:
    value = event.value
    return f"{event.topic} {value.producer.id} {value.producer.seq} {value.t_us}"


class StepsEngine:
    """Tells each second what it has seen in it."""

    def start(self, key: str) -> Seen:
        return Seen(key)

    def step(self, state: Seen, event: Event) -> tuple[Seen, list[Emission]]:
        if not isinstance(event, TimeReached):
            state.fabric = event.value.fabric
            state.texts.append(_text(event))
            return state, []
        if not state.texts:
            return state, []
        state.said += 1
        anomaly = Anomaly(
            v=1,
            t_us=event.t_us,
            producer=derived_producer("steps", state.key, state.said),
            clock=DERIVED_CLOCK,
            fabric=state.fabric,
            job=state.key,
            anomaly=content_id("anomaly", state.key, event.t_us),
            src="a",
            dst="b",
            symptom="packet_loss",
            onset_us=event.t_us,
            detected_us=event.t_us,
            detector="; ".join(state.texts)[:500],
            score=len(state.texts) / 3,
            baseline=Observed(),
            observed=Observed(loss=0.1),
            path=None,
            state="open",
        )
        state.texts = []
        return state, [Emission("anomalies", state.fabric, anomaly)]


class VerdictsEngine:
    """Tells each second what it has heard, in one incident for every five seconds, updated again and again."""

    def start(self, key: str) -> Seen:
        return Seen(key)

    def step(self, state: Seen, event: Event) -> tuple[Seen, list[Emission]]:
        if not isinstance(event, TimeReached):
            state.texts.append(_text(event) + _more(event.value))
            return state, []
        if not state.texts:
            return state, []
        state.said += 1
        span = -(-event.t_us // SPAN_US) * SPAN_US
        incident = content_id("incident", state.key, span)
        began_us = state.opened.setdefault(incident, event.t_us)
        said = _incident(state, incident, began_us, event.t_us)
        state.texts = []
        return state, [Emission("incidents", incident, said)]


def _more(value: Message) -> str:
    return f" {value.detector} {value.score!r}" if isinstance(value, Anomaly) else ""


def _incident(state: Seen, incident: str, began_us: int, t_us: int) -> Incident:
    return Incident(
        v=1,
        t_us=t_us,
        producer=derived_producer("verdicts", state.key, state.said),
        clock=DERIVED_CLOCK,
        fabric=state.key,
        incident=incident,
        state="open" if began_us == t_us else "updated",
        kind="congestion",
        issue=None,
        component=None,
        component_class=None,
        confidence=0.5,
        candidates=(),
        jobs=(),
        endpoints=(),
        symptom=None,
        onset_us=began_us,
        detected_us=t_us,
        localized_us=None,
        resolved_us=None,
        evidence=tuple(Evidence(topic="toy", t_us=t_us, ref="toy", text=text) for text in state.texts),
        trace=(),
        action=Action(kind="none", target=None, why="a toy"),
    )


TOYS: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage(
            name="steps",
            key="job",
            inputs=("job-progress",),
            outputs=("anomalies",),
            upstream=(),
            build=lambda parameters: StepsEngine(),
        ),
        Stage(
            name="verdicts",
            key="fabric",
            inputs=("anomalies", "device-events", "fabric-map"),
            outputs=("incidents",),
            upstream=("steps",),
            build=lambda parameters: VerdictsEngine(),
        ),
    )
}
