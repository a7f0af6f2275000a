"""One command forgets a tenant: real broker, real engine, two tenants, everything that each has left."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from schemas.codec import decode, key_of
from schemas.diagnosis import Incident
from schemas.envelope import Message
from schemas.topics import topics
from skeletonhunter import migrations
from skeletonhunter.cli import build_cli
from skeletonhunter.embedded.broker import embedded_broker
from skeletonhunter.migrations.catalogue import tables
from skeletonhunter.reference.examples import examples
from skeletonhunter.settings import ClickHouseSettings, KafkaSettings
from skeletonhunter.sinks.clickhouse import ClickHouseWriter
from skeletonhunter.sinks.connection import connect
from skeletonhunter.sinks.received import Received
from skeletonhunter.sinks.rows import STORED_TOPICS
from skeletonhunter.tenants.relay import tenant_plans, tenant_settings
from skeletonhunter.tenants.traces import CONDITIONS, KEPT, Traces, remains
from streams.topic_admin import TopicAdmin, plan_topics
from tests.integration.tenants.people import JOBS, Client, said
from tests.kafka_bench import kafka_settings

COMPACTED = sorted(spec.topic for spec in topics().values() if spec.cleanup == "compact" and spec.key == "job")


def test_every_table_has_a_rule() -> None:
    names = {table.name for table in tables()}
    assert set(CONDITIONS) | set(KEPT) == names
    assert not set(CONDITIONS) & set(KEPT)
    with_tenant = {table.name for table in tables() if {"tenant", "job"} & {column.name for column in table.columns}}
    assert with_tenant <= set(CONDITIONS)


def test_every_topic_is_purged_or_named_as_left() -> None:
    traces = Traces("acme", jobs=frozenset({"j"}), incidents=frozenset({"i"}), pages=frozenset({"p"}))
    words = " ".join(remains(traces))
    for spec in topics().values():
        nobodys = spec.topic in ("ticks", "fabric-map")
        assert nobodys or spec.topic in traces.tombstones() or spec.topic in words, spec.topic


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with embedded_broker() as address:
        yield address


def of(topic: str, tenant: str) -> Message:
    """An example of a topic as if it were of a tenant, with names of its own."""
    found = examples()[topic]["typical.valid"]
    text = bytes(found.value).decode()
    value = decode(topic, found.key, text.encode(), 2**53)
    assert isinstance(value, Message)
    if isinstance(value, Incident):
        return msgspec.structs.replace(value, incident=f"incident-of-{tenant}", jobs=(JOBS[tenant],))
    return said(topic, tenant)


@pytest.mark.kafka
@pytest.mark.clickhouse
def test_nothing_of_a_tenant_is_left_and_all_of_the_others_is(broker: str, tmp_path: Path) -> None:
    kafka = kafka_settings(broker, 1, f"p{secrets.token_hex(3)}.")
    _topics(kafka)
    operator = Client(kafka)
    store = ClickHouseSettings(dsn=f"chdb://{tmp_path}/db")
    stored = [topic for topic in STORED_TOPICS if topics()[topic].key == "job" or topic in ("incidents", "anomalies")]
    client = connect(store)
    migrations.apply(client, "skeletonhunter")
    writer = ClickHouseWriter(client, "skeletonhunter")
    for tenant in JOBS:
        for topic in (*COMPACTED, "incidents"):
            value = of(topic, tenant)
            assert operator.tell(topic, value) == ""
            assert key_of(topic, value) in (JOBS[tenant], f"incident-of-{tenant}")
        for topic in stored:
            writer.write(topic, [Received(of(topic, tenant), 2**50, 0, 0)])
    before = _rows(client)
    client.close()
    done = run(kafka, store, "acme")
    assert done["jobs"] == 1
    assert done["tombstones"] == dict.fromkeys((*COMPACTED, "incidents"), 1)
    assert done["topics"] == sorted(f"tenant.acme.{plan.name}" for plan in tenant_plans(1 << 20))
    assert any("72 h" in words and "rnic-counters" in words for words in done["remains"])
    client = connect(store)
    after = _rows(client)
    client.close()
    assert not any(_names(row, "acme") for rows in after.values() for row in rows)
    for table, rows in before.items():
        kept = list(map(str, after[table]))  # roll-ups may have been refreshed meanwhile, and have more
        assert all(str(row) in kept for row in rows if _names(row, "bolt"))
    assert any(_names(row, "bolt") for row in before["probe_results"]) and before["incidents"]
    for topic in (*COMPACTED, "incidents"):
        last = dict(operator.read(topic, most=99, patience_s=1.0)[0])
        assert [key for key, value in last.items() if value is None] in ([JOBS["acme"]], ["incident-of-acme"])
    left = TopicAdmin(kafka.url, kafka.prefix, {}).existing()
    assert not any(name.startswith("tenant.acme.") for name in left)
    assert any(name.startswith("tenant.bolt.") for name in left)
    again = run(kafka, store, "acme")
    assert (again["rows"], again["topics"]) == ({}, [])


def _topics(kafka: KafkaSettings) -> None:
    TopicAdmin(kafka.url, kafka.prefix, {}).ensure(plan_topics(1 << 20), 1, 1)
    for tenant in JOBS:
        own = tenant_settings(kafka, tenant)
        TopicAdmin(own.url, own.prefix, {}).ensure(tenant_plans(1 << 20), 1, 1)


def run(kafka: KafkaSettings, store: ClickHouseSettings, tenant: str) -> dict[str, object]:
    """The command, by its settings."""
    variables = {
        "SKELETONHUNTER_KAFKA__PREFIX": kafka.prefix,
        "SKELETONHUNTER_KAFKA__FETCH_WAIT_MS": str(kafka.fetch_wait_ms),
    }
    words = ["purge", "--tenant", tenant, "--kafka", kafka.url, "--clickhouse", store.dsn, "--json"]
    result = CliRunner().invoke(build_cli("purge"), words, env=variables)
    assert result.exit_code == 0, (result.output, result.exception)
    found: dict[str, object] = json.loads(result.stdout)
    return found


def _rows(client: object) -> dict[str, list[tuple[object, ...]]]:
    return {
        table.name: sorted(client.query(f"SELECT * FROM skeletonhunter.{table.name}").result_rows, key=str)  # type: ignore[attr-defined]
        for table in tables()
    }


def _names(row: tuple[object, ...], tenant: str) -> bool:
    return any(tenant in str(cell) for cell in row)
