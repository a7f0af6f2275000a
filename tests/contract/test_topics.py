"""The topics' YAMLs: strict, complete, without orphans and holes, and true to what the stages do."""

from __future__ import annotations

from pathlib import Path

import pytest

import schemas
from schemas.history import OLD_TYPES
from schemas.json_schema import meanings, struct_types
from schemas.topics import VALUE_TYPES, TopicError, dead_letters, parse_topic, topic, topics
from streams.stages import STAGES, dead_letter_stage

FOLDER = Path(schemas.__file__).parent
GOOD = (FOLDER / "topics" / "agent-health.yaml").read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("cleanup:", "clean_up:"), "agent-health.yaml: Object contains unknown field `clean_up`"),
        (("cleanup: delete", "cleanup: purge"), "agent-health.yaml: Invalid enum value 'purge' - at `$.cleanup`"),
        (("key: fabric\n", ""), "agent-health.yaml: Object missing required field `key`"),
        (
            ("topic: agent-health", "topic: agents"),
            "agent-health.yaml: topic is 'agents', expected the name of the file",
        ),
        (("  1: first version\n", ""), "agent-health.yaml: versions are [2], expected 1, 2, ... without a hole"),
        (("value: AgentHealth", "value: Agent"), "agent-health.yaml: value is 'Agent', expected one of AgentHealth, "),
        (("key: fabric", "key: job"), "agent-health.yaml: key is 'job', expected a field of AgentHealth"),
        (("versions:", "versions: ]"), "agent-health.yaml: while parsing"),
        ((GOOD, "- a list"), "agent-health.yaml: Expected `object`, got `array`"),
    ],
)
def test_a_wrong_yaml_is_refused(change: tuple[str, str], message: str) -> None:
    assert change[0] in GOOD
    with pytest.raises(TopicError) as caught:
        parse_topic("agent-health.yaml", GOOD.replace(*change))
    assert str(caught.value).startswith(message)


def test_every_yaml_is_a_topic_and_every_value_has_one() -> None:
    files = {path.stem for path in (FOLDER / "topics").iterdir()}
    assert files == set(topics())
    values = [spec.value for spec in (*topics().values(), dead_letters())]
    assert sorted(values) == sorted(VALUE_TYPES)


def test_old_versions_have_a_type_and_no_others() -> None:
    old = {(name, version) for name, spec in topics().items() for version in spec.versions if version < spec.newest}
    assert set(OLD_TYPES) == old


def test_at_least_one_topic_has_two_versions() -> None:
    assert topics()["agent-health"].newest == 2


def test_every_field_is_described_and_nothing_else() -> None:
    types: dict[str, type] = {}
    for value in VALUE_TYPES.values():
        types |= struct_types(value)
    declared = {}
    for value_type in types.values():
        for ancestor in value_type.__mro__:
            own = vars(ancestor).get("__annotations__", {})
            if own and ancestor.__module__.startswith("schemas."):
                declared[ancestor.__name__] = {name.rstrip("_") for name in own}
    assert {name: set(fields) for name, fields in meanings().items()} == declared


def test_stages_read_and_write_what_the_topics_say() -> None:
    for spec in topics().values():
        readers = {name for name, stage in STAGES.items() if spec.topic in stage.inputs}
        writers = {name for name, stage in STAGES.items() if spec.topic in stage.outputs}
        if spec.topic != "ticks":
            assert set(spec.consumers) & set(STAGES) == readers, spec.topic
            assert set(spec.producers) & set(STAGES) == writers, spec.topic
    assert set(topics()["ticks"].producers) == {"clock", *STAGES}


def test_the_inputs_of_a_stage_share_its_key() -> None:
    for stage in STAGES.values():
        assert {topics()[name].key for name in stage.inputs} == {stage.key}, stage.name


def test_stages_follow_those_whose_outputs_they_read() -> None:
    names = list(STAGES)
    for stage in STAGES.values():
        writers = {other.name for other in STAGES.values() if set(other.outputs) & set(stage.inputs)}
        assert set(stage.upstream) == writers, stage.name
        assert all(names.index(writer) < names.index(stage.name) for writer in writers)


def test_dead_letters_have_topics_of_their_own_kind() -> None:
    assert topic("probe-results").dead_letters == "probe-results-dlq"
    letters = topic("probe-results-dlq")
    assert (letters.topic, letters.value, letters.versions) == ("probe-results-dlq", "DeadLetter", {1: "first version"})
    assert "probe-results-dlq" not in topics()


def test_each_topic_that_a_stage_reads_has_one_writer_of_its_dead_letters() -> None:
    for name in topics():
        readers = [stage.name for stage in STAGES.values() if name in stage.inputs]
        assert dead_letter_stage(name) == (readers[0] if readers else None)
