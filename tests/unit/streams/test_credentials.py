"""Faust and librdkafka prove who they are by one set of properties, and secrets are never repeated."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from collectors.kafka_access import KafkaAccess, properties_of
from skeletonhunter.collecting import load_agent_settings
from skeletonhunter.settings import SettingsError, load_settings
from streams.credentials import CredentialsError, credentials_of

SECRET = "correct-horse"


def test_plain_text_has_no_credentials() -> None:
    assert properties_of(KafkaAccess()) == {}
    assert credentials_of({}) is None


def test_a_user_over_tls_with_the_password_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(f"{SECRET}\n")
    access = KafkaAccess(protocol="sasl_ssl", username="sink", password_file=str(tmp_path / "password"))
    properties = properties_of(access)
    assert properties == {
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "sink",
        "sasl.password": SECRET,
    }
    found = credentials_of(properties)
    assert (found.username, found.password, found.mechanism.value) == ("sink", SECRET, "SCRAM-SHA-512")
    assert found.protocol.value == "SASL_SSL"
    assert found.ssl_context.verify_mode is ssl.CERT_REQUIRED and found.ssl_context.check_hostname
    assert SECRET not in repr(found)


def test_both_programs_take_it_from_file_and_environment(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[agent]\nfabric = 'f'\n[kafka.security]\nprotocol = 'sasl_ssl'\nusername = 'u'\n")
    environment = {"SKELETONHUNTER_KAFKA__SECURITY__PASSWORD": SECRET}
    agent = load_agent_settings(tmp_path / "c.toml", environment)
    assert agent.kafka.librdkafka["sasl.password"] == SECRET
    (tmp_path / "w.toml").write_text("[kafka.security]\nprotocol = 'sasl_ssl'\nusername = 'u'\n")
    worker = load_settings(tmp_path / "w.toml", environment)
    assert worker.kafka.librdkafka["sasl.password"] == SECRET
    with pytest.raises(SettingsError, match=r"password_file, because protocol is sasl_ssl"):
        load_agent_settings(tmp_path / "c.toml", {})


def test_what_the_operator_gives_librdkafka_goes_before() -> None:
    variables = {
        "SKELETONHUNTER_KAFKA__SECURITY__PROTOCOL": "ssl",
        "SKELETONHUNTER_KAFKA__LIBRDKAFKA": '{"security.protocol": "sasl_ssl", "client.id": "x"}',
    }
    assert load_settings(None, variables).kafka.librdkafka == {"security.protocol": "sasl_ssl", "client.id": "x"}


@pytest.mark.parametrize(
    "variables",
    [
        {"KAFKA__LIBRDKAFKA": f"sasl.password={SECRET}"},
        {"KAFKA__LIBRDKAFKA": f'{{"sasl.password": ["{SECRET}"]}}'},
        {"KAFKA__SECURITY__PASSWORD": SECRET},
        {"KAFKA__SECURITY__PASSWORD": SECRET, "KAFKA__SECURITY__PROTOCOL": "sasl"},
        {"KAFKA__SECURITY__PASSWORD": SECRET, "KAFKA__SECURITY__PROTOCOL": "sasl_ssl"},
        {"KAFKA__SECURITY__PASSWORT": SECRET},
        {"KAFKA__SECURITY": SECRET},
    ],
)
def test_no_refusal_repeats_a_secret(variables: dict[str, str]) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(None, {f"SKELETONHUNTER_{name}": text for name, text in variables.items()})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"security.protocol": "kerberos"}, "security.protocol is 'kerberos'"),
        ({"security.protocol": "sasl_plaintext", "sasl.mechanism": "GSSAPI"}, "sasl.mechanism is 'GSSAPI'"),
        ({"security.protocol": "ssl", "ssl.ca.location": "/nowhere"}, "can't be read"),
    ],
)
def test_what_faust_can_not_follow_is_refused(properties: dict[str, str], message: str) -> None:
    with pytest.raises(CredentialsError, match=message):
        credentials_of(properties)
