"""What a broker that is away or just ends answers to the question for the ends of logs is one clear error."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streams.topic_admin import TopicAdmin, TopicError

SPOTS = [("agent-health", 0), ("agent-health", 1)]


class Client:
    """An admin client whose answers are given; ``made``: how many were made."""

    made = 0
    answers: tuple[Any, ...] = ()

    def __init__(self, *_about: object, **_more: object) -> None:
        Client.made += 1

    def list_offsets(self, spots: Mapping[Any, object], request_timeout: float) -> dict[Any, Future[Any]]:
        assert request_timeout > 0
        found = {}
        for spot, answer in zip(spots, self.answers, strict=True):
            future = found[spot] = Future[Any]()
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(SimpleNamespace(offset=answer, timestamp=answer))
        return found


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> TopicAdmin:
    monkeypatch.setattr("streams.topic_admin.AdminClient", Client)
    monkeypatch.setattr(Client, "made", 0)
    return TopicAdmin("localhost:9092", "", {})


def test_ends_are_told(admin: TopicAdmin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "answers", (7, 0))
    assert admin.ends(SPOTS) == {("agent-health", 0): 7, ("agent-health", 1): 0}


@pytest.mark.parametrize("error", [TimeoutError(), KafkaException(KafkaError(KafkaError._TRANSPORT))])
def test_no_answer_is_an_error_that_names_what_was_asked_and_a_new_client_asks_next(
    admin: TopicAdmin, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(Client, "answers", (7, error))
    with pytest.raises(TopicError, match="the offsets of the topics can't be read"):
        admin.ends(SPOTS)
    assert Client.made == 2


def test_an_end_that_is_not_known_is_not_passed_on(admin: TopicAdmin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "answers", (7, -1))
    with pytest.raises(TopicError, match="the end of agent-health, partition 1, is not known"):
        admin.ends(SPOTS)


@pytest.mark.parametrize(("answers", "newest_us"), [((-1, 1500), 1_500_000), ((-1, -1), None)])
def test_the_newest_record_of_a_topic(
    admin: TopicAdmin, monkeypatch: pytest.MonkeyPatch, answers: tuple[int, int], newest_us: int | None
) -> None:
    monkeypatch.setattr(Client, "answers", answers)
    assert admin.newest_us("agent-health", 2) == newest_us
