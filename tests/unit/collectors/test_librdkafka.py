"""The C extension of confluent-kafka alone: light, and the same for whoever imports the package before or after."""

from __future__ import annotations

import subprocess
import sys


def run(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


def test_it_is_loaded_alone() -> None:
    program = (
        "import sys; from collectors.librdkafka import load; kafka = load();"
        "print(kafka.__name__, 'confluent_kafka' in sys.modules, 'asyncio' in sys.modules, 'ssl' in sys.modules)"
    )
    assert run(program) == ["confluent_kafka.cimpl", "False", "False", "False"]


def test_the_whole_package_can_still_be_imported_and_is_the_same() -> None:
    program = (
        "from collectors.librdkafka import load; kafka = load(); import confluent_kafka;"
        "print(confluent_kafka.Producer is kafka.Producer, confluent_kafka.KafkaError is kafka.KafkaError)"
    )
    assert run(program) == ["True", "True"]


def test_a_package_that_is_there_already_is_taken() -> None:
    program = "import confluent_kafka; from collectors.librdkafka import load; print(load() is confluent_kafka)"
    assert run(program) == ["True"]
