"""What do running parts say of themselves, under which names? Every metric declared once, and Prometheus's text form.

Names, labels and meanings stand in ``METRICS`` only; pages, alert rules and parts are checked against it. Instants are
seconds since the epoch, as Prometheus wants them: ``time() - x`` is an age. Counters begin at 0 when a part starts.
The form is Prometheus's text exposition format 0.0.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from schemas.instants import SECOND_US

PREFIX = "skeletonhunter_"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Part = Literal["work", "sink", "alert", "collect"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its name without prefix, what kind it is, its labels, who has it, and what it means."""

    name: str
    kind: Literal["counter", "gauge"]
    labels: tuple[str, ...]
    parts: tuple[Part, ...]
    help: str


METRICS: tuple[Metric, ...] = (
    Metric("info", "gauge", ("part", "version"), ("work", "sink", "alert", "collect"), "1; which part this is"),
    Metric(
        "start_timestamp_seconds",
        "gauge",
        ("part",),
        ("work", "sink", "alert", "collect"),
        "when the part was started",
    ),
    Metric(
        "messages_received_total", "counter", ("part", "topic"), ("work", "sink", "alert"), "messages read from Kafka"
    ),
    Metric("messages_sent_total", "counter", ("part", "topic"), ("work", "collect"), "messages given to Kafka"),
    Metric(
        "newest_arrival_timestamp_seconds",
        "gauge",
        ("part", "topic"),
        ("sink", "alert"),
        "when the newest message that was read came into Kafka",
    ),
    Metric(
        "dead_letters_total",
        "counter",
        ("part", "topic", "reason"),
        ("work", "sink", "alert"),
        "records that could not be used, or alerts that could not be delivered",
    ),
    Metric(
        "stage_messages_total",
        "counter",
        ("stage", "fate"),
        ("work",),
        "messages by what became of them: new, duplicate (known already) or late (beyond the lateness bound, or of a "
        "job that is over; left out)",
    ),
    Metric(
        "stage_handled_timestamp_seconds",
        "gauge",
        ("stage", "partition"),
        ("work",),
        "event time up to which the stage has handled everything",
    ),
    Metric(
        "stage_checkpoint_timestamp_seconds",
        "gauge",
        ("stage", "partition"),
        ("work",),
        "event time of the last checkpoint",
    ),
    Metric(
        "ticker_waited_seconds_total",
        "counter",
        (),
        ("work",),
        "seconds that time waited after gaps in the ticks, so that agents could send what they had kept",
    ),
    Metric("sink_rows_total", "counter", (), ("sink",), "rows that ClickHouse has taken"),
    Metric("sink_inserts_total", "counter", (), ("sink",), "inserts into ClickHouse"),
    Metric("sink_refused_rows_total", "counter", (), ("sink",), "messages that did not fit their table"),
    Metric("sink_pending_rows", "gauge", (), ("sink",), "rows that wait for the next insert"),
    Metric(
        "alert_tellings_total",
        "counter",
        ("target", "outcome"),
        ("alert",),
        "alerts that were delivered, failed after all attempts, or were withheld (silence, storm, verdict not settled)",
    ),
    Metric(
        "alert_attempts_total",
        "counter",
        ("target",),
        ("alert",),
        "requests that were sent to deliver alerts, all tries",
    ),
    Metric("alert_pages_open", "gauge", ("target", "severity"), ("alert",), "pages that are open"),
    Metric("incidents_open", "gauge", ("kind",), ("alert",), "incidents that are not resolved, of all fabrics"),
    Metric("agent_state", "gauge", ("state",), ("collect",), "1 of the state that the agent is in"),
    Metric("agent_dropped_total", "counter", (), ("collect",), "messages that were given up"),
    Metric("agent_spool_bytes", "gauge", (), ("collect",), "bytes that wait on disk because Kafka is away"),
    Metric("agent_spool_limit_bytes", "gauge", (), ("collect",), "bytes that may wait there"),
    Metric("agent_resident_bytes", "gauge", (), ("collect",), "resident memory of the agent"),
    Metric("agent_processor_seconds_total", "counter", (), ("collect",), "processor time of the agent"),
)

_KNOWN = {metric.name: metric for metric in METRICS}


class Reading(NamedTuple):
    """A value of a metric now; ``labels`` are the texts of its labels, in the order of its declaration."""

    name: str
    value: float
    labels: tuple[str, ...] = ()


def instant(name: str, t_us: int, *labels: str) -> Reading:
    """The reading of an instant, us since the epoch."""
    return Reading(name, t_us / SECOND_US, labels)


def exposition(readings: Iterable[Reading]) -> str:
    """The page that Prometheus reads: metrics in the order of their declaration, each with its help and kind.

    Raises:
        KeyError: a metric is not declared.
        ValueError: it has other labels, or one combination of labels has two values.
    """
    found: dict[str, dict[str, float]] = {name: {} for name in _KNOWN}
    for reading in readings:
        lines, sample = found[reading.name], _sample(reading)
        if sample in lines:
            raise ValueError(f"{sample} was read twice")
        lines[sample] = reading.value
    page: list[str] = []
    for name, lines in found.items():
        if lines:
            page += [f"# HELP {PREFIX}{name} {_KNOWN[name].help}", f"# TYPE {PREFIX}{name} {_KNOWN[name].kind}"]
            page += [f"{sample} {value!r}" for sample, value in lines.items()]
    return "\n".join(page) + "\n"


def _sample(reading: Reading) -> str:
    names = _KNOWN[reading.name].labels
    if len(names) != len(reading.labels):
        raise ValueError(f"{reading.name} has labels {', '.join(names) or 'none'}, got {reading.labels}")
    pairs = ",".join(f'{name}="{_escaped(text)}"' for name, text in zip(names, reading.labels, strict=True))
    return f"{PREFIX}{reading.name}{{{pairs}}}" if pairs else f"{PREFIX}{reading.name}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
