"""Settings: where they come from, which wins, and the exact sentence that each wrong one gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from skeletonhunter.settings import Settings, SettingsError, load_settings
from streams.stages import STAGES

BAD = sorted((Path(__file__).parents[1] / "bad_configurations").glob("*.toml"))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_configuration_gives_exactly_its_message(path: Path) -> None:
    """The first line of each file is the message that it must give."""
    first = path.read_bytes().split(b"\n", 1)[0].decode()
    with pytest.raises(SettingsError) as caught:
        load_settings(path, {})
    assert str(caught.value) == first.removeprefix("# ").replace("{file}", str(path))


def test_there_are_bad_configurations() -> None:
    assert len(BAD) >= 20


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"KAFKA__PARTITIONS": "many"}, "Expected `int`, got `str`, got 'many'"),
        ({"KAFKA__PARTITIONS": "0"}, "Expected `int` >= 1, got '0'"),
        ({"KAFKA__TOPICS": "4"}, "Object contains unknown field `topics` - at `$.kafka`"),
        ({"KAFAK__URL": "a:1"}, "Object contains unknown field `kafak`"),
        (
            {"KAFKA_URL": "a:1"},
            "expected SKELETONHUNTER_<SECTION>__<FIELD>, with two underscores between them",
        ),
        ({"KAFKA__URL__HOST": "a"}, "Expected `str`, got `object` - at `$.kafka.url`"),
        (
            {"KAFKA__LIBRDKAFKA": "acks=all"},
            "JSON is malformed: invalid character (byte 0), expected a table as JSON",
        ),
        (
            {"WORKER__STAGES": "skeleton,detect"},
            "Expected one of skeleton, detection, fabric, planner, localization, got 'detect' - at `$.worker.stages`",
        ),
        ({"WORKER__STORE": "redis"}, "Invalid enum value 'redis', got 'redis'"),
        (
            {"ALERTS__TIMEOUT_S": "inf"},
            "Expected a finite number, got inf - at `$.alerts.timeout_s`",
        ),
    ],
)
def test_a_bad_variable_is_named(environment: dict[str, str], message: str) -> None:
    variables = {f"SKELETONHUNTER_{name}": text for name, text in environment.items()}
    with pytest.raises(SettingsError) as caught:
        load_settings(None, variables)
    assert str(caught.value) == f"environment variable {next(iter(variables))}: {message}"


def test_a_section_can_not_hide_under_a_value(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('kafka = "a:1"\n')
    with pytest.raises(SettingsError, match=r"settings.toml, line 1: Expected a section, got a value - at `\$.kafka`"):
        load_settings(path, {"SKELETONHUNTER_KAFKA__URL": "b:1"})


def test_a_bad_flag_is_named() -> None:
    with pytest.raises(SettingsError, match=r"^flag for kafka.partitions: Expected `int` >= 1, got '-1'$"):
        load_settings(None, {}, {"kafka.partitions": "-1"})
    with pytest.raises(
        SettingsError, match=r"^flag for kafka.partitions: Expected `int` >= 1 - at `\$.kafka.partitions`$"
    ):
        load_settings(None, {}, {"kafka.partitions": -1})


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing.toml", "there is no such file"), (".", "can't be read: Is a directory")],
)
def test_a_file_that_can_not_be_read_is_named(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / name, {})
    assert str(caught.value) == f"{tmp_path / name}: {message}"


def test_flag_wins_over_environment_over_file_over_default(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('[kafka]\nurl = "file:1"\nprefix = "file."\npartitions = 2\n[worker]\ncheckpoint_s = 3\n')
    environment = {"SKELETONHUNTER_KAFKA__URL": "env:1", "SKELETONHUNTER_KAFKA__PREFIX": "env.", "HOME": "/root"}
    kafka = load_settings(path, environment, {"kafka.url": "flag:1", "kafka.partitions": None}).kafka
    assert (kafka.url, kafka.prefix, kafka.partitions, kafka.replication) == ("flag:1", "env.", 2, 1)


def test_texts_of_the_environment_become_what_the_field_wants() -> None:
    variables = {
        "KAFKA__PARTITIONS": "8",
        "KAFKA__LIBRDKAFKA": '{"linger.ms": 5}',
        "WORKER__STAGES": "skeleton, planner",
        "WORKER__TICKER": "false",
        "CLICKHOUSE__BATCH_S": "0.5",
        "ALERTS__WEBHOOKS": "https://a.example/x,http://b.example",
        "PARAMETERS__TIME__LATENESS_S": "7",
    }
    settings = load_settings(None, {f"SKELETONHUNTER_{name}": text for name, text in variables.items()})
    assert (settings.kafka.partitions, settings.kafka.librdkafka) == (8, {"linger.ms": 5})
    assert (settings.worker.stages, settings.worker.ticker) == (("skeleton", "planner"), False)
    assert settings.alerts.webhooks == ("https://a.example/x", "http://b.example")
    assert (settings.clickhouse.batch_s, settings.parameters.time.lateness_s) == (0.5, 7.0)


def test_variables_of_the_test_suite_are_no_settings() -> None:
    assert load_settings(None, {"SKELETONHUNTER_TEST_KAFKA": "a:1"}) == Settings()


def test_the_defaults_are_complete_and_good() -> None:
    assert load_settings(None, {}) == Settings()
    assert Settings().worker.stages == tuple(STAGES)
