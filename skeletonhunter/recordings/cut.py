"""How is a recording cut out of live Kafka? What arrived in a time, of all topics alike, and the maps that held then.

All topics end at one instant: a record counts by its arrival (header ``arrival_us``, else Kafka's time stamp). Logs are
read to their ends as they are at the beginning, and on until nothing more comes or what comes has arrived after the
cut: some brokers report the beginning of the last batch as the end. Of compacted topics the last record of
each key before the beginning is taken as well, as it stands: it says what was there when the recording begins. With a
job, only its records, and those of its fabric. Records that can't be used are taken along, as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from schemas.topics import topic as topic_spec
from skeletonhunter.recordings.manifest import Manifest, RecordingError
from skeletonhunter.recordings.spool import Row, Spool
from skeletonhunter.recordings.writer import RecordingWriter, about
from skeletonhunter.settings import KafkaSettings
from streams.records import arrival_of

ANSWER_S = 10.0
QUIET_S = 1.0
SLICE_S = 0.25
BEHIND_US = 5_000_000
"""Records of one partition are in order of arrival, give or take this."""

BATCH = 2_000

Spot = tuple[str, int]
"""(topic with prefix, partition)"""


@dataclass(frozen=True)
class Cut:
    """What to take: arrivals in [from, to] (us; from None = the oldest), one job or all, which topics."""

    topics: tuple[str, ...]
    to_us: int
    from_us: int | None = None
    job: str | None = None


@dataclass
class _Taken:
    """What has been taken so far, per topic; ``held``: the last record of each key before the beginning."""

    cut: Cut
    spools: dict[str, Spool] = field(default_factory=dict)
    held: dict[tuple[str, str | None], Row] = field(default_factory=dict)
    fabrics: set[str] = field(default_factory=set)

    def take(self, topic: str, row: Row) -> None:
        """Keeps a row if it belongs to the cut."""
        cut = self.cut
        spec = topic_spec(topic)
        if spec.key == "job" and cut.job is not None and row.key != cut.job:
            return
        if topic == "endpoint-map":
            self.fabrics |= _fabric_of(row.raw)
        if row.arrival_us > cut.to_us:
            return
        if cut.from_us is None or row.arrival_us >= cut.from_us:
            self.spools.setdefault(topic, Spool()).add(row)
        elif spec.cleanup == "compact":
            known = self.held.get((topic, row.key))
            if known is None or known[:3] < row[:3]:
                self.held[topic, row.key] = row

    def rows(self, topic: str) -> Iterator[Row]:
        """Rows of a topic in order of arrival, what was held first."""
        held = sorted(row for (name, _), row in self.held.items() if name == topic)
        spool = self.spools.get(topic)
        for row in (*held, *(spool.rows() if spool else ())):
            if topic_spec(topic).key != "fabric" or self.cut.job is None or row.key in self.fabrics:
                yield row


def cut_recording(settings: KafkaSettings, cut: Cut, path: Path, progress: Callable[[int], None]) -> Manifest:
    """Reads Kafka and writes the recording.

    Raises:
        RecordingError: Kafka does not answer, there is nothing to take, or the place is taken.
    """
    taken = _Taken(cut)
    with RecordingWriter(path) as writer:
        try:
            read = sum(1 for _ in _each(_Reader(settings, cut), taken, progress))
        except KafkaException as error:
            raise RecordingError(f"Kafka at {settings.url} fails: {error.args[0].str()}") from error
        span_us = _write(taken, writer)
        if span_us is None:
            raise RecordingError(f"Kafka at {settings.url}: none of the {read} records read belongs to the cut")
        name = path.name.removesuffix(".tar.zst")
        what = f"cut out of Kafka: {cut.job or 'all jobs'}"
        return writer.finish(about(name, what, span_us, "skeletonhunter record", ""))


def _write(taken: _Taken, writer: RecordingWriter) -> tuple[int, int] | None:
    """Writes all topics; gives the time that the recording covers, None = there was nothing."""
    arrivals: list[int] = []
    for topic in taken.cut.topics:
        for row in taken.rows(topic):
            arrivals = [min([row.arrival_us, *arrivals]), max([row.arrival_us, *arrivals])]
            writer.write_raw(topic, row.key, row.arrival_us, one_line(row.raw))
    if not arrivals:
        return None
    begin_us = arrivals[0] if taken.cut.from_us is None else taken.cut.from_us
    return begin_us, max(begin_us, min(arrivals[1], taken.cut.to_us))


def _each(reader: _Reader, taken: _Taken, progress: Callable[[int], None]) -> Iterator[None]:
    for number, (topic, row) in enumerate(reader.rows(), start=1):
        taken.take(topic, row)
        if number % BATCH == 0:
            progress(number)
        yield


class _Reader:
    """Everything that stands in the topics, partition by partition."""

    def __init__(self, settings: KafkaSettings, cut: Cut) -> None:
        self.settings, self.cut = settings, cut
        config: dict[str, Any] = {"bootstrap.servers": settings.url, "log_level": 0, **settings.librdkafka}
        config |= {"group.id": f"{settings.prefix}record", "enable.auto.commit": False}
        self.consumer = Consumer(config | {"auto.offset.reset": "earliest"})
        self.ends: dict[Spot, int] = {}
        self.unread: set[Spot] = set()
        self.open: set[Spot] = set()

    def rows(self) -> Iterator[tuple[str, Row]]:
        """All records up to the ends.

        Raises:
            KafkaException: Kafka fails or falls silent.
        """
        try:
            starts = self._look()
            self.consumer.assign([TopicPartition(name, part, low) for (name, part), low in starts.items()])
            silent_s = 0.0
            while self.open and (self.unread or silent_s < QUIET_S):
                batch = self.consumer.consume(BATCH, SLICE_S)
                silent_s = 0.0 if batch else silent_s + SLICE_S
                if silent_s > ANSWER_S:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"no records for {ANSWER_S:.0f} s"))
                for message in batch:
                    yield from self._take(message)
        finally:
            self.consumer.close()

    def _look(self) -> dict[Spot, int]:
        """First offset of every partition that holds something; its end goes to ``ends``."""
        known = self.consumer.list_topics(timeout=ANSWER_S).topics
        starts = {}
        for topic in self.cut.topics:
            name = self.settings.prefix + topic
            for part in known[name].partitions if name in known else ():
                low, high = self.consumer.get_watermark_offsets(TopicPartition(name, part), timeout=ANSWER_S)
                if low < high:
                    starts[name, part], self.ends[name, part] = low, high
        self.unread, self.open = set(self.ends), set(self.ends)
        return starts

    def _take(self, message: Message) -> Iterator[tuple[str, Row]]:
        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                return
            raise KafkaException(error)
        spot, offset = (message.topic() or "", message.partition() or 0), message.offset() or 0
        arrival_us = arrival_of(message.headers(), message.timestamp()[1])
        if offset + 1 >= self.ends.get(spot, 0):
            self.unread.discard(spot)
            if arrival_us > self.cut.to_us + BEHIND_US:
                self.open.discard(spot)
        value = message.value()
        if value is not None:
            row = Row(arrival_us, spot[1], offset, _text(message.key()), value)
            yield spot[0].removeprefix(self.settings.prefix), row


def _text(key: str | bytes | None) -> str | None:
    return key.decode(errors="backslashreplace") if isinstance(key, bytes) else key


def _fabric_of(raw: bytes) -> set[str]:
    """The fabric that an endpoint map names; nothing if it can't be read."""
    try:
        wire = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return set()
    fabric = wire.get("fabric") if isinstance(wire, dict) else None
    return {fabric} if isinstance(fabric, str) else set()


def one_line(raw: bytes) -> bytes:
    """The value on one line: in JSON line ends stand only between tokens, where a space does as well."""
    return raw.replace(b"\n", b" ").replace(b"\r", b" ")
