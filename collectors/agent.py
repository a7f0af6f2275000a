"""How do the parts become one agent? Asks each in its rhythm, publishes what they say, and reports on itself.

Everything happens in the loop's thread but for parts in the slow lane. In this order: sockets, then timers (``loop``).
When the agent has to save, parts that know how are told (``Saver``), the others are asked less often; the health
message keeps its rhythm. At the end: last facts of the parts, a health message that says ``stopping``, and what Kafka
still takes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from queue import Full

from msgspec.structs import replace

from collectors.agent_settings import AgentSettings
from collectors.following import Follower
from collectors.health import Health, HealthPlan
from collectors.loop import Loop
from collectors.observing import (
    AnomalyReader,
    Closing,
    Collector,
    FabricReader,
    LimitsReader,
    Listener,
    MapReader,
    Now,
    Observed,
    PlanFollower,
    RequestReader,
    Saver,
    SelfReport,
    SelfReporting,
)
from collectors.publishing import Publisher
from collectors.residents import Residents
from collectors.slow_lane import SlowLane
from collectors.stamping import Stamper
from collectors.supervision import Supervised
from schemas.codec import decode
from schemas.diagnosis import Anomaly
from schemas.envelope import Value
from schemas.maps import EndpointMap, FabricMap
from schemas.probing import ProbePlan
from schemas.requests import EvidenceRequest

log = logging.getLogger(__name__)

LAG_CHECK_S = 0.25
SAVE_S = 1.0
FOLLOW_S = 1.0

Part = Collector | Listener


class Agent:
    """The agent on ``loop``; add parts, then ``run``."""

    def __init__(
        self, plan: HealthPlan, loop: Loop, stamper: Stamper, publisher: Publisher, residents: Residents
    ) -> None:
        self.loop, self.stamper, self.publisher, self.residents = loop, stamper, publisher, residents
        self.lane = SlowLane(loop)
        self.health = Health(plan, loop.take_worst_lag_us, self._dropped, self._reports)
        self._parts: list[object] = []
        self._misfits = 0
        self._said: set[str] = set()
        self._factor = 1

    def add(self, part: Part, slow: bool = False, companions: Sequence[object] = ()) -> None:
        """Makes a part the agent's, and with it those that are told things for it.

        ``slow``: it may block, and is asked in the slow lane.
        """
        self._parts += [part, *companions]
        watched = Supervised(part.name, self.deliver)
        if isinstance(part, Collector):
            self._ask_at_intervals(part, watched, slow)
        if isinstance(part, Listener):
            self._listen(part, watched)

    def follow(self, follower: Follower) -> None:
        """Reads maps and plans from Kafka."""
        watched = Supervised("following", self.deliver)
        self.loop.every(lambda: FOLLOW_S, lambda now: watched.ask(lambda _now: self._read_on(follower), now))

    def run(self, stop_s: float) -> int:
        """Until the loop is stopped; returns how many messages were left in the spool."""
        watched = Supervised(self.health.name, self.deliver)
        self.loop.every(lambda: self.health.period_s, lambda now: self._beat(watched, now))
        self.loop.every(lambda: LAG_CHECK_S, self._check_lag)
        self.loop.every(self.publisher.period_s, self.publisher.step)
        self.loop.every(lambda: SAVE_S, lambda _now: self.publisher.save())
        self.loop.run()
        return self._end(stop_s)

    def deliver(self, observed: Observed) -> None:
        """Stamps a fact and publishes it; one that does not fit its topic is counted, and others go on."""
        try:
            stamped = self.stamper.stamp(observed)
        except (ValueError, KeyError) as error:
            self._misfits += 1
            if observed.stream not in self._said:
                self._said.add(observed.stream)
                log.error("%s: a fact is dropped, and others like it: %s", observed.stream, error)
            return
        self.publisher.publish(stamped, self.loop.clocks())
        if observed.topic == "endpoint-map":
            value = decode(stamped.topic, stamped.key, stamped.value, observed.t_us)
            if isinstance(value, EndpointMap):
                self.take_map(value)

    def take_map(self, endpoint_map: EndpointMap) -> None:
        """Tells the parts of a map that is new for this host."""
        if self.residents.take_map(endpoint_map):
            for part in self._parts:
                if isinstance(part, MapReader):
                    part.take_map(endpoint_map)

    def take(self, value: Value) -> None:
        """Tells the parts what was read from Kafka."""
        if isinstance(value, EndpointMap):
            self.take_map(value)
        if isinstance(value, EvidenceRequest):
            self.take_request(value)
        for part in self._parts:
            if isinstance(value, ProbePlan) and isinstance(part, PlanFollower):
                part.take_plan(value)
            elif isinstance(value, FabricMap) and isinstance(part, FabricReader):
                part.take_fabric(value)
            elif isinstance(value, Anomaly) and isinstance(part, AnomalyReader):
                part.take_anomaly(value)

    def take_request(self, request: EvidenceRequest) -> None:
        """Tells the parts what is asked of this host, unless an answer would come too late."""
        if request.host != self.residents.host or self.loop.clocks().t_us > request.expires_us:
            return
        log.info("%s is asked for %s: %s", request.host, request.kind, request.reason)
        for part in self._parts:
            if isinstance(part, RequestReader):
                part.take_request(request)

    def take_settings(self, settings: AgentSettings) -> None:
        """Goes on with other limits."""
        who = settings.agent
        self.health.plan = replace(self.health.plan, heartbeat_s=who.heartbeat_s, budget_percent=who.cpu_percent)
        for part in self._parts:
            if isinstance(part, LimitsReader):
                part.take_limits(settings.probing)

    def wants(self, reader: type) -> bool:
        """Whether any part is a reader of that kind."""
        return any(isinstance(part, reader) for part in self._parts)

    def _read_on(self, follower: Follower) -> Iterable[Observed]:
        """Takes what is new on Kafka; when a job has appeared, its plan may have passed by unread."""
        before = set(self.residents.jobs())
        for value in follower.read():
            self.take(value)
        if set(self.residents.jobs()) - before:
            follower.read_plans_again()
        return ()

    def _ask_at_intervals(self, part: Collector, watched: Supervised, slow: bool) -> None:
        stretches = not isinstance(part, Saver)

        def period_s() -> float:
            return part.period_s * (self._factor if stretches else 1)

        if slow:
            self.loop.every(period_s, lambda now: self._ask_in_lane(part, watched, now))
        else:
            self.loop.every(period_s, lambda now: watched.ask(part.collect, now))

    def _ask_in_lane(self, part: Collector, watched: Supervised, now: Now) -> None:
        """Asks in the slow lane, unless the part is still at it."""
        if watched.is_busy or not watched.may_ask(now):
            return

        def read() -> list[Observed]:
            return list(part.collect(self.loop.clocks()))

        def done(facts: list[Observed]) -> None:
            watched.is_busy = False
            watched.ask(lambda _now: facts, self.loop.clocks())

        def failed(error: Exception) -> None:
            watched.is_busy = False
            watched.failed(error, self.loop.clocks())

        watched.is_busy = True
        try:
            self.lane.submit(read, done, failed)
        except Full:
            failed(OSError("too much is waiting in the slow lane"))

    def _listen(self, part: Listener, watched: Supervised) -> None:
        try:
            fd = part.fileno()
        except Exception as error:
            watched.failed(error, self.loop.clocks())
            self.loop.at(watched.again_us, lambda _now: self._listen(part, watched))
        else:
            self.loop.watch(fd, lambda now: self._hear(part, watched, fd, now))

    def _hear(self, part: Listener, watched: Supervised, fd: int, now: Now) -> None:
        """A source that fails is not looked at until it may be asked again; by then it may have another descriptor."""
        watched.ask(part.receive, now)
        if watched.is_down:
            self.loop.unwatch(fd)
            self.loop.at(watched.again_us, lambda _now: self._listen(part, watched))

    def _beat(self, watched: Supervised, now: Now) -> None:
        watched.ask(self.health.collect, now)
        if self.health.ladder.factor != self._factor:
            self._factor = self.health.ladder.factor
            log.warning("intervals are %d times as long as set: %s", self._factor, "processor budget")
            for part in self._parts:
                if isinstance(part, Saver):
                    part.save(self._factor)

    def _check_lag(self, now: Now) -> None:
        if self.health.check(now):
            log.warning("starved: timers were up to %.1f s late", self.health.starved_us / 1e6)
            self.deliver(self.health.observe(now))

    def _reports(self) -> list[SelfReport]:
        own = SelfReport(covers=tuple(each.endpoint for each in self.residents.placements()))
        return [own, *(part.report() for part in self._parts if isinstance(part, SelfReporting))]

    def _dropped(self) -> int:
        return self.publisher.dropped + self._misfits

    def _end(self, stop_s: float) -> int:
        now = self.loop.clocks()
        for part in self._parts:
            if isinstance(part, Closing):
                Supervised(type(part).__name__, self.deliver).ask(part.close, now)
        self.deliver(self.health.observe(self.loop.clocks(), is_stopping=True))
        return self.publisher.close(stop_s)
