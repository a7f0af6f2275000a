"""Does every running job have a probe plan that is not older than its map?"""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import KafkaException

from schemas.codec import BadRecord, decode
from schemas.instants import SECOND_US
from schemas.maps import EndpointMap
from schemas.probing import ProbePlan
from skeletonhunter.doctor.findings import Finding, failed, listed, ok, skipped, warning
from skeletonhunter.replaying.kafka_outcome import read_all
from skeletonhunter.settings import KafkaSettings
from streams.records import arrival_of

PATIENCE_US = 120 * SECOND_US
"""A map that is newer than the plan by more than this should have led to another plan."""


def check_plans(kafka: KafkaSettings, now_us: int) -> Iterator[Finding]:
    """Plans of the jobs that run."""
    try:
        maps, plans = _newest(kafka)
    except KafkaException as error:
        yield skipped("plans", f"maps and plans can't be read: {error.args[0].str()}")
        return
    running = {job: each for job, each in maps.items() if each.state == "running"}
    without = sorted(job for job in running if job not in plans)
    outdated = sorted(
        job for job, each in running.items() if job in plans and each.t_us > plans[job].t_us + PATIENCE_US
    )
    if without:
        yield failed(
            "plans",
            f"running jobs without a probe plan: {listed(without)}",
            "See that skeletonhunter work runs with the stage planner, and that there is a fabric-map.",
        )
    if outdated:
        fix = "Look at the log of skeletonhunter work; the stage planner should have answered the newer endpoint-map."
        yield warning("plans", f"plans older than their job's map: {listed(outdated)}", fix)
    if not running:
        yield warning(
            "plans", "no job runs, as far as endpoint-map says", "Run an agent that publishes maps: see the guide."
        )
    elif not without and not outdated:
        oldest_s = (now_us - min(plans[job].t_us for job in running)) / SECOND_US
        yield ok("plans", f"each of {len(running)} running jobs has one, the oldest is {oldest_s:.0f} s old")


def _newest(kafka: KafkaSettings) -> tuple[dict[str, EndpointMap], dict[str, ProbePlan]]:
    maps: dict[str, EndpointMap] = {}
    plans: dict[str, ProbePlan] = {}
    for message in read_all(kafka, ["endpoint-map", "probe-plans"]):
        topic, raw = (message.topic() or "").removeprefix(kafka.prefix), message.value()
        arrival_us = arrival_of(message.headers(), message.timestamp()[1])
        try:
            value = decode(topic, message.key(), raw or b"", arrival_us, kafka.max_message_bytes)
        except BadRecord:
            continue
        if isinstance(value, EndpointMap):
            maps[value.job] = value
        elif isinstance(value, ProbePlan):
            plans[value.job] = value
    return maps, plans
