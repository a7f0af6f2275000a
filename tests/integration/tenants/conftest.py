"""A Kafka with TLS, users and an authorizer, where .ci/secure-kafka.sh has started one."""

from __future__ import annotations

import os
import secrets
import time

import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from msgspec import structs
from typer.testing import CliRunner

from skeletonhunter.cli import build_cli
from skeletonhunter.settings import KafkaSettings, load_settings
from skeletonhunter.tenants.relay import tenant_settings
from streams.topic_admin import TopicAdmin, plan_topics
from tests.integration.tenants.people import JOBS

ADDRESS = "SKELETONHUNTER_TEST_SECURE_KAFKA"
ROLES = ("work", "sink", "alert", "agent", "maps", "reader")


class SecureKafka:
    """An installation under a prefix of its own, with its parts and tenants as users."""

    def __init__(self) -> None:
        self.ca = os.environ["SKELETONHUNTER_TEST_SECURE_CA"]
        self.prefix = f"s{secrets.token_hex(3)}."
        self.passwords = {"admin": os.environ["SKELETONHUNTER_TEST_SECURE_PASSWORD"]}
        self.names = [*ROLES, *(f"{part}-{tenant}" for part in ("agent", "relay") for tenant in JOBS)]
        self._admit()
        self._equip()

    def environment(self, user: str) -> dict[str, str]:
        """The variables by which a program of ours becomes a user."""
        given = {
            "URL": os.environ[ADDRESS],
            "PREFIX": self.prefix,
            "PARTITIONS": "2",
            "SESSION_S": "6",
            "SECURITY__PROTOCOL": "sasl_ssl",
            "SECURITY__CA": self.ca,
            "SECURITY__USERNAME": user,
            "SECURITY__PASSWORD": self.passwords[user],
        }
        return {f"SKELETONHUNTER_KAFKA__{name}": text for name, text in given.items()}

    def settings(self, user: str) -> KafkaSettings:
        """Kafka as a user reaches it."""
        return load_settings(None, self.environment(user)).kafka

    def own(self, user: str, tenant: str) -> KafkaSettings:
        """A tenant's topics as a user reaches them."""
        return tenant_settings(self.settings(user), tenant)

    def _admit(self) -> None:
        admin = self.settings("admin")
        client = AdminClient({"bootstrap.servers": admin.url, **admin.librdkafka})
        self.passwords |= {name: secrets.token_hex(12) for name in self.names}
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        wanted = [UserScramCredentialUpsertion(name, info, self.passwords[name].encode()) for name in self.names]
        for done in client.alter_user_scram_credentials(wanted).values():
            done.result(30)

    def _equip(self) -> None:
        admin = self.settings("admin")
        TopicAdmin(admin.url, admin.prefix, admin.librdkafka).ensure(plan_topics(1 << 20), 2, 1)
        tenants = [word for tenant in JOBS for word in ("--tenant", tenant)]
        result = CliRunner().invoke(build_cli("acls"), ["acls", *tenants, "--apply"], env=self.environment("admin"))
        assert result.exit_code == 0, (result.output, result.exception)
        for user in self.names:
            self._await(user)

    def _await(self, user: str) -> None:
        """The broker's authorizer hears of permissions a moment after they were granted: until the user sees topics."""
        settings, ends_s = self.settings(user), time.monotonic() + 20
        while not TopicAdmin(settings.url, settings.prefix, settings.librdkafka).existing():
            assert time.monotonic() < ends_s, user
            time.sleep(0.1)


@pytest.fixture(scope="session")
def secure() -> SecureKafka:
    """The installation."""
    if ADDRESS not in os.environ:
        pytest.skip("needs a Kafka with an authorizer: .ci/secure-kafka.sh")
    return SecureKafka()


def wrong_password(settings: KafkaSettings) -> KafkaSettings:
    """The same user with another password."""
    return structs.replace(settings, librdkafka={**settings.librdkafka, "sasl.password": "guess"})
