"""What became of each train of probes? Bookkeeping by number; pure.

A probe that was sent is either answered in time, answered *late* (after ``timeout_s``; it counts as answered), or
*lost*: no answer within ``give_up_s``. An answer after that can't change what was told; it is counted
(``too_late``). A train is told when all its probes are decided, so a healthy one at once and one with a loss after
``give_up_s``.

What proves nothing is taken back, as if it had not been sent: its reply may have been dropped on this host
(``local``), or nobody listens at the peer while its host answers (``absent``). So a train's outcome is

    reply             an answer to at least one probe
    lost              probes were sent and none was answered
    target_not_ready  none was sent, because the peer was not ready, or has no agent that listens
    not_sent          none was sent for a reason of our own: capped, no device, no route, stopped

Instants: microseconds, ``t_us`` since the epoch for what is told, ``mono_us`` of the clock that never steps for
waiting. Cost: 1 us per probe and event. Memory: 200 bytes per outstanding probe, at most ``MOST`` of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum

from msgspec import Struct

from collectors.observing import Now
from collectors.probing.timing import Times, coarsest
from schemas.instants import SECOND_US
from schemas.probing import Outcome, ProbeKind, ProbeResult

MOST = 20_000
SAMPLES = 32
"""RTTs that a result carries at most."""


class Train(Struct, kw_only=True):
    """Probes to one destination in a row; ``planned`` of them are wanted."""

    src: str
    dst: str
    kind: ProbeKind
    planned: int
    plan_version: int
    job: str = ""
    tenant: str | None = None
    sport: int | None = None
    path: tuple[str, ...] | None = None
    sent: int = 0
    lost: int = 0
    late: int = 0
    unsent: int = 0
    absent: int = 0
    times: list[Times] = []
    reason: str | None = None
    last_us: int = 0

    @property
    def is_decided(self) -> bool:
        """Whether nothing is left to wait for."""
        return len(self.times) + self.lost + self.unsent + self.absent >= self.planned


class Outstanding(Struct):
    """One probe on its way."""

    train: Train
    sent_us: int
    doubtful: bool = False
    asked: bool = False


class Tally(Struct):
    """Counts since the start; ``doubtful`` ones are among the unsent."""

    sent: int = 0
    answered: int = 0
    late: int = 0
    too_late: int = 0
    lost: int = 0
    unsent: int = 0
    absent: int = 0
    doubtful: int = 0


class Ledger:
    """All trains of an agent."""

    def __init__(self, timeout_s: float, give_up_s: float) -> None:
        if not 0.0 < timeout_s <= give_up_s:
            raise ValueError(f"timeout_s {timeout_s} must be above 0 and at most give_up_s {give_up_s}")
        self.tally = Tally()
        self._timeout_us = timeout_s * SECOND_US
        self._give_up_us = round(give_up_s * SECOND_US)
        self._outstanding: dict[int, Outstanding] = {}
        self._decided: list[Train] = []

    def __len__(self) -> int:
        return len(self._outstanding)

    @property
    def is_full(self) -> bool:
        """Whether so many are on their way that no more may be sent."""
        return len(self._outstanding) >= MOST

    def note_sent(self, train: Train, seq: int, now: Now) -> None:
        """A probe left. Numbers grow."""
        self.tally.sent += 1
        train.sent += 1
        train.last_us = now.t_us
        self._outstanding[seq] = Outstanding(train, now.mono_us)

    def note_unsent(self, train: Train, reason: str, now: Now, probes: int = 1) -> None:
        """Probes of a train did not leave, for a reason of our own."""
        self.tally.unsent += probes
        train.unsent += probes
        self._settle(train, reason, now)

    def note_not_ready(self, train: Train, reason: str, now: Now) -> None:
        """The agent held the whole train back."""
        train.absent = train.planned
        self._settle(train, reason, now)

    def note_answer(self, seq: int, times: Times, now: Now) -> Train | None:
        """A reply came; the train that it belongs to, None if that was told already."""
        probe = self._outstanding.pop(seq, None)
        if probe is None:
            self.tally.too_late += 1
            return None
        self.tally.answered += 1
        if times.whole_us > self._timeout_us:
            self.tally.late += 1
            probe.train.late += 1
        probe.train.times.append(times)
        self._settle(probe.train, None, now)
        return probe.train

    def note_failure(self, seq: int, because: str, reason: str, now: Now) -> Train | None:
        """It is known that no reply will come, and why; see ``transport.Failed``."""
        probe = self._outstanding.pop(seq, None)
        if probe is None:
            return None
        if because == "network":
            self._lose(probe, reason, now)
        else:
            self._take_back(probe, because == "absent", reason, now)
        return probe.train

    def doubt(self, kind: ProbeKind, src: str) -> None:
        """Replies to an endpoint were dropped on this host: what is on its way now proves nothing if it stays away."""
        for probe in self._outstanding.values():
            if probe.train.kind == kind and probe.train.src == src:
                probe.doubtful = True

    def withdraw(self, kind: ProbeKind, src: str, reason: str, now: Now) -> None:
        """A transport was opened anew: replies to what was on its way can't come any more."""
        self._withdraw(
            [s for s, p in self._outstanding.items() if (p.train.kind, p.train.src) == (kind, src)], reason, now
        )

    def withdraw_to(self, dst: str, reason: str, now: Now) -> None:
        """A peer's agent began anew: what was on its way to the old one proves nothing."""
        self._withdraw([s for s, p in self._outstanding.items() if p.train.dst == dst], reason, now, is_absent=True)

    def _withdraw(self, numbers: list[int], reason: str, now: Now, is_absent: bool = False) -> None:
        for seq in numbers:
            self._take_back(self._outstanding.pop(seq), is_absent, reason, now)

    def newly_late(self, now: Now) -> set[str]:
        """Destinations with a probe that is overdue since this was asked last."""
        found = set()
        for probe in self._outstanding.values():
            if now.mono_us - probe.sent_us < self._timeout_us:
                break
            if not probe.asked:
                probe.asked = True
                found.add(probe.train.dst)
        return found

    def expire(self, now: Now) -> None:
        """Gives up what is overdue. Call it after the transports were asked: time alone proves no loss."""
        while self._outstanding:
            seq, oldest = next(iter(self._outstanding.items()))
            if now.mono_us - oldest.sent_us < self._give_up_us:
                return
            del self._outstanding[seq]
            if oldest.doubtful:
                self.tally.doubtful += 1
                self._take_back(oldest, False, "packets were dropped on this host before the agent looked", now)
            else:
                self._lose(oldest, None, now)

    def next_us(self) -> int | None:
        """On the monotonic clock: when the oldest is to be given up; None = nothing is on its way."""
        oldest = next(iter(self._outstanding.values()), None)
        return None if oldest is None else oldest.sent_us + self._give_up_us

    def _lose(self, probe: Outstanding, reason: str | None, now: Now) -> None:
        self.tally.lost += 1
        probe.train.lost += 1
        self._settle(probe.train, reason, now)

    def _take_back(self, probe: Outstanding, is_absent: bool, reason: str, now: Now) -> None:
        probe.train.sent -= 1
        if is_absent:
            self.tally.absent += 1
            probe.train.absent += 1
        else:
            self.tally.unsent += 1
            probe.train.unsent += 1
        self._settle(probe.train, reason, now)

    def _settle(self, train: Train, reason: str | None, now: Now) -> None:
        train.reason = train.reason or reason
        if train.is_decided:
            train.last_us = now.t_us
            self._decided.append(train)

    def take_decided(self) -> Iterator[tuple[Train, ProbeResult]]:
        """Trains that were decided since it was asked last, oldest first."""
        decided, self._decided = self._decided, []
        for train in decided:
            yield train, tell(train)


def outcome_of(train: Train) -> Outcome:
    """The one word for a decided train."""
    if train.sent == 0:
        return "target_not_ready" if train.absent > 0 else "not_sent"
    return "lost" if train.lost == train.sent else "reply"


def tell(train: Train) -> ProbeResult:
    """A decided train as a fact. Delays are means over its replies, given when all of them have them."""
    prober = [t.prober_delay_us for t in train.times if t.prober_delay_us is not None]
    responder = [t.responder_delay_us for t in train.times if t.responder_delay_us is not None]
    answered = len(train.times)
    return ProbeResult(
        dst=train.dst,
        t_us=train.last_us,
        kind=train.kind,
        outcome=outcome_of(train),
        sent=train.sent,
        lost=train.lost,
        rtt_us=tuple(t.rtt_us for t in train.times[:SAMPLES]),
        prober_delay_us=round(fsum(prober) / answered, 2) if answered and len(prober) == answered else None,
        responder_delay_us=round(fsum(responder) / answered, 2) if answered and len(responder) == answered else None,
        sport=train.sport,
        path=train.path,
        late=train.late if train.sent else None,
        timestamps=coarsest(t.by for t in train.times),
        reason=train.reason,
    )
