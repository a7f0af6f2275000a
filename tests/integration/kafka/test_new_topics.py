"""A topic that was just made may have no leader yet, or one that does not know it: its log is told all the same."""

from __future__ import annotations

import secrets

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from streams.answers import log_bounds

pytestmark = pytest.mark.kafka


def test_the_logs_of_topics_that_were_just_made_are_told(broker: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker})
    for _round in range(10):
        names = [f"new-{secrets.token_hex(4)}" for _ in range(6)]
        for made in admin.create_topics([NewTopic(name, 4, 1) for name in names]).values():
            made.result(20)
        consumer = Consumer({"bootstrap.servers": broker, "group.id": "new", "log_level": 0})
        try:
            for name in names:
                assert log_bounds(consumer, name, range(4), 10.0) == dict.fromkeys(range(4), (0, 0))
        finally:
            consumer.close()
            admin.delete_topics(names)
