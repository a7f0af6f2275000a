"""How do permissions come into Kafka? As ACLs of its authorizer; what is there already stays."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from skeletonhunter.settings import KafkaSettings
from skeletonhunter.tenants.permissions import Permission
from streams.topic_admin import GRACE_S, TopicError

_log = logging.getLogger(__name__)
TIMEOUT_S = 30.0
AWAY = (KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN)


def apply(settings: KafkaSettings, wanted: Iterable[Permission]) -> int:
    """Grants the permissions; returns how many.

    Raises:
        TopicError: the broker does not answer, refuses, or has no authorizer.
    """
    client = AdminClient({"bootstrap.servers": settings.url, **settings.librdkafka}, logger=_log)
    asked = client.create_acls([binding(each) for each in wanted], request_timeout=TIMEOUT_S)
    for each, granted in asked.items():
        try:
            granted.result(TIMEOUT_S + GRACE_S)
        except TimeoutError as error:
            raise TopicError(f"Kafka at {settings.url} does not answer, so nothing was granted") from error
        except KafkaException as error:
            if error.args[0].code() in AWAY:
                raise TopicError(f"Kafka at {settings.url} does not answer, so nothing was granted") from error
            raise TopicError(f"{each.principal} can't be granted {each.name}: {error.args[0].str()}") from error
    return len(asked)


def binding(permission: Permission) -> AclBinding:
    """The ACL of a permission, from any host."""
    return AclBinding(
        ResourceType.TOPIC if permission.resource == "topic" else ResourceType.GROUP,
        permission.name,
        ResourcePatternType.PREFIXED if permission.prefixed else ResourcePatternType.LITERAL,
        f"User:{permission.principal}",
        "*",
        AclOperation[permission.operation.upper()],
        AclPermissionType.ALLOW,
    )


def as_command(permission: Permission) -> str:
    """The arguments of ``kafka-acls.sh`` that say the same."""
    kind = "--resource-pattern-type prefixed " if permission.prefixed else ""
    operation = permission.operation.replace("_", " ").title().replace(" ", "")
    who = f"--add --allow-principal User:{permission.principal}"
    return f"{who} --operation {operation} {kind}--{permission.resource} {permission.name}"
