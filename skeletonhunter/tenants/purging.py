"""How is a tenant forgotten? Its traces are looked up in Kafka and ClickHouse, then purged in both, Kafka first.

Kafka first, so that no sink writes again what was deleted. A purge may run twice; the second finds less. It is for a
tenant whose jobs have ended: what a running job still says comes again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException, Producer
from msgspec import structs

from schemas.alerting import AlertDelivery
from schemas.codec import BadRecord, decode
from schemas.diagnosis import Incident
from schemas.envelope import Value
from schemas.maps import EndpointMap
from skeletonhunter.replaying.kafka_outcome import read_all
from skeletonhunter.settings import KafkaSettings
from skeletonhunter.sinks.connection import database_of
from skeletonhunter.tenants.ownership import prefix_of
from skeletonhunter.tenants.traces import CONDITIONS, Purged, Traces, remains
from streams.topic_admin import TopicAdmin, TopicError

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

    from skeletonhunter.settings import Settings

_log = logging.getLogger(__name__)
READ = ("alert-deliveries", "endpoint-map", "incidents")
FAR_US = 2**53


def purge(settings: Settings, client: Client, tenant: str, dry_run: bool = False) -> Purged:
    """Forgets a tenant; ``dry_run`` only counts.

    Raises:
        TenantError: the name can't be a tenant's.
        TopicError: Kafka does not answer or refuses.
    """
    admin = TopicAdmin(settings.kafka.url, settings.kafka.prefix, settings.kafka.librdkafka)
    own = prefix_of(tenant)
    existing = admin.existing()
    database = database_of(settings.clickhouse)
    traces = find(settings.kafka, existing, client, database, tenant)
    done = Purged(tenant, len(traces.jobs), remains=remains(traces))
    done.topics = sorted(name for name in existing if name.startswith(own))
    done.tombstones = {name: len(keys) for name, keys in traces.tombstones().items() if keys and name in existing}
    if not dry_run:
        admin.delete(done.topics)
        _bury(settings.kafka, {name: traces.tombstones()[name] for name in done.tombstones})
    done.rows = _delete(client, database, traces, dry_run)
    return done


def find(kafka: KafkaSettings, existing: Mapping[str, int], client: Client, database: str, tenant: str) -> Traces:
    """The traces of a tenant, in both stores."""
    told = list(_told(kafka, existing))
    maps = [each for each in told if isinstance(each, EndpointMap) and each.tenant == tenant]
    sql = f"SELECT DISTINCT job, endpoint, container FROM {database}.endpoint_map WHERE tenant = %(tenant)s"
    rows = client.query(sql, parameters={"tenant": tenant}).result_rows
    jobs = frozenset({row[0] for row in rows} | {each.job for each in maps})
    concerned: dict[str, set[str]] = {}
    for each in told:
        if isinstance(each, Incident):
            concerned.setdefault(each.incident, set()).update(each.jobs)
    sql = f"SELECT incident, arrayDistinct(arrayFlatten(groupArray(jobs))) FROM {database}.incidents GROUP BY incident"
    for incident, its_jobs in client.query(sql).result_rows:
        concerned.setdefault(incident, set()).update(its_jobs)
    incidents = frozenset(name for name, its in concerned.items() if its and its <= jobs)
    return Traces(
        tenant=tenant,
        jobs=jobs,
        endpoints=frozenset({row[1] for row in rows} | {e.endpoint for each in maps for e in each.endpoints}),
        containers=frozenset({row[2] for row in rows} | {e.container for each in maps for e in each.endpoints}),
        incidents=incidents,
        shared_incidents=frozenset(name for name, its in concerned.items() if its & jobs and not its <= jobs),
        pages=frozenset(each.page for each in told if isinstance(each, AlertDelivery) and each.incident in incidents),
    )


def _told(kafka: KafkaSettings, existing: Mapping[str, int]) -> list[Value]:
    """What the topics hold from which a tenant's traces are known."""
    found = []
    for topic in READ:
        if topic not in existing:
            continue
        for message in read_all(structs.replace(kafka, partitions=existing[topic]), [topic]):
            raw = message.value()
            if raw is None:
                continue
            try:
                found.append(decode(topic, message.key(), raw, FAR_US, kafka.max_message_bytes))
            except BadRecord:
                continue
    return found


def _bury(kafka: KafkaSettings, keys: Mapping[str, frozenset[str]]) -> None:
    """Writes tombstones, and waits until Kafka has them."""
    refused: list[str] = []

    def delivered(error: Any, _message: Any) -> None:
        if error is not None:
            refused.append(error.str())

    config: dict[str, str | int | float | bool] = {"bootstrap.servers": kafka.url, "acks": "all"}
    producer = Producer({**config, "partitioner": "murmur2_random", **kafka.librdkafka}, logger=_log)
    try:
        for topic, names in keys.items():
            for name in sorted(names):
                producer.produce(kafka.prefix + topic, None, key=name, on_delivery=delivered)
                producer.poll(0)
        left = producer.flush(60)
    except (KafkaException, BufferError) as error:
        raise TopicError(f"tombstones can't be written: {error}") from error
    if left or refused:
        raise TopicError(f"tombstones can't be written: {refused[0] if refused else 'Kafka does not answer'}")


def _delete(client: Client, database: str, traces: Traces, dry_run: bool) -> dict[str, int]:
    """Deletes rows for good, table by table; how many there were."""
    parameters, found = traces.parameters(), {}
    for table, condition in CONDITIONS.items():
        count = client.query(f"SELECT count() FROM {database}.{table} WHERE {condition}", parameters=parameters)
        number = int(count.result_rows[0][0])
        if number:
            found[table] = number
        if number and not dry_run:
            delete = f"ALTER TABLE {database}.{table} DELETE WHERE {condition} SETTINGS mutations_sync = 2"
            client.command(delete, parameters=parameters)
    return found
