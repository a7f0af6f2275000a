"""Prints the incidents of a topic, knowing nothing but their JSON Schema. See ../README.md."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Message
from jsonschema import Draft202012Validator

SCHEMA = Path(__file__).parents[3] / "schemas" / "json" / "incidents.v1.json"


def main() -> int:
    """Reads until nothing comes for ``--idle`` seconds, or for ever; returns 1 if a message could not be read."""
    options = parse_options()
    schema = json.loads(options.schema.read_text())
    validator, version = Draft202012Validator(schema), schema["properties"]["v"]["const"]
    consumer = Consumer(
        {
            "bootstrap.servers": options.brokers,
            "group.id": options.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([options.topic])
    seen: set[tuple[str, str, int]] = set()
    refused = 0
    try:
        while True:
            message = consumer.poll(options.idle or 1.0)
            if message is None:
                if options.idle and consumer.assignment():
                    break
                continue
            if message.error():
                print(f"Kafka: {message.error()}", file=sys.stderr)
                continue
            refused += not handle(message, (validator, version), seen)
            consumer.commit(message, asynchronous=False)
    except KeyboardInterrupt:
        pass
    finally:
        consumer.close()
    return 1 if refused else 0


def parse_options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Print incidents from Kafka.")
    parser.add_argument("brokers", help="HOST:PORT of one or more brokers, with commas")
    parser.add_argument("--topic", default="incidents")
    parser.add_argument("--group", default="incident-printer-python")
    parser.add_argument("--schema", type=Path, default=SCHEMA)
    parser.add_argument("--idle", type=float, help="end when nothing came for this many seconds")
    return parser.parse_args()


def handle(message: Message, reads: tuple[Draft202012Validator, int], seen: set[tuple[str, str, int]]) -> bool:
    """Prints one message unless it was seen before; returns whether it could be read."""
    validator, version = reads
    where = f"partition {message.partition()} offset {message.offset()}"
    try:
        value = json.loads(message.value() or b"")
    except ValueError as error:
        print(f"{where}: not JSON: {error}", file=sys.stderr)
        return False
    if isinstance(value, dict) and value.get("v") != version:
        print(f"{where}: version {value.get('v')} is left alone, this program reads {version}", file=sys.stderr)
        return True
    problem = next(validator.iter_errors(value), None)
    if problem is not None:
        print(f"{where}: not an incident: {problem.json_path}: {problem.message}", file=sys.stderr)
        return False
    producer = value["producer"]
    name = producer["id"], producer["boot"], producer["seq"]
    if name not in seen:
        seen.add(name)
        print(line(value), flush=True)
    return True


def line(incident: dict[str, Any]) -> str:
    """State, kind, issue, component, confidence, action and its target."""
    action = incident["action"]
    words = [incident["state"], incident["kind"], incident["issue"], incident["component"]]
    words += [f"{incident['confidence']:.2f}", action["kind"], action["target"]]
    return " ".join("-" if word is None else word for word in words)


if __name__ == "__main__":
    sys.exit(main())
