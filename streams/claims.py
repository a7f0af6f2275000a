"""Who may speak for what? Recognises a producer that speaks for a thing that is another's. Pure.

Three rules, for the messages of one key that come from outside:

1. *Its own name*: ``agent-health.agent`` is the agent in ``producer.id``.
2. *The right host*: counters of a container come from the host that the endpoint map gives it. An agent takes on a
   container only when it has read such a map, so an honest one is never ahead of the map; behind it, it may be for
   ``HANDOVER_US``.
3. *One at a time*: of a producer id one boot is alive, and of an endpoint or container one agent. A restart or a move
   is a change from one to the next. Two who are alive take turns: one comes *back*, with a message that is newer than
   the first of the one who had replaced it. Turns that go on for ``CONTEST_US`` are a contest; from then on only the
   one who has spoken longest is believed, until it has been silent for ``CONTEST_US``.

Why restarts and moves raise nothing: the messages of one process are handed over in their order, an earlier run's spool
before the new run's, so an old boot does not come back. While a container moves, both agents speak for as long as
the map takes to reach them, which is seconds; ``CONTEST_US`` is half a minute. What the rules can't see: a false
producer whose true one is silent, and one whose id, boot and host are all right. Against these the broker's ACLs stand.

Cost: 1 us per message. Memory: some 500 bytes per producer id and endpoint of the last minute.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from msgspec import Struct

from schemas.codec import BadRecord
from schemas.envelope import Message
from schemas.instants import SECOND_US
from schemas.maps import EndpointMap
from schemas.packing import PackedResults
from schemas.probing import ProbeResults
from schemas.telemetry import AgentHealth, DeviceEvent, FlowTables, RnicBursts, RnicCounters, SwitchQueues

HANDOVER_US = 60 * SECOND_US
CONTEST_US = 30 * SECOND_US
LEAST_RETURNS = 3
FORGET_US = 120 * SECOND_US
TIDY_US = FORGET_US // 4
RESULTS = PackedResults, ProbeResults

_SPEAKS_FOR: dict[type[Message], str] = {
    PackedResults: "src",
    ProbeResults: "src",
    RnicBursts: "endpoint",
    DeviceEvent: "",
    FlowTables: "",
    SwitchQueues: "",
}
"""For which endpoint a message speaks beside its producer: the field; "" = for none. Others have more rules."""

Subject = tuple[str, str, str]
"""(topic, what is spoken for: a producer id or a thing, its name)."""


class _Floor(Struct, gc=False):
    """Who speaks for one subject: ``current``. ``first_us``: the event time of its first message; ``heard_us``: when
    its last one was heard.

    ``speakers``, in the order in which they came, if there was another one: the same two of each, of the current one as
    they were. ``since_us``, ``last_us``, ``returns``: from when to when turns were taken, and how often.
    """

    current: str
    first_us: int
    heard_us: int
    speakers: dict[str, tuple[int, int]] | None = None
    since_us: int = 0
    last_us: int = 0
    returns: int = 0

    def hear(self, speaker: str, t_us: int, now_us: int) -> bool:
        """Whether the speaker is believed."""
        speakers = self._all()
        known = speakers.get(speaker)
        if speaker != self.current:
            if known is not None and t_us <= self.first_us:
                return True  # left over from before the change
            if known is not None:
                self._count(now_us)
            self.current = speaker
        self.first_us, self.heard_us = t_us if known is None else known[0], now_us
        speakers[speaker] = self.first_us, now_us
        return not self._is_contested(now_us) or speaker == self._oldest(speakers, now_us)

    def _all(self) -> dict[str, tuple[int, int]]:
        """``speakers``, of the current one as they are."""
        if self.speakers is None:
            self.speakers = {}
        self.speakers[self.current] = self.first_us, self.heard_us
        return self.speakers

    def others(self, speaker: str) -> list[str]:
        """Who speaks beside this one."""
        return sorted(name for name in self._all() if name != speaker)

    def _count(self, now_us: int) -> None:
        if now_us - self.last_us > CONTEST_US or not self.returns:
            self.since_us, self.returns = now_us, 0
        self.last_us = now_us
        self.returns += 1

    def _is_contested(self, now_us: int) -> bool:
        has_lasted = self.last_us - self.since_us >= CONTEST_US and self.returns >= LEAST_RETURNS
        return has_lasted and now_us - self.last_us <= CONTEST_US

    def _oldest(self, speakers: dict[str, tuple[int, int]], now_us: int) -> str:
        alive = (name for name, (_, heard_us) in speakers.items() if now_us - heard_us <= CONTEST_US)
        return next(alive, self.current)

    def forget(self, before_us: int) -> bool:
        """Forgets who has been silent since; whether nobody is left."""
        if self.speakers is not None:
            left = {name: at for name, at in self._all().items() if at[1] >= before_us or name == self.current}
            self.speakers = left if len(left) > 1 else None
        return self.heard_us < before_us


@dataclass(slots=True)
class Claims:
    """Who speaks for what, of one key; at most ``most`` subjects of the last minutes."""

    most: int
    floors: dict[Subject, _Floor] = field(default_factory=dict)
    hosts: dict[str, dict[str, int | None]] = field(default_factory=dict)
    tidied_us: int = 0
    map_version: int = -1

    def check(self, topic: str, value: Message, now_us: int) -> None:
        """Takes note of a message that came when the last tick said ``now_us``.

        Raises:
            BadRecord: ``foreign_producer``, or ``too_many`` subjects.
        """
        if isinstance(value, EndpointMap):
            self._learn(value)
            return
        if now_us - self.tidied_us >= TIDY_US:
            self._tidy(now_us)
        producer, t_us = value.producer, value.t_us
        agent = agent_of(producer.id)
        self._hear((topic, "producer", producer.id), producer.boot, t_us, now_us)
        if isinstance(value, RESULTS):  # nearly all
            self._hear((topic, "endpoint", value.src), agent, t_us, now_us)
        elif isinstance(value, AgentHealth):
            _check_name(value, producer.id, agent)
        elif isinstance(value, RnicCounters):
            self._check_host(value)
            self._hear((topic, "container", value.container), agent, t_us, now_us)
        elif isinstance(value, RnicBursts):
            self._hear((topic, "endpoint", value.endpoint), agent, t_us, now_us)

    def go_on(self, topic: str, value: Message, now_us: int) -> bool:
        """As ``check`` where those speak on who spoke last, and nobody took turns; False: ``check`` has to tell."""
        speaks_for = _SPEAKS_FOR.get(type(value))
        if speaks_for is None or now_us - self.tidied_us >= TIDY_US:
            return False
        producer, floors = value.producer, self.floors
        floor = floors.get((topic, "producer", producer.id))
        if floor is None or floor.current != producer.boot or floor.returns:
            return False
        floor.heard_us = now_us
        if speaks_for:
            floor = floors.get((topic, "endpoint", getattr(value, speaks_for)))
            if floor is None or floor.current != agent_of(producer.id) or floor.returns:
                return False
            floor.heard_us = now_us
        return True

    def _hear(self, subject: Subject, speaker: str, t_us: int, now_us: int) -> None:
        floor = self.floors.get(subject)
        if floor is None:
            if len(self.floors) >= self.most:
                raise BadRecord(
                    "too_many", f"{subject[0]}: more than {self.most} producers and endpoints in two minutes"
                )
            self.floors[subject] = _Floor(speaker, t_us, now_us)
        elif speaker == floor.current and not floor.returns:  # nearly all: nobody ever took turns
            floor.heard_us = now_us
        elif not floor.hear(speaker, t_us, now_us):
            others = ", ".join(floor.others(speaker))
            kind = "boot" if subject[1] == "producer" else "agent"
            raise BadRecord(
                "foreign_producer",
                f"{subject[0]}: {kind} {speaker} speaks for {subject[1]} {subject[2]} in turns with {others}, which "
                "has done so for longer",
            )

    def _check_host(self, value: RnicCounters) -> None:
        hosts = self.hosts.get(value.container)
        if hosts is None:
            return
        until_us = hosts.get(value.host, 0)
        if until_us is not None and value.t_us > until_us:
            now = ", ".join(sorted(host for host, until in hosts.items() if until is None)) or "nowhere"
            raise BadRecord(
                "foreign_producer",
                f"rnic-counters: host is {value.host!r}, but the endpoint map has container {value.container} on {now}",
            )

    def _learn(self, value: EndpointMap) -> None:
        if value.version <= self.map_version:
            return
        self.map_version = value.version
        placed: dict[str, set[str]] = {}
        for endpoint in value.endpoints:
            placed.setdefault(endpoint.container, set()).add(endpoint.host)
        for container, known in self.hosts.items():
            for host, until_us in known.items():
                if until_us is None and host not in placed.get(container, ()):
                    known[host] = value.t_us + HANDOVER_US
        for container, hosts in placed.items():
            self.hosts.setdefault(container, {}).update(dict.fromkeys(hosts))
        over = value.t_us - FORGET_US
        for container, known in list(self.hosts.items()):
            self.hosts[container] = {h: until for h, until in known.items() if until is None or until > over}
            if not self.hosts[container]:
                del self.hosts[container]

    def _tidy(self, now_us: int) -> None:
        self.tidied_us = now_us
        before_us = now_us - FORGET_US
        self.floors = {subject: floor for subject, floor in self.floors.items() if not floor.forget(before_us)}


def _check_name(value: AgentHealth, producer: str, agent: str) -> None:
    if value.agent != agent:
        raise BadRecord("foreign_producer", f"agent-health: agent is {value.agent!r}, but the producer is {producer!r}")


@lru_cache(maxsize=65_536)
def agent_of(producer: str) -> str:
    """The agent in ``agent:<agent>/<stream>``; of another id all before its last slash."""
    return producer.removeprefix("agent:").rpartition("/")[0] or producer
