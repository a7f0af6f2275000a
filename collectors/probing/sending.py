"""Trains on their way: begins them, sends what is due within the limits, and books what comes back.

The order matters: what came in is booked before anything is given up, so a stopped and resumed agent loses no
replies that wait in its sockets. Whatever the plan says, a packet leaves only with a token of its endpoint and one
of the agent.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from msgspec import Struct

from collectors.observing import Now
from collectors.probing.lane import Lane
from collectors.probing.pacing import TokenBucket
from collectors.probing.peers import Peers
from collectors.probing.schedule import Schedule, Start
from collectors.probing.settings import ProbingSettings
from collectors.probing.tracing import Flow, Trace, Tracer
from collectors.probing.trains import Ledger, Train
from collectors.probing.transport import (
    Answered,
    Completion,
    Expired,
    Failed,
    Located,
    Overflowed,
    Peer,
    Probe,
    UnsentError,
)
from schemas.instants import micros
from schemas.probing import ProbeKind

ROCE_PORT = 4791
CAPPED = "capped: this agent may not send more"
BURST_S = 0.1
HELLO_SHARE_S = 0.05
"""Each quarter of a second at most what may be sent in so much time: a fifth of the rate goes to greetings at most."""


class Packet(Struct, frozen=True):
    """One packet of a train that is due at an instant."""

    train: Train
    peer: Peer
    sport: int


class Sender:
    """Everything that is under way, of all endpoints."""

    def __init__(self, settings: ProbingSettings, peers: Peers) -> None:
        self.lanes: dict[str, Lane] = {}
        self.ledger = Ledger(settings.timeout_s, settings.give_up_s)
        self.tracer = Tracer(settings.trace_s)
        self.capped = 0
        self._peers = peers
        self._bucket = TokenBucket(settings.max_pps_total, max(1.0, settings.max_pps_total * BURST_S))
        self._give_up_us = micros(settings.give_up_s)
        self._most_hellos = max(1, round(settings.max_pps * HELLO_SHARE_S))
        self._heap: list[tuple[int, int, Packet]] = []
        self._pushed = 0
        self._seq = 0
        self._hellos: dict[int, str] = {}

    def limit(self, settings: ProbingSettings) -> None:
        """From now on other limits."""
        self._bucket.limit(settings.max_pps_total, max(1.0, settings.max_pps_total * BURST_S))
        self._most_hellos = max(1, round(settings.max_pps * HELLO_SHARE_S))
        self.tracer.limit(settings.trace_s)
        for lane in self.lanes.values():
            lane.limit(settings)

    def begin(self, start: Start, schedule: Schedule, now: Now) -> None:
        """A train of the plan is due."""
        probe, lane = start.probe, self.lanes[start.probe.src]
        if lane.usual != "tcp":
            self._peers.want(probe.src, probe.dst)
        why = self._peers.why_not(probe.dst, needs_hello=lane.usual != "tcp")
        train = Train(
            src=probe.src,
            dst=probe.dst,
            kind=lane.usual,
            planned=schedule.packets,
            plan_version=schedule.version,
            job=schedule.job,
            tenant=schedule.tenant,
            sport=start.sport,
        )
        if why is not None:
            self.ledger.note_not_ready(train, why, now)
        elif start.held_back is not None:
            self._hold(train, start.held_back, now)
        else:
            self._queue(train, start, lane, now)

    def _queue(self, train: Train, start: Start, lane: Lane, now: Now) -> None:
        peer = self._peers.peer(train.dst)
        train.kind, why, is_peers_doing = lane.choose(peer)
        if why is not None and is_peers_doing:
            self.ledger.note_not_ready(train, why, now)
        elif why is not None:
            self._hold(train, why, now)
        else:
            for due_us in start.packets_us:
                self._pushed += 1
                heapq.heappush(self._heap, (due_us, self._pushed, Packet(train, peer, start.sport)))

    def _hold(self, train: Train, why: str, now: Now) -> None:
        self.ledger.note_unsent(train, why, now, train.planned)

    def send_due(self, now: Now) -> None:
        """Sends the packets whose time has come."""
        while self._heap and self._heap[0][0] <= now.mono_us:
            packet = heapq.heappop(self._heap)[2]
            why = self._why_unsent(packet, now)
            if why is not None:
                self.ledger.note_unsent(packet.train, why, now)

    def _why_unsent(self, packet: Packet, now: Now) -> str | None:
        """Sends one packet; else says why not."""
        train, lane = packet.train, self.lanes.get(packet.train.src)
        if lane is None:
            return f"{train.src} has left this host"
        if train.kind not in lane.open:
            return lane.why.get(train.kind, f"{train.kind} is not open")
        if self.ledger.is_full or not self._take_token(lane, now):
            self.capped += 1
            return CAPPED
        self._seq += 1
        try:
            sport = lane.transports[train.kind].send(Probe(seq=self._seq, to=packet.peer, sport=packet.sport))
        except UnsentError as error:
            lane.bucket.put_back()
            self._bucket.put_back()
            return str(error)
        train.sport = sport
        self.ledger.note_sent(train, self._seq, now)
        if sport is not None and train.kind != "tcp":
            self._follow_path(train, (train.src, train.dst, sport), packet.peer, now)
        return None

    def _take_token(self, lane: Lane, now: Now) -> bool:
        if not lane.bucket.take(now.mono_us):
            return False
        if self._bucket.take(now.mono_us):
            return True
        lane.bucket.put_back()
        return False

    def _follow_path(self, train: Train, flow: Flow, peer: Peer, now: Now) -> None:
        """The train's path as it is known, and a trace when it is time for one."""
        train.path = self.tracer.path(flow)
        listed = self._peers.endpoint(train.dst)
        if listed is None:
            return
        nodes = self.lanes[train.src].place.node, f"{listed.host}/{listed.rnic}"
        if self.tracer.wants(flow, nodes, now.mono_us):
            about = train.job, train.tenant, train.plan_version
            self._trace_on(Trace(flow, peer, train.kind, nodes, about), now)

    def _trace_on(self, trace: Trace, now: Now) -> None:
        """The next hop of a trace, unless it is done."""
        lane = self.lanes.get(trace.flow[0])
        if lane is None or self.tracer.is_done(trace, now.t_us) or not self._take_token(lane, now):
            return
        self._seq += 1
        dport = ROCE_PORT if trace.kind == "rdma" else None
        probe = Probe(seq=self._seq, to=trace.peer, sport=trace.flow[2], ttl=trace.ttl, dport=dport)
        try:
            sport = lane.udp.send(probe)
        except UnsentError:
            return
        if sport == trace.flow[2]:  # else the port is not to be had, and this packet may take another way
            self.tracer.note_sent(self._seq, trace, now.mono_us)

    def greet(self, now: Now) -> None:
        """Says hello to peers that have not registered, or are late to answer."""
        for dst in self.ledger.newly_late(now):
            self._peers.doubt(dst)
        for src, peer in self._peers.due_hellos(now.mono_us, self._most_hellos):
            lane = self.lanes.get(src)
            if lane is None or "udp" not in lane.open or not self._take_token(lane, now):
                continue
            self._seq += 1
            try:
                lane.udp.hello(self._seq, peer)
            except UnsentError:
                continue
            self._hellos[self._seq] = peer.endpoint
            while len(self._hellos) > 10_000:
                del self._hellos[next(iter(self._hellos))]

    def take(self, lane: Lane, kind: ProbeKind, completions: Iterable[Completion], now: Now) -> None:
        """Books what a transport says."""
        for each in completions:
            match each:
                case Answered():
                    if not self.tracer.note_end(each.seq, now.t_us):
                        self.ledger.note_answer(each.seq, each.times, now)
                case Expired():
                    trace = self.tracer.note_hop(each.seq, each.hop)
                    if trace is not None:
                        self._trace_on(trace, now)
                case Failed():
                    self._take_failure(each, now)
                case Overflowed():
                    self.ledger.doubt(kind, lane.place.endpoint)
                case Located():
                    if self._peers.note_located(each, now.mono_us):
                        self.ledger.withdraw_to(each.endpoint, "the peer's agent began anew", now)

    def _take_failure(self, failed: Failed, now: Now) -> None:
        if self.tracer.note_end(failed.seq, now.t_us):
            return
        train = self.ledger.note_failure(failed.seq, failed.because, failed.reason, now)
        dst = train.dst if train is not None else self._hellos.get(failed.seq)
        if failed.because == "absent" and dst is not None:
            self._peers.note_absent(dst)

    def expire(self, now: Now) -> None:
        """Gives up what is overdue; call it after everything that came in was booked."""
        self.ledger.expire(now)
        self.tracer.expire(now.mono_us - self._give_up_us, now.t_us)

    def next_us(self) -> int | None:
        """On the monotonic clock: when there is something to do; None: nothing is under way."""
        due = [self._heap[0][0]] if self._heap else []
        give_up_us = self.ledger.next_us()
        return min(due + ([give_up_us] if give_up_us is not None else []), default=None)
