"""Which records are fit for ClickHouse? Bytes become values; what can't be used is told apart by who has to report it.

A producer that uses a number again for other content is broken, and the first one counts, as it does in the stages.
A sink remembers the last ``REMEMBERED`` messages for that. Conclusions of our own stages are exempt: of those the
newest counts.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from schemas.codec import LIMITS, MAX_BYTES, BadRecord, decode
from schemas.envelope import Message
from schemas.limits import MessageLimits
from skeletonhunter.sinks.received import Received
from streams.records import Record
from streams.stages import dead_letter_stage

REMEMBERED = 100_000


@dataclass(slots=True)
class Arrivals:
    """What a number of records came to: values, and bad records with their errors.

    ``ours`` are bad records that the sink has to report, ``theirs`` those that a stage reports.
    """

    received: dict[str, list[Received]] = field(default_factory=dict)
    ours: list[tuple[Record, BadRecord]] = field(default_factory=list)
    theirs: list[tuple[Record, BadRecord]] = field(default_factory=list)

    @property
    def left_to_stages(self) -> int:
        """How many bad records a stage reports."""
        return len(self.theirs)


class Intake:
    """Reads records of all topics, in the order in which they came."""

    def __init__(self, max_bytes: int = MAX_BYTES, limits: MessageLimits = LIMITS) -> None:
        self.max_bytes = max_bytes
        self.limits = limits
        self._contents: OrderedDict[int, int] = OrderedDict()

    def read(self, records: Iterable[Record]) -> Arrivals:
        """Sorts the records by topic and fitness."""
        arrivals = Arrivals()
        for record in records:
            try:
                value = self._value(record)
            except BadRecord as error:
                whose = arrivals.ours if dead_letter_stage(record.topic) is None else arrivals.theirs
                whose.append((record, error))
                continue
            received = Received(value, record.arrival_us, record.partition, record.offset)
            arrivals.received.setdefault(record.topic, []).append(received)
        return arrivals

    def _value(self, record: Record) -> Message:
        value = decode(record.topic, record.key, record.value, record.arrival_us, self.max_bytes, self.limits)
        if not isinstance(value, Message):
            raise BadRecord("invalid_value", f"{record.topic}: expected a message with an envelope")
        if value.producer.kind != "stage":
            self._check_use(record.topic, value, record.value)
        return value

    def _check_use(self, topic: str, value: Message, raw: bytes) -> None:
        producer = value.producer
        number = hash((topic, producer.id, producer.boot, producer.seq))
        content = hash(raw)
        if self._contents.setdefault(number, content) != content:
            raise BadRecord(
                "conflicting_seq",
                f"{topic}: producer {producer.id} (boot {producer.boot}) used seq {producer.seq} for other content",
            )
        if len(self._contents) > REMEMBERED:
            self._contents.popitem(last=False)
