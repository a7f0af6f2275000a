"""Monitor pass: could it be the monitor itself? Agents of sources and targets, their probing, clocks and collectors.
 An endpoint that nobody can reach while it has itself stopped probing and its agent is not heard of has lost its
agent, not its network; a starved agent answers late or not at all. What rests on such an endpoint is withheld. A
container that is known to have exited is the exception: the silence of its agent belongs to the crash. What was
never seen proves nothing.
"""

from __future__ import annotations

from localization.cases import Clue, Outcome
from localization.producers import is_starved
from localization.scene import BEFORE_US, Scene, in_seconds, listing
from schemas.diagnosis import Evidence, PassTest, TracePass, Verdict
from schemas.instants import SECOND_US
from schemas.telemetry import AgentHealth

ASSUMPTION = "agents, clocks and collectors may lie; the network may be healthy"
MOST_ENDPOINTS = 12
SHARE = 0.8
"""Share of the ill pairs that an agent has to be in for its own trouble to explain them."""
NATS = 10.0
BACK_US = 30 * SECOND_US
UNPLANNED_US = 4 * SECOND_US


def monitor_pass(scene: Scene) -> Outcome:
    """Runs the pass."""
    outcome = Outcome(TracePass(pass_="monitor", assumption=ASSUMPTION, tests=(), verdict="clean", reason=""))
    tests: list[PassTest] = []
    reach = _reach(scene)
    for agent in sorted(reach, key=lambda agent: (-len(reach[agent][1]), agent)):
        endpoints, pairs = reach[agent]
        _judge_agent(scene, agent, (endpoints, len(pairs) / len(scene.pairs)), (outcome, tests))
    _check_clocks(scene, outcome, tests)
    verdict, reason = _conclude(scene, outcome)
    shown = tuple(tests[:MOST_ENDPOINTS])
    outcome.trace = TracePass(pass_="monitor", assumption=ASSUMPTION, tests=shown, verdict=verdict, reason=reason)
    return outcome


def _reach(scene: Scene) -> dict[str, tuple[list[str], set[tuple[str, str]]]]:
    """Endpoints and pairs of each agent."""
    reach: dict[str, tuple[list[str], set[tuple[str, str]]]] = {}
    for pair in scene.pairs:
        for endpoint in pair:
            endpoints, pairs = reach.setdefault(scene.store.agent_of(endpoint), ([], set()))
            pairs.add(pair)
            if endpoint not in endpoints:
                endpoints.append(endpoint)
    return reach


def _judge_agent(scene: Scene, agent: str, seen: tuple[list[str], float], into: tuple[Outcome, list[PassTest]]) -> None:
    endpoints, share = seen
    outcome, tests = into
    producers, sources = scene.store.producers, scene.store.sources
    health = producers.health.get(agent)
    silent = [endpoint for endpoint in endpoints if sources.is_silent(endpoint, scene.t_us)]
    returned = _returned(scene, agent, endpoints)
    if starved := _starved(scene, agent):
        text = f"agent {agent} says that it is {starved.state} ({_load(starved)})"
        tests.append(PassTest(test=f"agent {agent}", result="starved", detail=text))
        _withhold(scene, outcome, ("agent_starved", agent, share), text, starved)
    elif crashed := _crashed(scene, agent, endpoints):
        text = f"{listing(endpoints)} fell silent while the job went on, and then the scheduler took them off the map"
        tests.append(PassTest(test=f"agent {agent}", result="crashed", detail=text))
        clue = Clue(f"container:{crashed}", NATS, "network_fault", "container_crash", "monitor", text, "maps")
        outcome.clues.append(clue)
    elif silent and not producers.heard(agent, _stopped_us(scene, silent)) and not _has_exited(scene, endpoints):
        text = f"{listing(silent)} stopped probing and agent {agent} has not been heard of since then"
        tests.append(PassTest(test=f"agent {agent}", result="silent", detail=text))
        _withhold(scene, outcome, ("agent_missing", agent, share), text, health)
    elif returned and not _has_exited(scene, endpoints):
        text = f"{listing(returned)} did not probe, nor answer, while agent {agent} was away, and do so again"
        tests.append(PassTest(test=f"agent {agent}", result="back", detail=text))
        _withhold(scene, outcome, ("agent_missing", agent, share), text, health)
    else:
        heard = in_seconds(health.t_us, scene.onset_us) if health else "never"
        state = f"{health.state} ({_load(health)}), " if health else ""
        probing = "probes on" if not silent else f"{listing(silent)} stopped probing"
        tests.append(PassTest(test=f"agent {agent}", result="heard", detail=f"{state}health heard {heard}, {probing}"))


def _stopped_us(scene: Scene, silent: list[str]) -> int:
    """When the last of these endpoints probed, or the onset if that was later."""
    return max(scene.onset_us, *(scene.store.sources[endpoint].last_us for endpoint in silent))


def _starved(scene: Scene, agent: str) -> AgentHealth | None:
    """What an agent said that starved when the pairs fell ill; once well, it soon answers only for what is over."""
    told, newest = scene.store.producers.starved.get(agent), scene.store.producers.health.get(agent)
    if told is None or newest is None or told.t_us < scene.onset_us - BEFORE_US:
        return None
    lately = is_starved(newest) or scene.t_us - told.t_us < BACK_US
    return told if lately or _is_past(scene) else None


def _is_past(scene: Scene) -> bool:
    """Whether every pair is well again: what comes now says nothing of what was."""
    return not scene.case.open_anomalies() and scene.store.watch.has_recovered(scene.case.faults)


def _returned(scene: Scene, agent: str, endpoints: list[str]) -> list[str]:
    """Endpoints whose agent was away when the case began and has just come back: until the anomalies are cleared."""
    if scene.case.withheld != f"agent_missing agent:{agent}":
        return []
    back = {endpoint: scene.store.sources.back_us(endpoint, scene.onset_us) for endpoint in endpoints}
    past = _is_past(scene)
    return [name for name, at_us in back.items() if at_us is not None and (past or scene.t_us - at_us < BACK_US)]


def _crashed(scene: Scene, agent: str, endpoints: list[str]) -> str | None:
    """The container that took its agent along: missing first, then gone from the map of a job that goes on.

    One that leaves as planned is off the map within moments, an agent alone that dies leaves its container on it.
    """
    topology, sources = scene.topology, scene.store.sources
    jobs = {anomaly.job for anomaly in scene.case.anomalies.values()}
    if scene.case.withheld != f"agent_missing agent:{agent}" or not jobs & set(topology.jobs):
        return None
    for endpoint in endpoints:
        left_us, source = topology.left.get(endpoint), sources.get(endpoint)
        if left_us is None or source is None or left_us - source.last_us < UNPLANNED_US:
            return None
    containers = {endpoint.rpartition("/")[0] for endpoint in endpoints}
    return containers.pop() if len(containers) == 1 else None


def _load(health: AgentHealth) -> str:
    lag = f"send lag {health.send_lag_us:.0f} us" if health.send_lag_us is not None else "send lag not given"
    cpu = f"{health.cpu_percent:.1f} % CPU" if health.cpu_percent is not None else "CPU not given"
    return f"{cpu}, {lag}"


def _withhold(
    scene: Scene, outcome: Outcome, what: tuple[str, str, float], text: str, health: AgentHealth | None
) -> None:
    kind, agent, share = what
    if share < SHARE:
        return
    outcome.clues.append(Clue(f"agent:{agent}", NATS, kind, None, "monitor", text))  # type: ignore[arg-type]
    t_us = health.t_us if health else scene.t_us
    ref = f"{health.producer.id}#{health.producer.seq}" if health else f"agent:{agent}"
    outcome.evidence.append(Evidence(topic="agent-health", t_us=t_us, ref=ref, text=text))


def _has_exited(scene: Scene, endpoints: list[str]) -> bool:
    """Whether a container of these endpoints is known to have exited."""
    listed = [scene.topology.endpoints.get(endpoint) for endpoint in endpoints]
    containers = {f"container:{endpoint.container}" for endpoint in listed if endpoint}
    start_us = scene.onset_us - BEFORE_US
    return any(
        e.event == "container_exit" and e.device in containers and e.t_us >= start_us for e in scene.store.events
    )


def _check_clocks(scene: Scene, outcome: Outcome, tests: list[PassTest]) -> None:
    """Producers of the pairs' agents whose clock can't be joined with."""
    agents = {scene.store.agent_of(endpoint) for endpoint in scene.endpoints()}
    for producer in sorted(scene.store.clocks):
        clock, _, stamped_us, host = scene.store.clocks[producer]
        if producer.removeprefix("agent:").partition("/")[0] in agents and stamped_us >= scene.onset_us - BEFORE_US:
            text = f"clock of {producer} is off by {clock.offset_us:.0f} us, bound {clock.error_us:.0f} us: left out"
            tests.append(PassTest(test=f"clock of {host or producer}", result="not trusted", detail=text))
            outcome.wanted.append(f"a trusted clock on {host or producer}")


def _conclude(scene: Scene, outcome: Outcome) -> tuple[Verdict, str]:
    if outcome.clues:
        return "suspect", f"{outcome.clues[0].text}; no verdict on the network rests on what was probed there since"
    if any(endpoint in scene.store.sources for endpoint in scene.endpoints()):
        quiet = [e for e in scene.endpoints() if scene.store.sources.is_silent(e, scene.t_us)]
        if not quiet:
            return "clean", "sources and targets go on probing others, so their agents live; every target was ready"
    if "agent-health" not in scene.store.seen_topics:
        return "inconclusive", "no agent health was observed, which proves nothing"
    return "clean", "the agents concerned are heard of and not starved"
