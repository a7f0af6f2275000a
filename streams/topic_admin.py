"""Are the topics there, as they should be? Creates them, compares them, and asks for the ends of their logs.

Topics keep what their YAML says (compaction, or deletion after its retention). A topic that exists with another number
of partitions is refused: joins are local only where all topics have the same number.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, NewTopic, OffsetSpec

from schemas.topics import Topic, topics
from streams.offsets import Spot

log = logging.getLogger(__name__)

TIMEOUT_S = 10.0
GRACE_S = 2.0
"""So much later than the client is to give up a question it is given up here: at the same instant either may win."""
PAUSE_S = 0.05
FOREVER_MS = -1
ANY_TIME_MS = 2**63 - 1
DEAD_LETTER_HOURS = 720


class TopicError(RuntimeError):
    """The broker's topics can't be used; the text says which and why."""


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic as it should be; ``name`` has no prefix."""

    name: str
    config: Mapping[str, str]


def plan_topics(max_message_bytes: int, keep_forever: bool = False) -> list[TopicPlan]:
    """All topics and their dead letters, in alphabetical order.

    ``keep_forever`` is for replays, whose records may be older than any retention, or stamped in the future.
    """
    plans = []
    for spec in topics().values():
        plans.append(TopicPlan(spec.topic, _config(spec, max_message_bytes, keep_forever)))
        plans.append(TopicPlan(spec.dead_letters, _retention(DEAD_LETTER_HOURS, max_message_bytes, keep_forever)))
    return sorted(plans, key=lambda plan: plan.name)


def _config(spec: Topic, max_message_bytes: int, keep_forever: bool) -> dict[str, str]:
    if spec.cleanup == "compact":
        return {"cleanup.policy": "compact", "max.message.bytes": str(max_message_bytes)} | _timeless(keep_forever)
    return _retention(spec.retention_hours, max_message_bytes, keep_forever)


def _retention(hours: int | None, max_message_bytes: int, keep_forever: bool) -> dict[str, str]:
    retention_ms = FOREVER_MS if keep_forever or hours is None else hours * 3_600_000
    limits = {"retention.ms": str(retention_ms), "max.message.bytes": str(max_message_bytes)}
    return {"cleanup.policy": "delete"} | limits | _timeless(keep_forever)


def _timeless(keep_forever: bool) -> dict[str, str]:
    if not keep_forever:
        return {}
    names = ("message.timestamp.before.max.ms", "message.timestamp.after.max.ms")
    return dict.fromkeys(names, str(ANY_TIME_MS))


class TopicAdmin:
    """Topics of one broker under one prefix.

    Raises (all methods):
        TopicError: the broker does not answer or refuses.
    """

    def __init__(self, brokers: str, prefix: str, librdkafka: Mapping[str, str | int | float | bool]) -> None:
        self.brokers = brokers
        self.prefix = prefix
        self._config = {"bootstrap.servers": brokers, **librdkafka}
        self._client = AdminClient(self._config, logger=log)

    def existing(self) -> dict[str, int]:
        """Topics under the prefix, without it, and their numbers of partitions."""
        try:
            found = self._client.list_topics(timeout=TIMEOUT_S).topics
        except KafkaException as error:
            raise TopicError(f"Kafka at {self.brokers} does not answer: {error.args[0].str()}") from error
        own = {name: len(about.partitions) for name, about in found.items() if name.startswith(self.prefix)}
        return {name.removeprefix(self.prefix): count for name, count in own.items()}

    def ensure(self, plans: Iterable[TopicPlan], partitions: int, replication: int) -> list[str]:
        """Creates the topics that are missing and returns their names, when the broker knows them.

        Raises:
            TopicError: also when a topic exists with another number of partitions.
        """
        wanted = {plan.name: plan for plan in plans}
        existing = self._existing_as(partitions, wanted)
        missing = [name for name in wanted if name not in existing]
        self._create([wanted[name] for name in missing], partitions, replication)
        ends_s = time.monotonic() + TIMEOUT_S
        while missing and not set(missing) <= set(self._existing_as(partitions, wanted)):
            if time.monotonic() > ends_s:
                raise TopicError(f"topic {self.prefix}{missing[0]} was created, but the broker does not know it")
            time.sleep(PAUSE_S)
        return missing

    def _existing_as(self, partitions: int, wanted: Iterable[str]) -> dict[str, int]:
        existing = self.existing()
        for name in wanted:
            if existing.get(name, partitions) != partitions:
                raise TopicError(
                    f"topic {self.prefix}{name} has {existing[name]} partitions, expected kafka.partitions {partitions}"
                )
        return existing

    def _create(self, plans: list[TopicPlan], partitions: int, replication: int) -> None:
        if not plans:
            return
        new = [NewTopic(self.prefix + plan.name, partitions, replication, config=dict(plan.config)) for plan in plans]
        for name, created in self._client.create_topics(new, operation_timeout=TIMEOUT_S).items():
            try:
                created.result(TIMEOUT_S + GRACE_S)
            except (KafkaException, TimeoutError) as error:
                if _code(error) != KafkaError.TOPIC_ALREADY_EXISTS:  # another worker was faster
                    raise TopicError(f"topic {name} can't be created: {_why(error)}") from error

    def delete(self, names: Iterable[str]) -> None:
        """Deletes topics, and waits until the broker has taken note."""
        doomed = [self.prefix + name for name in names]
        if not doomed:
            return
        for name, deleted in self._client.delete_topics(doomed, operation_timeout=TIMEOUT_S).items():
            try:
                deleted.result(TIMEOUT_S + GRACE_S)
            except (KafkaException, TimeoutError) as error:
                if _code(error) != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise TopicError(f"topic {name} can't be deleted: {_why(error)}") from error

    def ends(self, spots: Iterable[Spot]) -> dict[Spot, int]:
        """The next offset that a record of each partition will get.

        A client that was refused is replaced: after a broker has started again librdkafka goes on asking for the ends
        with the leader's old epoch, until it reads its metadata anew, which takes minutes.
        """
        found = {spot: each.offset for spot, each in self._listed(spots, OffsetSpec.latest()).items()}
        for (topic, number), offset in found.items():
            if offset < 0:  # seen while a broker ended: an answer without an error and without an offset
                raise TopicError(f"the end of {topic}, partition {number}, is not known")
        return found

    def newest_us(self, topic: str, partitions: int) -> int | None:
        """The latest timestamp of all records of a topic, to the millisecond; None: it has no records."""
        spots = [(topic, number) for number in range(partitions)]
        found = self._listed(spots, OffsetSpec.max_timestamp()).values()
        newest_ms = max(each.timestamp for each in found if each.timestamp is not None)
        return newest_ms * 1000 if newest_ms >= 0 else None

    def _listed(self, spots: Iterable[Spot], spec: OffsetSpec) -> dict[Spot, ListOffsetsResultInfo]:
        wanted = {TopicPartition(self.prefix + topic, number): (topic, number) for topic, number in spots}
        if not wanted:
            return {}
        ends_s = time.monotonic() + TIMEOUT_S + GRACE_S
        asked = self._client.list_offsets(dict.fromkeys(wanted, spec), request_timeout=TIMEOUT_S)
        try:
            return {wanted[spot]: found.result(max(0.0, ends_s - time.monotonic())) for spot, found in asked.items()}
        except (KafkaException, TimeoutError) as error:
            self._client = AdminClient(self._config, logger=log)
            raise TopicError(f"the offsets of the topics can't be read: {_why(error)}") from error


def _code(error: KafkaException | TimeoutError) -> int | None:
    return error.args[0].code() if isinstance(error, KafkaException) else None


def _why(error: KafkaException | TimeoutError) -> str:
    return error.args[0].str() if isinstance(error, KafkaException) else "no answer in time"
