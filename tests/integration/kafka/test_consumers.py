"""The consumers of ``examples/consumers`` read incidents by their JSON Schema alone, whatever else is in the topic."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from streams.topic_admin import TopicAdmin, plan_topics
from tests.kafka_bench import EMBEDDED

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(EMBEDDED, reason="the consumers of other languages are tried on Apache Kafka"),
]

ROOT = Path(__file__).parents[3]
CONSUMERS = ROOT / "examples" / "consumers"
SCHEMA = ROOT / "schemas" / "json" / "incidents.v1.json"
TYPICAL = json.loads((ROOT / "schemas" / "examples" / "incidents" / "typical.valid.json").read_text())
IDLE_S = 5
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def numbered(seq: int, **fields: Any) -> dict[str, Any]:
    """The typical incident as another message."""
    value: dict[str, Any] = json.loads(json.dumps(TYPICAL["value"]))
    value["producer"]["seq"] = seq
    return value | fields


@pytest.fixture(scope="module")
def topic(broker: str) -> str:
    """A topic with incidents, one of them twice, and what a reader must survive."""
    prefix = f"read-{secrets.token_hex(4)}-"
    TopicAdmin(broker, prefix, {}).ensure(plan_topics(1 << 20), 1, 1)
    nobody = numbered(2, component=None, component_class=None, issue=None, confidence=0.0, state="open")
    unknown = numbered(3, state="resolved", hue="a field of tomorrow")
    texts = [json.dumps(value) for value in (numbered(1), numbered(1), nobody, unknown, {"v": 99, "what": "?"})]
    producer = Producer({"bootstrap.servers": broker})
    for text in [*texts, "{not json", json.dumps({"v": 1})]:
        producer.produce(f"{prefix}incidents", text, key="k")
    assert producer.flush(30) == 0
    return f"{prefix}incidents"


def check(done: subprocess.CompletedProcess[str]) -> None:
    first, nobody, unknown = [line for line in COLOUR.sub("", done.stdout).splitlines() if line]
    value = TYPICAL["value"]
    assert first.split()[:4] == [value["state"], value["kind"], value["issue"], value["component"]]
    assert nobody.split()[:5] == ["open", value["kind"], "-", "-", "0.00"]
    assert unknown.split()[0] == "resolved"
    assert "version 99 is left alone" in done.stderr
    assert "offset 5: not JSON" in done.stderr
    assert "offset 6: not an incident" in done.stderr
    assert done.returncode == 1


def test_the_python_consumer(broker: str, topic: str) -> None:
    program = CONSUMERS / "python" / "incidents.py"
    words = [sys.executable, str(program), broker, "--topic", topic, "--idle", str(IDLE_S)]
    check(subprocess.run(words, capture_output=True, text=True, timeout=120, check=False))


def test_the_java_consumer(broker: str, topic: str) -> None:
    if not shutil.which("mvn") or not shutil.which("javac"):
        pytest.skip("Maven and a Java compiler are not there: the Java consumer was not run")
    words = [
        "mvn",
        "-q",
        "-B",
        "-Dstyle.color=never",
        "compile",
        "exec:java",
        f"-Dexec.args={broker} {SCHEMA} {IDLE_S} {topic}",
    ]
    folder = CONSUMERS / "java"
    check(subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False))
