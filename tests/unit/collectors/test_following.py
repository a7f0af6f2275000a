"""What an agent may not read on Kafka is said once: without its maps and plans it does nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from collectors.following import PLANS, Follower, Interests


class SmallConsumer:
    """A consumer that hears of these errors at each call."""

    def __init__(self, *errors: tuple[str, int]) -> None:
        self.errors = errors

    def __call__(self, *_: Any, **__: Any) -> SmallConsumer:
        return self

    def incremental_assign(self, _: Any) -> None:
        pass

    def consume(self, **_: Any) -> list[Any]:
        return [
            SimpleNamespace(
                topic=lambda name=name: name,
                error=lambda code=code: KafkaError(code),
                value=lambda: None,
                key=lambda: None,
            )
            for name, code in self.errors
        ]


def test_a_missing_permission_is_said_once_for_each_topic(caplog: pytest.LogCaptureFixture) -> None:
    follower = Follower(Interests(residents=None, fabric="f"), "p.", {})  # type: ignore[arg-type]
    denied, missing = KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.UNKNOWN_TOPIC_OR_PART
    consumer = SmallConsumer(*[(f"p.{PLANS}", denied)] * 3, ("p.endpoint-map", missing))
    follower._kafka = SimpleNamespace(Consumer=consumer, TopicPartition=tuple, KafkaError=KafkaError)
    follower._spots = lambda _: []  # type: ignore[assignment, method-assign]
    for _ in range(2):
        assert list(follower.read()) == []
    assert caplog.messages == [
        f"{PLANS} can't be read, the agent goes on without it: Broker: Topic authorization failed"
    ]
