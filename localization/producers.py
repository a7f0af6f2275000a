"""Who has fallen silent? Regular streams of the monitor itself, and the agents behind them.
 A stream (topic, producer id) is regular once it has sent ``LEARNED`` times with gaps that are alike (the longest
at most twice the mean); messages less than ``BURST_US`` apart are one sending. It is silent when nothing came for
three of its longest gaps. What was never seen, or never regular, proves nothing. ``producer.id`` =
``agent:<agent>/<stream>``. Cost: O(streams) a second. Memory: 100 bytes a stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.envelope import Message
from schemas.instants import SECOND_US
from schemas.telemetry import AgentHealth, SwitchQueues

LEARNED = 4
BURST_US = SECOND_US // 2
LEAST_SILENCE_US = 5 * SECOND_US
GAPS = 3
FORGET_US = 3600 * SECOND_US
STARVED_LAG_US = 200_000.0
"""Healthy agents send within some tens of milliseconds of their plan."""


def is_starved(health: AgentHealth) -> bool:
    """Whether an agent lacks the CPU to be believed: it says so, or it holds back and still sends far too late."""
    if health.state == "starved":
        return True
    late = health.send_lag_us is not None and health.send_lag_us >= STARVED_LAG_US
    return health.state == "throttled" and late


@dataclass(slots=True)
class Stream:
    """When a stream sent, and how regularly; ``subject``: the switch that it reports on."""

    agent: str
    last_us: int
    first_us: int
    subject: str = ""
    sendings: int = 0
    longest_us: int = 0

    def hear(self, t_us: int) -> None:
        """A message came."""
        gap = t_us - self.last_us
        self.last_us = max(self.last_us, t_us)
        if gap >= BURST_US:
            self.sendings += 1
            self.longest_us = max(self.longest_us, gap) if not self.is_silent(t_us, gap) else self.longest_us

    def is_silent(self, t_us: int, gap_us: int | None = None) -> bool:
        """Whether a regular stream has not been heard for too long."""
        gap = t_us - self.last_us if gap_us is None else gap_us
        return self._is_regular() and gap > max(GAPS * self.longest_us, LEAST_SILENCE_US)

    def _is_regular(self) -> bool:
        mean_us = (self.last_us - self.first_us) / max(self.sendings, 1)
        return self.sendings >= LEARNED and self.longest_us <= 2.0 * mean_us


@dataclass(slots=True)
class Producers:
    """All streams that localization reads itself, each agent's newest health, and the last that said starved."""

    streams: dict[tuple[str, str], Stream] = field(default_factory=dict)
    health: dict[str, AgentHealth] = field(default_factory=dict)
    starved: dict[str, AgentHealth] = field(default_factory=dict)
    agent_of: dict[str, str] = field(default_factory=dict)

    def hear(self, topic: str, value: Message) -> None:
        """A message came."""
        key = topic, value.producer.id
        if key not in self.streams:
            agent = value.producer.id.removeprefix("agent:").partition("/")[0]
            subject = value.switch if isinstance(value, SwitchQueues) else ""
            self.streams[key] = Stream(agent, value.t_us, value.t_us, subject)
        self.streams[key].hear(value.t_us)
        if isinstance(value, AgentHealth):
            self._note(value)
            for endpoint in value.covers:
                self.agent_of[endpoint] = value.agent

    def _note(self, value: AgentHealth) -> None:
        """Keeps the newest health; a farewell takes back nothing: who was starved and then stops, was starved."""
        if is_starved(value):
            self.starved[value.agent] = value
        known = self.health.get(value.agent)
        if value.state != "stopping" or known is None or not is_starved(known):
            self.health[value.agent] = value

    def silent(self, t_us: int) -> dict[str, list[tuple[str, str]]]:
        """Silent streams (topic, producer) by agent."""
        found: dict[str, list[tuple[str, str]]] = {}
        for key in sorted(self.streams):
            if self.streams[key].is_silent(t_us):
                found.setdefault(self.streams[key].agent, []).append(key)
        return found

    def heard(self, agent: str, since_us: int) -> bool:
        """Whether any stream of an agent was heard after an instant."""
        return any(stream.agent == agent and stream.last_us > since_us for stream in self.streams.values())

    def health_due_us(self, agent: str) -> int | None:
        """By when an agent's next health message is due; None: it never sends any regularly."""
        known = [s for (topic, _), s in self.streams.items() if topic == "agent-health" and s.agent == agent]
        return max((s.last_us + s.longest_us for s in known if s.sendings), default=None)

    def forget(self, t_us: int) -> None:
        """Drops streams that ended long ago."""
        self.streams = {key: s for key, s in self.streams.items() if t_us - s.last_us < FORGET_US}


@dataclass(slots=True)
class Source:
    """When an endpoint last probed, and its usual gap, seconds (decayed mean). ``away``: its last long silence, us."""

    last_us: int
    gap_s: float = 1.0
    windows: int = 1
    away: tuple[int, int] | None = None

    def is_late(self, t_us: int) -> bool:
        """Whether it used to probe regularly and has not for two seconds and four usual gaps."""
        return self.windows >= 2 * LEARNED and (t_us - self.last_us) / SECOND_US >= max(2.0, 4.0 * self.gap_s)


@dataclass(slots=True)
class Sources:
    """Endpoints as probers: who probed in which second."""

    known: dict[str, Source] = field(default_factory=dict)

    def hear(self, endpoints: set[str], t_us: int) -> None:
        """Endpoints that probed in the second that ends at ``t_us``."""
        for endpoint in endpoints:
            source = self.known.get(endpoint)
            if source is None:
                self.known[endpoint] = Source(t_us)
                continue
            gap_s = (t_us - source.last_us) / SECOND_US
            if source.is_late(t_us - SECOND_US):
                source.away, gap_s = (source.last_us, t_us), source.gap_s
            source.gap_s += (gap_s - source.gap_s) / min(source.windows, 60)
            source.windows += 1
            source.last_us = t_us

    def is_silent(self, endpoint: str, t_us: int) -> bool:
        """Whether an endpoint that used to probe regularly has stopped."""
        source = self.known.get(endpoint)
        return source is not None and source.is_late(t_us)

    def back_us(self, endpoint: str, since_us: int) -> int | None:
        """When an endpoint probed again after a silence that was not over at ``since_us``; None: there was none."""
        source = self.known.get(endpoint)
        if source is None or source.away is None or source.away[1] <= since_us:
            return None
        return source.away[1]

    def forget(self, t_us: int) -> None:
        """Drops endpoints that stopped long ago."""
        self.known = {name: s for name, s in self.known.items() if t_us - s.last_us < FORGET_US}
