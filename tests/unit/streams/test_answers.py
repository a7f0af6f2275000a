"""What Kafka refuses for a moment is asked again until it answers or time is over; what lasts is told at once."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException

from streams.answers import ask, log_bounds, passes


def refusals(*codes: int) -> list[Exception | str]:
    return [*(KafkaException(KafkaError(code)) for code in codes), "told"]


@pytest.mark.parametrize("code", [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.UNKNOWN_TOPIC_OR_PART])
def test_a_refusal_that_passes_is_asked_again(code: int) -> None:
    answers, given = refusals(code, code), []

    def question(left_s: float) -> str:
        given.append(left_s)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    assert ask(question, 5.0) == "told"
    assert given == sorted(given, reverse=True)
    assert 5.0 >= given[0] > given[-1] > 4.0


@pytest.mark.parametrize("code", [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._AUTHENTICATION])
def test_a_refusal_that_lasts_is_told_at_once(code: int) -> None:
    answers = refusals(code)

    def question(_left_s: float) -> str:
        raise answers.pop(0)  # type: ignore[misc]

    with pytest.raises(KafkaException) as refused:
        ask(question, 60.0)
    assert refused.value.args[0].code() == code
    assert answers == ["told"]


def test_who_never_answers_is_not_waited_for_longer_than_said() -> None:
    consumer = Consumer({"bootstrap.servers": "localhost:1", "group.id": "x", "log_level": 0})
    begun_s = time.monotonic()
    try:
        with pytest.raises(KafkaException) as refused:
            log_bounds(consumer, "incidents", [0], 1.0)
    finally:
        consumer.close()
    assert passes(refused.value.args[0])
    assert 0.8 < time.monotonic() - begun_s < 5.0
