"""The relay copies what may pass, refuses the rest with its reason, and a crash of it loses nothing."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator

import msgspec
import pytest

from schemas.control import DeadLetter
from schemas.envelope import Message
from skeletonhunter.embedded.broker import embedded_broker
from skeletonhunter.settings import Settings
from skeletonhunter.tenants.relay import Relay, tenant_plans, tenant_settings
from streams.topic_admin import TopicAdmin, plan_topics
from tests.integration.tenants.people import JOBS, Client, said
from tests.kafka_bench import kafka_settings

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with embedded_broker() as address:
        yield address


@pytest.fixture
def settings(broker: str) -> Settings:
    """A pipeline's topics and those of two tenants."""
    kafka = kafka_settings(broker, 2, f"t{secrets.token_hex(3)}.")
    TopicAdmin(kafka.url, kafka.prefix, {}).ensure(plan_topics(1 << 20), 2, 1)
    for tenant in JOBS:
        own = tenant_settings(kafka, tenant)
        TopicAdmin(own.url, own.prefix, {}).ensure(tenant_plans(1 << 20), 2, 1)
    operator = Client(kafka)
    for tenant, job in JOBS.items():
        assert operator.tell("endpoint-map", said("endpoint-map", tenant, job)) == ""
        assert operator.tell("probe-plans", said("probe-plans", tenant, job)) == ""
    return Settings(kafka=kafka)


def relayed(settings: Settings, tenant: str, until: Callable[[Relay], bool], rounds: int = 60) -> Relay:
    """A relay that has worked until something is true."""
    relay = Relay(settings, tenant, threading.Event())
    try:
        relay.maps.begin(relay.stop)
        for _ in range(rounds):
            relay.turn()
            if until(relay):
                return relay
        raise AssertionError(f"not reached: {relay.counts}")
    finally:
        for part in (relay.maps, relay.down, relay.up):
            part.close()


def test_a_tenant_gets_its_own_maps_and_plans_and_no_others(settings: Settings) -> None:
    relayed(settings, "acme", lambda relay: relay.counts.down >= 2)
    acme = Client(tenant_settings(settings.kafka, "acme"))
    for topic in ("endpoint-map", "probe-plans"):
        records, _ = acme.read(topic, most=5, patience_s=2.0)
        assert [key for key, _ in records] == [JOBS["acme"]]


def test_what_agents_say_of_their_own_jobs_goes_up_and_nothing_else(settings: Settings) -> None:
    acme = Client(tenant_settings(settings.kafka, "acme"))
    own = said("endpoint-map", "acme").endpoints[0].endpoint  # type: ignore[attr-defined]
    good: list[tuple[str, Message]] = [
        ("probe-results", said("probe-results", "acme")),
        ("rnic-counters", said("rnic-counters", "acme")),
        ("agent-health", health((own,))),
    ]
    bad: list[tuple[str, Message, str]] = [
        ("probe-results", said("probe-results", "acme", JOBS["bolt"]), "job is 'bolt-7b', which is not of tenant acme"),
        ("rnic-counters", said("rnic-counters", "acme", tenant="bolt"), "tenant is 'bolt'"),
        ("rnic-bursts", said("rnic-bursts", "acme", agent="bolt.a1"), "begins with 'agent:acme.'"),
        ("probe-results", said("probe-results", "acme", fabric="f2"), "fabric is 'f2'"),
        ("agent-health", health(("foreign/mlx5_0",)), "covers has 'foreign/mlx5_0'"),
    ]
    for topic, value in [*good, *((topic, value) for topic, value, _ in bad)]:
        assert acme.tell(topic, value) == ""
    relay = relayed(settings, "acme", lambda relay: relay.counts.up + relay.counts.refused >= len(good) + len(bad))
    assert (relay.counts.up, relay.counts.refused) == (len(good), len(bad))
    operator = Client(settings.kafka)
    for topic, _ in good:
        assert len(operator.read(topic, most=1)[0]) == 1
    details = [
        letter.detail
        for topic in ("probe-results", "rnic-counters", "rnic-bursts", "agent-health")
        for _, raw in operator.read(f"{topic}-dlq", most=9, patience_s=1.5)[0]
        if (letter := msgspec.json.decode(raw or b"", type=DeadLetter)).reason == "foreign_producer"
    ]
    assert len(details) == len(bad)
    for _, _, words in bad:
        assert any(words in detail for detail in details), words


def health(covers: tuple[str, ...]) -> Message:
    return msgspec.structs.replace(said("agent-health", "acme", covers=covers), agent="acme.a1")


def test_a_relay_that_was_killed_before_it_committed_copies_again(settings: Settings) -> None:
    acme = Client(tenant_settings(settings.kafka, "acme"))
    assert acme.tell("probe-results", said("probe-results", "acme")) == ""
    killed = Relay(settings, "acme", threading.Event())
    killed.up.commit = lambda _positions: None  # type: ignore[method-assign]
    killed.maps.begin(killed.stop)
    while not killed.counts.up:
        killed.turn()
    for part in (killed.maps, killed.down, killed.up):
        part.close()
    relayed(settings, "acme", lambda relay: relay.counts.up >= 1)
    records, _ = Client(settings.kafka).read("probe-results", most=3, patience_s=2.0)
    assert len(records) == 2 and records[0] == records[1]


def test_a_job_whose_map_comes_late_to_the_relay_is_not_forgotten(settings: Settings) -> None:
    relay = Relay(settings, "acme", threading.Event())
    relay.maps.begin(relay.stop)
    while relay.counts.down < 2:
        relay.turn()
    reads, read = iter(range(100)), relay.maps.catch_up
    relay.maps.catch_up = lambda timeout_s=0.0: read(timeout_s) if next(reads) >= 3 else None  # type: ignore[method-assign]
    operator = Client(settings.kafka)
    for topic in ("endpoint-map", "probe-plans"):
        assert operator.tell(topic, said(topic, "acme", "acme-new")) == ""
    for _ in range(60):
        relay.turn()
        if relay.counts.down >= 4:
            break
    for part in (relay.maps, relay.down, relay.up):
        part.close()
    assert relay.counts.down == 4
