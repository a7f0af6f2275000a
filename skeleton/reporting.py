"""Who no longer reports on a job? Streams of counters and bursts that fell silent, and RNICs that can't be read.

Only this stage reads ``rnic-counters`` and ``rnic-bursts``; localization, which says whose fault a gap is, is told of
changes on ``reporting-gaps``, keyed by fabric: nothing while all is well.

- *Silent* is a stream that used to send regularly (``skeleton.regularity``). An agent that sends bursts only when there
  are any is not missed when there are none: a stream of bursts counts once it has said "none". Streams of containers
  that are no longer on the map have ended, and so have all when the job has.
- *Unread* is an RNIC of which ``UNREAD`` samples in a row were null while another one of its message was read: the
  agent lives and the card does not answer it.

Most seconds change nothing: streams are looked through only when one has begun or ceased to be regular, or the first
of them may have fallen silent (``ReportLog.due_us``).

Cost: 2 us a message, 0.1 us a job and second. Memory: 200 bytes a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from schemas.folding import DERIVED_CLOCK, Emission, derived_producer
from schemas.instants import SECOND_US
from schemas.reporting import ReportingGaps, SilentStream, UnreadRnic
from schemas.telemetry import RnicBursts, RnicColumns, RnicCounters
from skeleton.membership import Membership
from skeleton.regularity import Regularity, first_heard

STAGE = "skeleton"
COUNTERS, BURSTS = "rnic-counters", "rnic-bursts"
UNREAD = 3
FORGET_US = 3600 * SECOND_US

Key = tuple[str, str]
"""(topic, producer id)"""
Told = tuple[tuple[tuple[str, int], ...], tuple[SilentStream, ...], tuple[UnreadRnic, ...]]
"""Regular streams by topic, silent ones, RNICs that can't be read."""


@dataclass(slots=True)
class ReportStream:
    """One stream: whose container it reports on. ``counts``: whether its silence would mean something; ``watched``:
    whether it also is regular, so that it would be noticed."""

    container: str
    regularity: Regularity
    counts: bool
    watched: bool = False


@dataclass(slots=True)
class Blank:
    """Samples in a row of an RNIC that could not be read, and since when, us."""

    samples: int
    since_us: int


@dataclass(slots=True)
class ReportLog:
    """What is known of a job's reports. ``told``: what was sent last; ``due_us``: nothing has changed before then."""

    streams: dict[Key, ReportStream] = field(default_factory=dict)
    blank: dict[str, Blank] = field(default_factory=dict)
    told: Told = ((), (), ())
    due_us: int = 0

    def hear_counters(self, value: RnicCounters) -> None:
        """A message of counters came."""
        self._hear(COUNTERS, value.container, value, counts=True)
        read = [_was_read(columns) for columns in value.rnics]
        if all(read) and not self.blank:  # nearly always
            return
        some = any(read)
        for columns, known in zip(value.rnics, read, strict=True):
            endpoint = f"{value.container}/{columns.rnic}"
            if known or not some:
                self.blank.pop(endpoint, None)
            elif columns.t_us:
                blank = self.blank.setdefault(endpoint, Blank(0, columns.t_us[0]))
                blank.samples += len(columns.t_us)
                self.due_us = 0

    def hear_bursts(self, value: RnicBursts) -> None:
        """A message of bursts came."""
        self._hear(BURSTS, value.endpoint.rpartition("/")[0], value, counts=not value.bursts)

    def _hear(self, topic: str, container: str, value: RnicCounters | RnicBursts, counts: bool) -> None:
        key = topic, value.producer.id
        stream = self.streams.get(key)
        if stream is None:
            self.streams[key] = ReportStream(container, first_heard(value.producer, value.t_us), counts)
            return
        stream.regularity.hear(value.producer, value.t_us)
        stream.counts = stream.counts or counts
        watched = stream.counts and stream.regularity.is_regular()
        if watched != stream.watched:
            stream.watched, self.due_us = watched, 0

    def close_second(self, membership: Membership | None, t_us: int) -> Told | None:
        """What there is to tell now, None: nothing has changed."""
        if membership is None or t_us < self.due_us:
            return None
        counts, silent = {BURSTS: 0, COUNTERS: 0}, []
        self.due_us = t_us + FORGET_US
        for key, stream in self.streams.items():
            if stream.watched:
                counts[key[0]] += 1
                self.due_us = min(self.due_us, stream.regularity.silent_from_us)
                if stream.regularity.is_silent(t_us):
                    silent.append(key)
        if self.blank:
            names, self.due_us = set(membership.names), 0
            self.blank = {name: blank for name, blank in self.blank.items() if name in names}
        regular = tuple((topic, number) for topic, number in counts.items() if number)
        now = regular, self._silent(membership, silent), self._unread()
        return now if now != self.told else None

    def settle(self, membership: Membership, ended: bool, t_us: int) -> None:
        """Forgets streams that have ended: of containers that have left, and those not heard of for long."""
        self.due_us = 0
        if ended:
            self.streams, self.blank = {}, {}
        present, before_us = set(membership.containers), t_us - FORGET_US
        self.streams = {
            key: s for key, s in self.streams.items() if s.container in present and s.regularity.last_us >= before_us
        }

    def _silent(self, membership: Membership, keys: list[Key]) -> tuple[SilentStream, ...]:
        if not keys:
            return ()
        hosts, found = dict(zip(membership.containers, membership.hosts, strict=True)), []
        for topic, producer in sorted(keys):
            stream = self.streams[topic, producer]
            host, regularity = hosts.get(stream.container), stream.regularity
            if host is not None:
                found.append(
                    SilentStream(
                        topic=topic,
                        producer=producer,
                        container=stream.container,
                        host=host,
                        last_us=regularity.last_us,
                        usual_us=regularity.longest_us,
                    )
                )
        return tuple(found)

    def _unread(self) -> tuple[UnreadRnic, ...]:
        found = [(name, blank.since_us) for name, blank in self.blank.items() if blank.samples >= UNREAD]
        return tuple(UnreadRnic(endpoint=name, since_us=since_us) for name, since_us in sorted(found))


def _was_read(columns: RnicColumns) -> bool:
    """Whether there is a sample of an RNIC that could be read."""
    samples = len(columns.t_us)
    return columns.tx_bytes.count(None) < samples or columns.rx_bytes.count(None) < samples


def tell_gaps(log: ReportLog, now: Told, scope: tuple[str, str, str | None], t_us: int) -> Sequence[Emission]:
    """The message of a change; ``scope``: fabric, job, tenant. It is numbered by its second: there is one at most."""
    fabric, job, tenant = scope
    log.told = now
    message = ReportingGaps(
        v=1,
        t_us=t_us,
        producer=derived_producer(STAGE, job, t_us // SECOND_US),
        clock=DERIVED_CLOCK,
        fabric=fabric,
        job=job,
        tenant=tenant,
        regular=dict(now[0]),
        silent=now[1],
        unread=now[2],
    )
    return (Emission("reporting-gaps", fabric, message),)
