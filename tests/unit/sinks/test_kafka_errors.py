"""What Kafka says to a sink: some errors pass by themselves, the others end it with one sentence, never a traceback."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from typer.testing import CliRunner

from skeletonhunter.cli import InputError, build_cli
from skeletonhunter.sinks.kafka_source import KafkaSource

DENIED = KafkaError.TOPIC_AUTHORIZATION_FAILED


class SmallConsumer:
    """A consumer that hears of an error once."""

    def __init__(self, code: int) -> None:
        self.code: int | None = code

    def __call__(self, *_: Any, **__: Any) -> SmallConsumer:
        return self

    def subscribe(self, *_: Any, **__: Any) -> None:
        pass

    def consume(self, **_: Any) -> list[Any]:
        code, self.code = self.code, None
        return [] if code is None else [SmallMessage(code)]

    def close(self) -> None:
        pass


class SmallMessage:
    def __init__(self, code: int) -> None:
        self.code = code

    def error(self) -> KafkaError:
        return KafkaError(self.code)


def source(code: int, monkeypatch: pytest.MonkeyPatch) -> KafkaSource:
    from skeletonhunter.settings import KafkaSettings

    monkeypatch.setattr("skeletonhunter.sinks.kafka_source.Consumer", SmallConsumer(code))
    return KafkaSource(KafkaSettings(url="nowhere:1"), "sink", ["incidents"])


@pytest.mark.parametrize("code", [KafkaError._MAX_POLL_EXCEEDED, KafkaError._ALL_BROKERS_DOWN])
def test_a_member_that_was_away_for_long_joins_again(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = source(code, monkeypatch)
    assert [reading.read(10, 0.0).records for _ in range(2)] == [[], []]


def test_what_does_not_pass_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KafkaException):
        source(DENIED, monkeypatch).read(10, 0.0)


@pytest.mark.parametrize("command", ["sink", "alert"])
def test_what_does_not_pass_is_one_sentence(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise KafkaException(KafkaError(DENIED))

    monkeypatch.setattr(f"skeletonhunter.cli.{command}._run", refuse)
    words = [command, "--kafka", "nowhere:1", *(["--webhook", "https://1.1.1.1/x"] if command == "alert" else [])]
    done = CliRunner().invoke(build_cli(command), words)
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == "Kafka at nowhere:1 says: Broker: Topic authorization failed"
