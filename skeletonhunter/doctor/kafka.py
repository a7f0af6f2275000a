"""Is Kafka there, are the topics as planned, and do their readers keep up?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import tenacity
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from skeletonhunter.doctor.findings import Finding, failed, listed, ok, skipped, warning
from skeletonhunter.settings import KafkaSettings, Settings
from skeletonhunter.sinks.alerts import TOPIC as INCIDENTS
from skeletonhunter.sinks.alerts import alert_groups
from skeletonhunter.sinks.clickhouse_sink import GROUP as SINK_GROUP
from skeletonhunter.sinks.rows import STORED_TOPICS
from skeletonhunter.working import worker_setup
from streams.offsets import Spot
from streams.runner import TICKS
from streams.stages import STAGES
from streams.topic_admin import TopicAdmin, TopicError, TopicPlan, plan_topics

TIMEOUT_S = 10.0
KAFKA_CHECKS = ("topics", "topic settings", "readers", "plans")


def check_kafka(settings: Settings, most_lag: int) -> Iterator[Finding]:
    """Broker, topics, their settings, and the groups that read them."""
    kafka = settings.kafka
    admin = TopicAdmin(kafka.url, kafka.prefix, kafka.librdkafka)
    try:
        existing = admin.existing()
    except TopicError as error:
        yield failed(
            "brokers", str(error), "Start Kafka, or set kafka.url to where it is; check names, ports, TLS, users."
        )
        yield from (skipped(name, "Kafka does not answer") for name in KAFKA_CHECKS)
        return
    yield ok("brokers", f"Kafka at {kafka.url} answers and has {len(existing)} topics with prefix {kafka.prefix!r}")
    plans = plan_topics(kafka.max_message_bytes)
    yield from _topics(kafka, existing, plans)
    yield from _topic_settings(kafka, [plan for plan in plans if plan.name in existing])
    yield from _readers(settings, admin, existing, most_lag)


def _topics(kafka: KafkaSettings, existing: Mapping[str, int], plans: Sequence[TopicPlan]) -> Iterator[Finding]:
    missing = [kafka.prefix + plan.name for plan in plans if plan.name not in existing]
    numbers = {plan.name: existing[plan.name] for plan in plans if plan.name in existing}
    others = [f"{kafka.prefix}{name} has {n}" for name, n in numbers.items() if n != kafka.partitions]
    if missing:
        yield failed("topics", f"{len(missing)} topics are missing: {listed(missing)}", "Run: skeletonhunter topics")
    if others:
        yield failed(
            "topics",
            f"partitions should be {kafka.partitions} everywhere, but {listed(others)}",
            "Set kafka.partitions to what the topics have; if they differ among themselves, make them anew under "
            "another kafka.prefix, because streams are joined partition by partition.",
        )
    if not missing and not others:
        yield ok("topics", f"all {len(plans)} topics have {kafka.partitions} partitions")


def _topic_settings(kafka: KafkaSettings, plans: Sequence[TopicPlan]) -> Iterator[Finding]:
    client = AdminClient({"bootstrap.servers": kafka.url, **kafka.librdkafka})
    asked = {plan.name: ConfigResource(ResourceType.TOPIC, kafka.prefix + plan.name) for plan in plans}
    wrong = []
    try:
        answers = client.describe_configs(list(asked.values()), request_timeout=TIMEOUT_S) if asked else {}
        for plan in plans:
            found = answers[asked[plan.name]].result(TIMEOUT_S)
            wrong += [
                f"{kafka.prefix}{plan.name} has {name}={found[name].value} instead of {value}"
                for name, value in plan.config.items()
                if name in found and found[name].value != value
            ]
    except KafkaException as error:
        yield skipped("topic settings", f"the broker does not tell them: {error.args[0].str()}")
        return
    if wrong:
        fix = "Change them with kafka-configs.sh --alter --entity-type topics, to what `skeletonhunter topics` lists."
        yield warning("topic settings", listed(wrong), fix)
    else:
        yield ok("topic settings", f"retention, compaction and sizes of {len(plans)} topics are as planned")


def groups_of(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Consumer groups that this installation should have, without prefix, and the topics that they read."""
    read = {topic for stage in settings.worker.stages for topic in STAGES[stage].inputs} | {TICKS}
    worker = worker_setup(settings).group.removeprefix(settings.kafka.prefix)
    groups = {worker: tuple(sorted(read)), SINK_GROUP: tuple(STORED_TOPICS)}
    return groups | dict.fromkeys(alert_groups(settings.alerts), (INCIDENTS,))


def _readers(settings: Settings, admin: TopicAdmin, existing: Mapping[str, int], most_lag: int) -> Iterator[Finding]:
    for group, topics in groups_of(settings).items():
        check = f"reader {settings.kafka.prefix}{group}"
        spots = [(topic, number) for topic in topics for number in range(existing.get(topic, 0))]
        try:
            committed, lag = _progress(settings.kafka, admin, group, spots)
        except (KafkaException, TopicError) as error:
            yield skipped(check, f"the broker does not tell: {error}")
            continue
        yield _judged(check, group, committed, lag, most_lag)


@tenacity.retry(
    retry=tenacity.retry_if_exception_type((KafkaException, TopicError)),
    stop=tenacity.stop_after_attempt(3),
    wait=tenacity.wait_fixed(1.0),
    reraise=True,
)
def _progress(
    kafka: KafkaSettings, admin: TopicAdmin, group: str, spots: Sequence[Spot]
) -> tuple[dict[Spot, int], dict[str, int]]:
    """What a group has committed, and its lag by topic; a broker that is just moving a partition is asked again."""
    committed = _committed(kafka, group, spots)
    return committed, _lag(admin.ends(spots), committed)


def _judged(check: str, group: str, committed: Mapping[Spot, int], lag: Mapping[str, int], most: int) -> Finding:
    behind = sum(lag.values())
    command = {SINK_GROUP: "sink"}.get(group, "alert" if group.startswith("alert-") else "work")
    if not committed:
        return warning(check, "it has never read anything", f"Start: skeletonhunter {command}")
    if behind > most:
        worst = max(lag, key=lambda topic: lag[topic])
        fix = f"See whether skeletonhunter {command} runs and what its log says; start more of them to share the work."
        fix = fix if command != "alert" else "See whether skeletonhunter alert runs, and whether its receiver answers."
        return failed(check, f"{behind} messages behind, most of them in {worst} ({lag[worst]})", fix)
    return ok(check, f"{behind} messages behind")


def _committed(kafka: KafkaSettings, group: str, spots: Sequence[Spot]) -> dict[Spot, int]:
    if not spots:
        return {}
    config = {"bootstrap.servers": kafka.url, **kafka.librdkafka, "group.id": kafka.prefix + group}
    consumer = Consumer(config)
    try:
        asked = [TopicPartition(kafka.prefix + topic, number) for topic, number in spots]
        found = consumer.committed(asked, timeout=TIMEOUT_S)
    finally:
        consumer.close()
    return {(each.topic.removeprefix(kafka.prefix), each.partition): each.offset for each in found if each.offset >= 0}


def _lag(ends: Mapping[Spot, int], committed: Mapping[Spot, int]) -> dict[str, int]:
    """By topic; a partition of which nothing was read counts whole."""
    lag: dict[str, int] = {}
    for (topic, number), end in ends.items():
        lag[topic] = lag.get(topic, 0) + max(0, end - committed.get((topic, number), 0))
    return lag
