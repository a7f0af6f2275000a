"""Whose clock lies? Admissions, messages outside their time, and regular streams of a host that jump together.
 A clock may say so itself (``Clock.offset_us``, ``error_us``; ``localization.evidence``). If it does not:

- *strays*: all streams of a host come too late to count, or before their time, which only a clock that is ahead can
  do. One stream that is late is a collector's gap, not a clock's. If the streams jump as well, that says since when.
- *jumps*: a regular stream whose numbers follow on each other without a hole comes J earlier or later than its beat
  says. A lost message leaves a hole in the numbers; an agent that halts delays its own streams; only a clock moves
  the streams of several agents, or topics, of one host by the same J at once. (A halted machine looks like J > 0,
  and its clock is no better for it.) It lies until they have jumped back, or for ``LIES_US`` if they never do.

Seconds; cost: O(1) a message. Memory: 200 bytes a stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from schemas.envelope import Message
from schemas.folding import Stray
from schemas.instants import SECOND_US
from schemas.telemetry import AgentHealth, FlowTables

LEARNED = 4
BURST_US = SECOND_US // 2
LEAST_JUMP_US = 400_000
WOBBLES = 4.0
ALIKE_US, ALIKE = 300_000, 0.2
TOGETHER_US = 30 * SECOND_US
KEEP_US = 60 * SECOND_US
LIES_US = 900 * SECOND_US
STRAYED = 2
BEHIND_US = 6 * SECOND_US
"""A message that comes before its time does so while a second is handed out that is as long over as late data is waited
for, and some."""

Key = tuple[str, str]
"""(topic, producer id)"""


@dataclass(slots=True)
class Beat:
    """A stream's usual gap between sendings, and how far it strayed from it so far, us.

    ``seq``: its newest number; ``t_us``: when its newest sending began; ``several``: a sending is several messages.
    """

    boot: str
    seq: int
    t_us: int
    gaps: int = 0
    mean_us: float = 0.0
    wobble_us: float = 0.0
    several: bool = False

    def hear(self, boot: str, seq: int, t_us: int) -> int | None:
        """A message came; by how much the beat has jumped with it, None = it has not."""
        if boot != self.boot:
            self.boot, self.seq, self.t_us, self.gaps = boot, seq, t_us, 0
            return None
        gap_us, step = t_us - self.t_us, seq - self.seq
        if step < 0:
            return round(-gap_us - self.mean_us) if self.gaps >= LEARNED and not self.several else None
        self.seq = seq
        if gap_us < BURST_US and (self.several or self.gaps < LEARNED):
            self.several = True
            return None
        self.t_us = t_us
        return self._compare(gap_us, step == 1)

    def _compare(self, gap_us: int, whole: bool) -> int | None:
        off_us = gap_us - self.mean_us
        if self.gaps >= LEARNED and abs(off_us) > max(LEAST_JUMP_US, WOBBLES * self.wobble_us):
            return round(off_us) if whole else None
        self.gaps += 1
        self.mean_us += off_us / min(self.gaps, 20)
        if self.gaps > 2:
            self.wobble_us = max(self.wobble_us, abs(off_us))
        return None


@dataclass(frozen=True, slots=True)
class BadClock:
    """A host whose clock lies: since when by the others' clocks, by about how much (us), and why we think so."""

    host: str
    since_us: int
    off_us: int
    text: str


@dataclass(slots=True)
class ClockWatch:
    """Beats by stream, strays by stream (first, last, how often, how far), and the host of each stream.

    ``astray``: streams that have jumped and not jumped back: when last, and how far they are off altogether, us.
    """

    beats: dict[Key, Beat] = field(default_factory=dict)
    host_of: dict[Key, str] = field(default_factory=dict)
    astray: dict[Key, tuple[int, int]] = field(default_factory=dict)
    strayed: dict[Key, tuple[int, int, int, int]] = field(default_factory=dict)
    heard_us: dict[Key, int] = field(default_factory=dict)

    def hear(self, topic: str, value: Message) -> None:
        """A message came in its time."""
        key, producer = (topic, value.producer.id), value.producer
        if isinstance(value, AgentHealth | FlowTables):
            self.host_of[key] = value.host
        self.heard_us[key] = value.t_us
        beat = self.beats.get(key)
        if beat is None:
            self.beats[key] = Beat(producer.boot, producer.seq, value.t_us)
            return
        if producer.boot != beat.boot:
            self.astray.pop(key, None)
        jump_us = beat.hear(producer.boot, producer.seq, value.t_us)
        if jump_us is not None and key in self.host_of:
            self._jump(key, value.t_us, jump_us)

    def _jump(self, key: Key, t_us: int, jump_us: int) -> None:
        off_us = self.astray.get(key, (0, 0))[1] + jump_us
        if abs(off_us) > LEAST_JUMP_US:
            self.astray[key] = t_us, off_us
        else:
            self.astray.pop(key, None)

    def off_us(self, host: str) -> int | None:
        """How far a host's clock has jumped, by the stream that did so last; None: none of its streams has."""
        found = [seen for key, seen in self.astray.items() if self.host_of[key] == host]
        return max(found)[1] if found else None

    def stray(self, strays: Iterable[Stray], t_us: int) -> None:
        """Messages came outside their time."""
        for topic, producer, lead_us in strays:
            key = topic, producer
            first_us, _, times, _ = self.strayed.get(key, (t_us, t_us, 0, 0))
            self.strayed[key] = first_us, t_us, times + 1, lead_us

    def trim(self, t_us: int) -> None:
        """Keeps memory bounded."""
        self.astray = {key: seen for key, seen in self.astray.items() if seen[0] > t_us - LIES_US}
        self.strayed = {key: seen for key, seen in self.strayed.items() if seen[1] > t_us - KEEP_US}

    def forget(self, before_us: int) -> None:
        """Drops streams that were not heard since, but those whose clock may lie."""
        off = self.astray.keys() | self.strayed.keys()
        for key in [key for key, heard_us in self.heard_us.items() if heard_us < before_us and key not in off]:
            for known in (self.beats, self.host_of, self.heard_us):
                known.pop(key, None)

    def find(self, t_us: int) -> list[BadClock]:
        """Hosts whose clock lies, by name."""
        found = {bad.host: bad for bad in self._stray_hosts(t_us) if bad.since_us <= t_us}
        found.update({bad.host: bad for bad in self._jumped(t_us)})
        return [found[host] for host in sorted(found)]

    def _stray_hosts(self, t_us: int) -> list[BadClock]:
        by_host: dict[str, list[Key]] = {}
        for key in sorted(self.strayed):
            if key in self.host_of and t_us - self.strayed[key][1] < TOGETHER_US:
                by_host.setdefault(self.host_of[key], []).append(key)
        return [bad for host, keys in by_host.items() if (bad := self._of_strays(host, keys)) is not None]

    def _of_strays(self, host: str, keys: list[Key]) -> BadClock | None:
        leads = [self.strayed[key][3] for key in keys]
        times = sum(self.strayed[key][2] for key in keys)
        same = all(lead > 0 for lead in leads) or all(lead < 0 for lead in leads)
        since_us = min(self.strayed[key][0] for key in keys)
        in_time = [key for key in self.host_of if self.host_of[key] == host and self._is_fine(key, since_us)]
        if len(keys) < 2 or times <= STRAYED or not same or (leads[0] < 0 and in_time):
            return None
        off_us = sorted(leads)[len(leads) // 2]
        how = "before their time" if off_us > 0 else "too late to count"
        names = ", ".join(producer for _, producer in keys[:4])
        since_us += BEHIND_US if off_us > 0 else 0
        text = f"all messages of {host} come {how}, by {abs(off_us) / 1e6:.0f} s: {names}"
        return BadClock(host, since_us, off_us, text)

    def _is_fine(self, key: Key, since_us: int) -> bool:
        """Whether a stream came in its time although others of its host began to stray."""
        return key not in self.strayed and self.heard_us.get(key, 0) > since_us

    def _jumped(self, t_us: int) -> list[BadClock]:
        found: dict[str, BadClock] = {}
        for one in sorted(self.astray, key=lambda key: (self.astray[key], key)):
            host, (one_us, off_us) = self.host_of[one], self.astray[one]
            bound_us = max(ALIKE_US, round(ALIKE * abs(off_us)))
            alike = {
                key
                for key, (at_us, other_us) in self.astray.items()
                if self.host_of[key] == host
                and abs(at_us - one_us) < TOGETHER_US
                and abs(other_us - off_us) <= bound_us
            }
            since_us = one_us - off_us
            if len(alike) < 2 or host in found or since_us > t_us:
                continue
            names = ", ".join(producer for _, producer in sorted(alike)[:4])
            text = f"streams of {host} jumped together by {off_us / 1e6:+.1f} s without a message missing: {names}"
            found[host] = BadClock(host, since_us, off_us, text)
        return list(found.values())
