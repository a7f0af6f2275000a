"""What a person says by a command is in Kafka when the command ends, in a form that every reader accepts."""

from __future__ import annotations

import secrets

import pytest
from confluent_kafka import Consumer
from typer.testing import CliRunner

from schemas.codec import decode
from schemas.diagnosis import OperatorFeedback
from schemas.skeletons import SkeletonOverride
from skeletonhunter.cli import build_cli
from streams.topic_admin import TopicAdmin, plan_topics

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def prefix(broker: str) -> str:
    """The prefix of topics of this module."""
    found = f"say-{secrets.token_hex(4)}-"
    TopicAdmin(broker, found, {}).ensure(plan_topics(1 << 20), 1, 1)
    return found


def say(*words: str) -> None:
    result = CliRunner().invoke(build_cli(words[0]), list(words))
    assert result.exit_code == 0, result.output


def heard(broker: str, topic: str, count: int) -> list[tuple[bytes, bytes, int]]:
    """(key, value, timestamp in us) of the first messages of a topic."""
    consumer = Consumer(
        {"bootstrap.servers": broker, "group.id": secrets.token_hex(4), "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    messages = consumer.consume(count, timeout=60)
    consumer.close()
    assert [message.error() for message in messages] == [None] * count
    return [(message.key(), message.value(), message.timestamp()[1] * 1000) for message in messages]


def test_feedback_arrives_and_can_be_read(broker: str, prefix: str) -> None:
    here = ("--fabric", "f1", "--kafka", broker, "--prefix", prefix, "--user", "ann")
    say("feedback", "incident-7", "--verdict", "component", "--was", "link:l3", "--fixed", "--text", "new fibre", *here)
    say("feedback", "--missed", "--was", "switch:s1", *here)
    (key, value, at_us), (missed_key, missed_value, missed_at_us) = heard(broker, f"{prefix}operator-feedback", 2)
    said = decode("operator-feedback", key, value, at_us)
    assert isinstance(said, OperatorFeedback)
    assert (said.incident, said.verdict, said.was, said.fixed, said.text) == (
        "incident-7",
        "component",
        "link:l3",
        True,
        "new fibre",
    )
    assert said.producer.id == "user:ann/operator-feedback"
    missed = decode("operator-feedback", missed_key, missed_value, missed_at_us)
    assert isinstance(missed, OperatorFeedback)
    assert (missed.incident[:7], missed.was) == ("missed-", "switch:s1")


def test_a_wish_for_a_skeleton_arrives_and_can_be_read(broker: str, prefix: str) -> None:
    say("skeleton", "j1", "--fabric", "f1", "--add", "c1/r0,c2/r0", "--kafka", broker, "--prefix", prefix)
    ((key, value, at_us),) = heard(broker, f"{prefix}skeleton-overrides", 1)
    wish = decode("skeleton-overrides", key, value, at_us)
    assert isinstance(wish, SkeletonOverride)
    assert (wish.job, wish.disabled, wish.edges) == ("j1", False, (("c1/r0", "c2/r0"),))
