"""Every example goes through the codec and through JSON Schema, and both say what the example says."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schemas
from schemas.codec import BadRecord, decode, encode
from schemas.topics import DEAD_LETTERS, topics
from skeletonhunter.reference.examples import REFUSES, Example, examples
from tests.strategies import spoiled, values_of

FOLDER = Path(schemas.__file__).parent
EXAMPLES = [(topic, name) for topic, named in examples().items() for name in named]
KINDS = (*topics(), "dead-letters")


@cache
def validator(file_name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((FOLDER / "json" / file_name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def topic_of(kind: str) -> str:
    """The Kafka topic that an example belongs on."""
    return f"rnic-counters{DEAD_LETTERS}" if kind == "dead-letters" else kind


def newest(kind: str) -> int:
    return topics()[kind].newest if kind in topics() else 1


def is_valid_by_schema(kind: str, value: object) -> bool:
    version = value.get("v") if isinstance(value, dict) else None
    known = type(version) is int and (FOLDER / "json" / f"{kind}.v{version}.json").exists()
    return bool(validator(f"{kind}.v{version if known else newest(kind)}.json").is_valid(value))


def read(kind: str, example: Example) -> object:
    return decode(topic_of(kind), example.key, bytes(example.value), example.arrival_us)


@pytest.mark.parametrize(("kind", "name"), EXAMPLES)
def test_codec_says_what_the_example_says(kind: str, name: str) -> None:
    example = examples()[kind][name]
    if example.is_valid:
        assert read(kind, example)
        return
    with pytest.raises(BadRecord) as caught:
        read(kind, example)
    assert caught.value.reason == example.reason
    assert example.detail
    assert example.detail in caught.value.detail


@pytest.mark.parametrize(("kind", "name"), EXAMPLES)
def test_json_schema_says_what_the_example_says(kind: str, name: str) -> None:
    example = examples()[kind][name]
    refused = not is_valid_by_schema(kind, json.loads(bytes(example.value)))
    assert refused == (not example.is_valid and example.json_schema == REFUSES)


@pytest.mark.parametrize("kind", KINDS)
def test_the_collector_of_cycles_does_not_look_at_values(kind: str) -> None:
    valid = next(each for each in examples()[kind].values() if each.is_valid)
    assert not gc.is_tracked(read(kind, valid))


@pytest.mark.parametrize("kind", KINDS)
def test_every_topic_has_valid_and_invalid_examples_and_every_version_a_valid_one(kind: str) -> None:
    named = examples()[kind].values()
    versions = {json.loads(bytes(example.value))["v"] for example in named if example.is_valid}
    assert versions == set(range(1, newest(kind) + 1))
    assert sum(not example.is_valid for example in named) >= 2


def test_no_example_is_an_orphan_or_misnamed() -> None:
    assert set(examples()) == set(KINDS)
    for kind, name in EXAMPLES:
        assert name.endswith(".valid" if examples()[kind][name].is_valid else ".invalid")
        assert examples()[kind][name].shows.endswith(".")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(data=st.data())
def test_json_schema_takes_whatever_the_codec_writes(kind: str, data: st.DataObject) -> None:
    value = data.draw(values_of(topic_of(kind)))
    validator(f"{kind}.v{newest(kind)}.json").validate(json.loads(encode(topic_of(kind), value)))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=50)
@given(data=st.data())
def test_json_schema_refuses_nothing_that_the_codec_takes(kind: str, data: st.DataObject) -> None:
    example = examples()[kind]["typical.valid"]
    wire = data.draw(spoiled(json.loads(bytes(example.value))))
    try:
        decode(topic_of(kind), example.key, json.dumps(wire).encode(), 2**53)
    except BadRecord:
        return
    assert is_valid_by_schema(kind, wire)


def test_the_committed_schemas_are_the_generated_ones_and_no_others() -> None:
    committed = {f"schemas/json/{path.name}": path.read_text() for path in (FOLDER / "json").iterdir()}
    program = "import json; from skeletonhunter.reference import json_schemas as made; "
    program += "print(json.dumps(made.json_schema_files()))"
    # In an interpreter of its own, as `make docs-reference` does: what other tests did to shared types must not show.
    made = subprocess.run([sys.executable, "-c", program], cwd=FOLDER.parent, capture_output=True, check=True)
    assert committed == json.loads(made.stdout), "run `make docs-reference` and commit what it writes"


def test_schemas_name_themselves_and_describe_every_field() -> None:
    for path in (FOLDER / "json").iterdir():
        schema = validator(path.name).schema
        kind, version = path.name.removesuffix(".json").rsplit(".v", 1)
        assert schema["$id"] == f"urn:skeletonhunter:{kind}:v{version}"
        assert (schema["title"], schema["properties"]["v"]["const"]) == (kind, int(version))
        for definition in (schema, *schema["$defs"].values()):
            assert definition["description"]
            assert all(part["description"] for part in definition["properties"].values())
