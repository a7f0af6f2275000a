"""Who has fallen silent? Regular streams of the monitor itself, and the agents behind them.
 What a regular stream is, and when it is silent: ``skeleton.regularity``. Streams of counters and bursts are heard by
the skeleton stage, which tells only of those that are silent (``skeleton.reporting``). ``producer.id`` =
``agent:<agent>/<stream>``. Cost: O(streams) a second. Memory: 200 bytes a stream.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from schemas.envelope import Message
from schemas.instants import SECOND_US
from schemas.reporting import ReportingGaps, SilentStream
from schemas.telemetry import AgentHealth, SwitchQueues
from skeleton.regularity import LEARNED, Regularity, first_heard

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
    """When an agent's stream sent; ``subject``: the switch, or the container, that it reports on."""

    agent: str
    regularity: Regularity
    subject: str = ""

    @property
    def last_us(self) -> int:
        """When it was last heard."""
        return self.regularity.last_us

    @property
    def longest_us(self) -> int:
        """Its longest usual gap."""
        return self.regularity.longest_us


def _told_silent(stream: SilentStream) -> Stream:
    """A stream as the skeleton stage tells of it."""
    first_us = stream.last_us - LEARNED * stream.usual_us
    regularity = Regularity(stream.last_us, first_us, sendings=LEARNED, longest_us=stream.usual_us)
    return Stream(agent_of_producer(stream.producer), regularity, stream.container)


def agent_of_producer(producer: str) -> str:
    """The agent behind a stream."""
    return producer.removeprefix("agent:").partition("/")[0]


@dataclass(slots=True)
class Producers:
    """All streams that localization reads itself, each agent's newest health, and the last that said starved.

    ``told``: by job, what the skeleton stage last told of counters and bursts. ``watcher``: by component, the agent
    that said last that it would report its troubles.
    """

    streams: dict[tuple[str, str], Stream] = field(default_factory=dict)
    health: dict[str, AgentHealth] = field(default_factory=dict)
    starved: dict[str, AgentHealth] = field(default_factory=dict)
    agent_of: dict[str, str] = field(default_factory=dict)
    told: dict[str, ReportingGaps] = field(default_factory=dict)
    watcher: dict[str, str] = field(default_factory=dict)

    def hear(self, topic: str, value: Message) -> None:
        """A message came."""
        key = topic, value.producer.id
        if key not in self.streams:
            subject = value.switch if isinstance(value, SwitchQueues) else ""
            self.streams[key] = Stream(agent_of_producer(key[1]), first_heard(value.producer, value.t_us), subject)
        else:
            self.streams[key].regularity.hear(value.producer, value.t_us)
        if isinstance(value, AgentHealth):
            self._note(value)
            for endpoint in value.covers:
                self.agent_of[endpoint] = value.agent
            for component in value.watches or ():
                self.watcher[component] = value.agent

    def take_gaps(self, value: ReportingGaps) -> None:
        """What the skeleton stage tells of a job takes the place of what it told before."""
        before = self.told.get(value.job)
        for stream in before.silent if before else ():
            self.streams.pop((stream.topic, stream.producer), None)
        self.streams.update({(stream.topic, stream.producer): _told_silent(stream) for stream in value.silent})
        if value.silent or value.unread or value.regular:
            self.told[value.job] = value
        else:
            self.told.pop(value.job, None)

    def totals(self) -> dict[str, int]:
        """How many streams each topic has."""
        found: dict[str, int] = {}
        told = [(topic, number) for value in self.told.values() for topic, number in value.regular.items()]
        heard = {topic for topic, _ in told}
        for topic, number in [*told, *((topic, 1) for topic, _ in self.streams if topic not in heard)]:
            found[topic] = found.get(topic, 0) + number
        return found

    def unread(self) -> dict[str, int]:
        """Endpoints whose RNIC's counters can't be read, and since when."""
        return {rnic.endpoint: rnic.since_us for value in self.told.values() for rnic in value.unread}

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
        for key in sorted(key for key, stream in self.streams.items() if stream.regularity.is_silent(t_us)):
            found.setdefault(self.streams[key].agent, []).append(key)
        return found

    def heard(self, agent: str, since_us: int) -> bool:
        """Whether any stream of an agent was heard after an instant."""
        return any(stream.agent == agent and stream.last_us > since_us for stream in self.streams.values())

    def is_watched(self, component: str, since_us: int) -> bool:
        """Whether an agent has said since an instant that it would report the troubles of a component."""
        health = self.health.get(self.watcher.get(component, ""))
        return health is not None and health.t_us >= since_us and component in (health.watches or ())

    def health_due_us(self, agent: str) -> int | None:
        """By when an agent's next health message is due; None: it never sends any regularly."""
        known = [s for (topic, _), s in self.streams.items() if topic == "agent-health" and s.agent == agent]
        return max((s.last_us + s.longest_us for s in known if s.regularity.sendings), default=None)

    def forget(self, t_us: int, placed: Container[str]) -> None:
        """Drops streams and agents that ended long ago, and who covered endpoints that are not ``placed``."""
        self.streams = {key: s for key, s in self.streams.items() if t_us - s.last_us < FORGET_US}
        self.health = {agent: value for agent, value in self.health.items() if t_us - value.t_us < FORGET_US}
        self.starved = {agent: value for agent, value in self.starved.items() if t_us - value.t_us < FORGET_US}
        self.watcher = {name: agent for name, agent in self.watcher.items() if agent in self.health}
        covered = {endpoint for value in self.health.values() for endpoint in value.covers}
        self.agent_of = {name: agent for name, agent in self.agent_of.items() if name in covered or name in placed}
