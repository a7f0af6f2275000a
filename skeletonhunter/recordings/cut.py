"""How is a recording cut out of live Kafka? What arrived in a time, of all topics alike, and the maps that held then.

All topics end at one instant: a record counts by its arrival (header ``arrival_us``, else Kafka's time stamp). Logs are
read to their ends as they are at the beginning, and on until nothing more comes or what comes has arrived after the
cut: some brokers report the beginning of the last batch as the end. Of compacted topics the last record of
each key before the beginning is taken as well, as it stands: it says what was there when the recording begins. With a
job, only its records, and those of its fabric. Records that can't be used are taken along, as they are.

What is read goes into a journal first (``journal``), so that the same command goes on after an interruption.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from schemas.topics import topic as topic_spec
from skeletonhunter.recordings.journal import Journal, Spot
from skeletonhunter.recordings.manifest import Manifest, RecordingError
from skeletonhunter.recordings.spool import Row, Spool
from skeletonhunter.recordings.writer import RecordingWriter, about, refuse_taken
from skeletonhunter.settings import KafkaSettings
from streams.answers import log_bounds, passes
from streams.records import arrival_of

ANSWER_S = 10.0
QUIET_S = 1.0
SLICE_S = 0.25
BEHIND_US = 5_000_000
"""Records of one partition are in order of arrival, give or take this."""

BATCH = 2_000


@dataclass(frozen=True)
class Cut:
    """What to take: arrivals in [from, to] (us; from None = the oldest), one job or all, which topics.

    ``until_now``: nobody named ``to_us``, it is when the command began; one that goes on keeps the first.
    """

    topics: tuple[str, ...]
    to_us: int
    from_us: int | None = None
    job: str | None = None
    until_now: bool = False


@dataclass
class _Taken:
    """What has been taken so far, per topic; ``held``: the last record of each key before the beginning."""

    cut: Cut
    spools: dict[str, Spool] = field(default_factory=dict)
    held: dict[tuple[str, str | None], Row] = field(default_factory=dict)
    fabrics: set[str] = field(default_factory=set)

    def take(self, topic: str, row: Row) -> bool:
        """Keeps a row if it belongs to the cut, and says whether it has any bearing on it."""
        cut = self.cut
        spec = topic_spec(topic)
        if spec.key == "job" and cut.job is not None and row.key != cut.job:
            return False
        if topic == "endpoint-map":
            self.fabrics |= _fabric_of(row.raw)
        if row.arrival_us > cut.to_us:
            return topic == "endpoint-map"
        if cut.from_us is None or row.arrival_us >= cut.from_us:
            self.spools.setdefault(topic, Spool()).add(row)
        elif spec.cleanup == "compact":
            known = self.held.get((topic, row.key))
            if known is None or known[:3] < row[:3]:
                self.held[topic, row.key] = row
        else:
            return topic == "endpoint-map"
        return True

    def rows(self, topic: str) -> Iterator[Row]:
        """Rows of a topic in order of arrival, what was held first."""
        held = sorted(row for (name, _), row in self.held.items() if name == topic)
        spool = self.spools.get(topic)
        for row in (*held, *(spool.rows() if spool else ())):
            if topic_spec(topic).key != "fabric" or self.cut.job is None or row.key in self.fabrics:
                yield row


def cut_recording(settings: KafkaSettings, cut: Cut, path: Path, progress: Callable[[int], None]) -> Manifest:
    """Reads Kafka and writes the recording, or goes on with one that was cut off.

    Raises:
        RecordingError: Kafka does not answer, there is nothing to take, or the place is taken or can't be written.
    """
    try:
        return _cut(settings, cut, path, progress)
    except OSError as error:
        raise RecordingError(f"{error.filename or path}: can't be written: {error.strerror}") from error


def _cut(settings: KafkaSettings, cut: Cut, path: Path, progress: Callable[[int], None]) -> Manifest:
    journal = Journal(path, _described(settings, cut), cut.to_us)
    make_room(path, journal.resumed)
    with journal:
        cut = replace(cut, to_us=journal.to_us)
        taken = _Taken(cut)
        for topic, row in journal.rows():
            taken.take(topic, row)
        try:
            read = _read(_Reader(settings, cut, journal.positions), taken, journal, progress)
        except KafkaException as error:
            raise RecordingError(f"Kafka at {settings.url} fails: {error.args[0].str()}") from error
        with RecordingWriter(path) as writer:
            span_us = _write(taken, writer)
            if span_us is None:
                journal.drop()
                raise RecordingError(f"Kafka at {settings.url}: none of the {read} records read belongs to the cut")
            name = path.name.removesuffix(".tar.zst")
            what = f"cut out of Kafka: {cut.job or 'all jobs'}"
            return writer.finish(about(name, what, span_us, "skeletonhunter record", ""))


def make_room(path: Path, resumed: bool) -> None:
    """Looks before the work whether something stands where the recording is to go; removes what we left there.

    Raises:
        RecordingError: something does.
    """
    if resumed:
        shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(path.with_name(path.name + ".parts"), ignore_errors=True)
        if path.is_file():
            path.unlink()
    else:
        refuse_taken(path)


def _described(settings: KafkaSettings, cut: Cut) -> dict[str, Any]:
    """What is being cut, so that the same command is recognised."""
    return {
        "url": settings.url,
        "prefix": settings.prefix,
        "topics": list(cut.topics),
        "from_us": cut.from_us,
        "to_us": None if cut.until_now else cut.to_us,
        "job": cut.job,
    }


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


def _read(reader: _Reader, taken: _Taken, journal: Journal, progress: Callable[[int], None]) -> int:
    """Takes what there is; the number of records read."""
    number = 0
    for number, (topic, row) in enumerate(reader.rows(), start=1):
        if taken.take(topic, row):
            journal.add(topic, row)
        if number % BATCH == 0:
            journal.keep(reader.positions)
            progress(number)
    journal.keep(reader.positions)
    return number


class _Reader:
    """Everything that stands in the topics, partition by partition."""

    def __init__(self, settings: KafkaSettings, cut: Cut, positions: Mapping[Spot, int]) -> None:
        self.settings, self.cut = settings, cut
        self.positions: dict[Spot, int] = dict(positions)
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
                silent_s = 0.0 if any(each.error() is None for each in batch) else silent_s + SLICE_S
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
            parts = known[name].partitions if name in known else ()
            for part, (low, high) in log_bounds(self.consumer, name, parts, ANSWER_S).items():
                if low < high:
                    starts[name, part], self.ends[name, part] = low, high
        starts = {spot: max(low, self.positions.get(spot, low)) for spot, low in starts.items()}
        self.unread = {spot for spot, end in self.ends.items() if starts[spot] < end}
        self.open = set(self.ends)
        return starts

    def _take(self, message: Message) -> Iterator[tuple[str, Row]]:
        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF or passes(error):
                return
            raise KafkaException(error)
        spot, offset = (message.topic() or "", message.partition() or 0), message.offset() or 0
        arrival_us = arrival_of(message.headers(), message.timestamp()[1])
        self.positions[spot] = offset + 1
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
