"""Is the monitor itself in trouble? Agents that fell silent or starve, clocks that can't be trusted, collectors
with gaps.
 Each is an incident of its own kind, never a network fault. An agent is missing when its health stream is silent
and its endpoints no longer probe; when only some of its streams stopped, that is a gap of the collector. When most
streams of a topic stop together, the topic has the gap, not each agent. An agent whose endpoints have all left, or
whose container is known to have exited, is not missed. Confidence of a silence: 1 - 2^-(silence / longest usual
gap).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

from localization.evidence import EvidenceStore
from localization.producers import is_starved
from localization.switches import takes_along
from schemas.diagnosis import Evidence, IncidentKind, PassTest, TracePass
from schemas.instants import SECOND_US, micros
from schemas.telemetry import AgentHealth
from skeleton.regularity import GAPS, LEARNED

RECENT_US = 30 * SECOND_US
STEP_WAIT_US = 6 * SECOND_US
TOLD_CONFIDENCE = 0.95
PROBES_ONLY_S = 30.0
PROBES_ONLY_GAPS = 20.0
MOST = 0.5
MANY = 3
GONE = ("switch_reboot", "switch_unreachable")
OF_CONTAINERS = ("rnic-bursts", "rnic-counters")
"""Topics whose streams report on one container each."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One trouble of the monitor. ``component``: None for a whole topic."""

    kind: IncidentKind
    component: str | None
    since_us: int
    confidence: float
    endpoints: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    text: str

    @property
    def key(self) -> str:
        """What makes it the same trouble."""
        return f"{self.kind} {self.component or self.text}"

    def trace(self) -> tuple[TracePass, ...]:
        """Its reasoning."""
        test = PassTest(test=self.component or "topic", result=self.kind, detail=self.text)
        assumption = "agents, clocks and collectors may lie; the network may be healthy"
        return (TracePass(pass_="monitor", assumption=assumption, tests=(test,), verdict="suspect", reason=self.text),)


def find_troubles(store: EvidenceStore, t_us: int) -> list[Trouble]:
    """All troubles of the present second, in a fixed order."""
    clocks = _bad_clocks(store, t_us)
    astray = {trouble.component for trouble in clocks}
    astray |= {event.device for event in store.events if event.event == "clock_step"}
    fresh = [name for name, said in store.clocks.items() if abs(t_us - said.stamped_us) < RECENT_US]
    astray |= {f"clock:{_clock_name(store, producer)}" for producer in fresh}
    lost = [*_silences(store, t_us), *_probes_only(store, t_us)]
    return [*_starved(store, t_us), *clocks, *[trouble for trouble in lost if _clock_of(store, trouble) not in astray]]


def _clock_of(store: EvidenceStore, trouble: Trouble) -> str:
    """The clock by which a trouble's agent stamps: what it sends counts as late, not as missing, when that lies."""
    agent = (trouble.component or "").partition(":")[2]
    health = store.producers.health.get(agent)
    return f"clock:{health.host if health else agent}"


def _starved(store: EvidenceStore, t_us: int) -> list[Trouble]:
    return [
        _of_health("agent_starved", health, f"agent {agent} says that it is {health.state}, and lags behind its plan")
        for agent, health in sorted(store.producers.health.items())
        if is_starved(health) and t_us - health.t_us < RECENT_US
    ]


def _of_health(kind: IncidentKind, health: AgentHealth, text: str) -> Trouble:
    ref = f"{health.producer.id}#{health.producer.seq}"
    evidence = (Evidence(topic="agent-health", t_us=health.t_us, ref=ref, text=text),)
    return Trouble(kind, f"agent:{health.agent}", health.t_us, TOLD_CONFIDENCE, health.covers, evidence, text)


def _bad_clocks(store: EvidenceStore, t_us: int) -> list[Trouble]:
    """Clocks that admit that they can't be trusted, that were stepped, or that jump.

    An admission is stamped by the very clock: by how much it is off is known once its host's streams have jumped.
    """
    found: dict[str, Trouble] = {}
    for producer in sorted(store.clocks):
        clock, first_us, stamped_us, _ = store.clocks[producer]
        name = _clock_name(store, producer)
        off_us = store.clock_watch.off_us(name)
        ahead_us = round(clock.offset_us) if off_us is None else off_us
        waits = off_us is None and t_us < first_us + STEP_WAIT_US
        if waits or not 0 <= t_us - (stamped_us - ahead_us) < RECENT_US:
            continue
        since_us = first_us - ahead_us
        text = f"clock of {producer} is off by {clock.offset_us:.0f} us with a bound of {clock.error_us:.0f} us"
        evidence = (Evidence(topic="agent-health", t_us=since_us, ref=producer, text=text),)
        found.setdefault(name, Trouble("clock_bad", f"clock:{name}", since_us, TOLD_CONFIDENCE, (), evidence, text))
    for name, trouble in _steps(store, t_us):
        found.setdefault(name, trouble)
    for bad in store.clock_watch.find(t_us):
        evidence = (Evidence(topic="agent-health", t_us=bad.since_us, ref=bad.host, text=bad.text),)
        name = f"clock:{bad.host}"
        found.setdefault(bad.host, Trouble("clock_bad", name, bad.since_us, TOLD_CONFIDENCE, (), evidence, bad.text))
    return [found[name] for name in sorted(found)]


def _clock_name(store: EvidenceStore, producer: str) -> str:
    """The host whose clock a producer admits to be off."""
    return store.clocks[producer].host or producer.removeprefix("agent:").partition("/")[0]


def _steps(store: EvidenceStore, t_us: int) -> list[tuple[str, Trouble]]:
    """Clocks of which an event says that they were stepped.

    It is stamped by the very clock: when it came is known once the host's streams have jumped, which is waited for.
    """
    found = []
    for event in store.events:
        if event.event != "clock_step":
            continue
        name = event.device.partition(":")[2]
        off_us = store.clock_watch.off_us(name)
        since_us = event.t_us - (off_us or 0)
        told_us = event.t_us + STEP_WAIT_US if off_us is None else since_us
        if not told_us <= t_us < event.t_us + RECENT_US:
            continue
        ref = f"{event.producer.id}#{event.producer.seq}"
        evidence = (Evidence(topic="device-events", t_us=event.t_us, ref=ref, text=event.text),)
        text = f"the clock of {name} was stepped: {event.text}"
        found.append((name, Trouble("clock_bad", f"clock:{name}", since_us, TOLD_CONFIDENCE, (), evidence, text)))
    return found


def _silences(store: EvidenceStore, t_us: int) -> list[Trouble]:
    silent = store.producers.silent(t_us)
    lost = _lost_containers(store, [key for streams in silent.values() for key in streams], t_us)
    silent = {
        agent: kept
        for agent, streams in silent.items()
        if (kept := [key for key in streams if not _is_of_broken_switch(store, key) and not _is_of(store, key, lost)])
    }
    topics = _silent_topics(store, silent)
    found = [_topic_gap(store, topic, keys, t_us) for topic, keys in sorted(topics.items())]
    for agent in sorted(silent):
        streams = [key for key in silent[agent] if key[0] not in topics]
        if streams:
            trouble = _of_agent(store, agent, streams, t_us)
            found += [trouble] if trouble else []
    return found


def _is_of_broken_switch(store: EvidenceStore, key: tuple[str, str]) -> bool:
    """Whether a stream reports on a switch that is blamed, or known to be gone: its silence belongs to that.

    Of a switch that is off it may be a link or card beneath it that is blamed at first: nothing passes either.
    """
    subject = store.producers.streams[key].subject
    gone = any(event.event in GONE and event.device == f"switch:{subject}" for event in store.events)
    return gone or any(takes_along(store.topology, fault, subject) for fault in store.watch.faults)


def _is_of(store: EvidenceStore, key: tuple[str, str], containers: set[str]) -> bool:
    """Whether a stream reports on one of these containers."""
    return key[0] in OF_CONTAINERS and store.producers.streams[key].subject in containers


def _lost_containers(store: EvidenceStore, keys: list[tuple[str, str]], t_us: int) -> set[str]:
    """Of the containers that streams report on, those that left, exited, or no longer probe: the silence is theirs."""
    found = set()
    for container, endpoints in _reported(store, keys).items():
        quiet = all(store.sources.is_silent(name, t_us) for name in endpoints)
        if not endpoints or quiet or have_exited(store, endpoints):
            found.add(container)
    return found


def _reported(store: EvidenceStore, keys: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Endpoints on the map of each container that streams of counters and bursts report on."""
    subjects = sorted({store.producers.streams[key].subject for key in keys if key[0] in OF_CONTAINERS})
    members: dict[str, list[str]] = {container: [] for container in subjects}
    for name, endpoint in store.topology.endpoints.items() if members else ():
        if endpoint.container in members:
            members[endpoint.container].append(name)
    return members


def _silent_topics(store: EvidenceStore, silent: dict[str, list[tuple[str, str]]]) -> dict[str, list[tuple[str, str]]]:
    """Topics of which most streams, and many, are silent."""
    total = store.producers.totals() if silent else {}
    by_topic: dict[str, list[tuple[str, str]]] = {}
    for keys in silent.values():
        for key in keys:
            by_topic.setdefault(key[0], []).append(key)
    return {topic: keys for topic, keys in by_topic.items() if len(keys) >= max(MANY, MOST * total[topic])}


def _topic_gap(store: EvidenceStore, topic: str, keys: list[tuple[str, str]], t_us: int) -> Trouble:
    last_us = max(store.producers.streams[key].last_us for key in keys)
    text = f"nothing comes on {topic} from {len(keys)} producers that used to send"
    evidence = (Evidence(topic=topic, t_us=last_us, ref=keys[0][1], text=text),)
    return Trouble("collector_gap", None, last_us, _confidence(store, keys, t_us), (), evidence, f"gap of {topic}")


def _confidence(store: EvidenceStore, keys: list[tuple[str, str]], t_us: int) -> float:
    streams = [store.producers.streams[key] for key in keys]
    gaps = max((t_us - stream.last_us) / max(stream.longest_us, 1) for stream in streams)
    return round(1.0 - exp(-log(2.0) * min(gaps, 10.0)), 3)


def _of_agent(store: EvidenceStore, agent: str, streams: list[tuple[str, str]], t_us: int) -> Trouble | None:
    health = store.producers.health.get(agent)
    covers = health.covers if health else ()
    present = [name for name in covers if name in store.topology.endpoints]
    if (covers and not present) or have_exited(store, present):
        return None
    last_us = max(store.producers.streams[key].last_us for key in streams)
    longest_us = max(store.producers.streams[key].longest_us for key in streams)
    if any(t_us - store.topology.joined.get(name, 0) <= GAPS * longest_us for name in present):
        return None
    probing = [name for name in present if not store.sources.is_silent(name, t_us) and name in store.sources]
    others = [key for key, stream in store.producers.streams.items() if stream.agent == agent and key not in streams]
    ref = streams[0][1]
    health_silent = any(topic == "agent-health" for topic, _ in streams)
    if health is not None and not health_silent and health.t_us <= last_us:
        return None
    late_us = last_us + longest_us
    heard = [key for key in others if store.producers.streams[key].last_us > late_us]
    if health_silent and any(_is_just_back(store, name, streams, t_us) for name in probing):
        return None
    if health_silent and not probing and not heard:
        text = f"agent {agent} has fallen silent on all its streams, and its endpoints have stopped probing"
        kind: IncidentKind = "agent_missing"
    else:
        text = f"agent {agent} no longer sends {', '.join(sorted({topic for topic, _ in streams}))}"
        kind = "collector_gap"
    evidence = (Evidence(topic=streams[0][0], t_us=last_us, ref=ref, text=text),)
    seen = present or [name for names in _reported(store, streams).values() for name in names]
    return Trouble(kind, f"agent:{agent}", last_us, _confidence(store, streams, t_us), tuple(seen), evidence, text)


def _is_just_back(store: EvidenceStore, endpoint: str, streams: list[tuple[str, str]], t_us: int) -> bool:
    """Whether an endpoint has begun to probe again so lately that its agent's other streams may still follow."""
    back_us = store.sources.back_us(endpoint, 0)
    wait_us = 2 * max(store.producers.streams[key].longest_us for key in streams)
    return back_us is not None and t_us - back_us <= wait_us


def have_exited(store: EvidenceStore, endpoints: list[str]) -> bool:
    """Whether all containers of these endpoints, which are on the map, are known to have exited."""
    containers = {f"container:{store.topology.endpoints[name].container}" for name in endpoints}
    gone = {event.device for event in store.events if event.event == "container_exit"}
    return bool(containers) and containers <= gone


def _probes_only(store: EvidenceStore, t_us: int) -> list[Trouble]:
    """Endpoints without health messages that probed regularly and stopped, while most others go on."""
    silent: dict[str, list[str]] = {}
    known = store.sources
    for name in known.unheard(t_us - micros(PROBES_ONLY_S)):
        source = known[name]
        quiet_s = (t_us - source.last_us) / SECOND_US
        if source.windows >= 2 * LEARNED and quiet_s >= PROBES_ONLY_GAPS * source.gap_s:
            silent.setdefault(_container(store, name), []).append(name)
    if sum(len(names) for names in silent.values()) > MOST * len(known):
        return []
    found = []
    for container, names in sorted(silent.items()):
        present = [n for n in names if n in store.topology.endpoints and n not in store.producers.agent_of]
        if present and not have_exited(store, present):
            since_us = max(known[name].last_us for name in present)
            text = f"the endpoints of {container} have stopped probing"
            evidence = (Evidence(topic="pair-windows", t_us=since_us, ref=present[0], text=text),)
            agent = f"agent:{container}"
            found.append(Trouble("agent_missing", agent, since_us, 0.75, tuple(present), evidence, text))
    return found


def _container(store: EvidenceStore, endpoint: str) -> str:
    listed = store.topology.endpoints.get(endpoint)
    return listed.container if listed else endpoint.rpartition("/")[0]
