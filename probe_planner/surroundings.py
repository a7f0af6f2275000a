"""Which part of a fabric can a job's traffic take, and what is suspected in it? The fold of one fabric.

Planning is done per job, but maps and anomalies belong to fabrics; this stage hands each job its part.
``job-fabrics``: the switches and links on shortest paths between any two RNICs of the job, with its own access links;
sent when the fabric map changes, or when RNICs come that it does not show (who leaves is left in). ``job-suspects``:
by component, how many open anomalies point at it: the RNICs of their ends, and the links of their paths, of whatever
job they are; sent at the whole second after it changed. An anomaly that was never closed is forgotten ``FORGET_S``
after it was last told of. A job that has ended is forgotten at once, but for the versions of what it was told, for
``REMEMBER_S``: should it come back, its planner must not take what it is told for older than what it knows. Versions of
a job that comes up when the fabric is older than that begin at the time of day, in seconds since the epoch.

Cost: once per fabric map 0.2 s for 40,000 RNICs, then about 1 ms per map of a job of 20 RNICs; O(1) per anomaly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from probe_planner.parameters import PlannerParameters
from probe_planner.parts import Plant
from schemas.diagnosis import Anomaly, JobSuspects, Suspect
from schemas.folding import DERIVED_CLOCK, Emission, Event, Observation, Remains, derived_producer
from schemas.instants import SECOND_US
from schemas.maps import Endpoint, FabricEndpoints, FabricMap, JobFabric

STAGE = "fabric"
FORGET_S = 3600
REMEMBER_S = 30 * 86_400
LONG_AGO = 0
MOST_SUSPECTS = 200
"""The most suspected components that are told to a job."""


@dataclass(slots=True)
class JobView:
    """What a job was told. ``shown``: RNICs in its part of the map."""

    endpoints: FabricEndpoints
    shown: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    fabric_version: int = -1
    fabrics: int = 0
    suspects: tuple[tuple[str, int], ...] = ()
    suspicions: int = 0


@dataclass(frozen=True, slots=True)
class Former:
    """What is known of a job that ended: how often it was told what, and when it ended."""

    fabrics: int
    suspicions: int
    ended_us: int


@dataclass(slots=True)
class FabricState:
    """What is known of one fabric. ``anomalies``: the open ones; ``news``: something of ``job-suspects`` may change."""

    fabric: str
    fabric_map: FabricMap | None = None
    began_us: int | None = None
    jobs: dict[str, JobView] = field(default_factory=dict)
    former: dict[str, Former] = field(default_factory=dict)
    anomalies: dict[str, Anomaly] = field(default_factory=dict)
    stale: set[str] = field(default_factory=set)
    news: bool = False
    plant: Plant = field(default_factory=Plant)


class FabricEngine:
    """Implements ``schemas.folding.Engine``."""

    def __init__(self, parameters: PlannerParameters) -> None:
        self.parameters = parameters

    def start(self, key: str) -> FabricState:
        """The state before the first event of a fabric."""
        return FabricState(key)

    def remains(self, state: FabricState) -> Remains:
        """When the fabric began; it is never forgotten."""
        return Remains(sent=state.began_us or LONG_AGO)

    def resume(self, key: str, remains: Remains) -> FabricState:
        """A fabric of which nothing is known any more: its jobs may have been here at any time before."""
        return FabricState(key, began_us=min(LONG_AGO, remains.sent))

    def step(self, state: FabricState, event: Event) -> tuple[FabricState, Sequence[Emission]]:
        """Takes maps and anomalies in; tells jobs at the end of the second."""
        if isinstance(event, Observation):
            _take_in(state, event)
            return state, ()
        sent: list[Emission] = []
        if state.began_us is None:
            state.began_us = event.t_us
        if state.stale and state.fabric_map is not None:
            for job in sorted(state.stale):
                sent += _show(state, state.fabric_map, job, event.t_us)
            state.stale.clear()
        if event.t_us % (60 * SECOND_US) == 0:
            _forget(state, event.t_us - FORGET_S * SECOND_US)
        if state.news and self.parameters.extra_share > 0.0:
            sent += _tell(state, event.t_us)
        state.news = False
        return state, sent


def _take_in(state: FabricState, event: Observation) -> None:
    value = event.value
    if isinstance(value, FabricMap) and (state.fabric_map is None or value.version > state.fabric_map.version):
        state.fabric_map = value
        state.stale.update(state.jobs)
    elif isinstance(value, FabricEndpoints):
        _take_endpoints(state, value)
    elif isinstance(value, Anomaly):
        if value.state == "open":
            state.anomalies[value.anomaly] = value
        else:
            state.anomalies.pop(value.anomaly, None)
        state.news = True


def _take_endpoints(state: FabricState, value: FabricEndpoints) -> None:
    known = state.jobs.get(value.job)
    if known is not None and value.version <= known.endpoints.version:
        return
    if value.state == "ended":
        if known is not None:
            del state.jobs[value.job]
            state.former[value.job] = Former(known.fabrics, known.suspicions, value.t_us)
        state.stale.discard(value.job)
        return
    if known is None:
        known = state.jobs[value.job] = _begin(state, value)
    known.endpoints = value
    if not _rnics(value) <= known.shown:
        state.stale.add(value.job)


def _begin(state: FabricState, value: FabricEndpoints) -> JobView:
    """The view of a job that comes, or comes back."""
    former = state.former.pop(value.job, None)
    remember_us = REMEMBER_S * SECOND_US
    if former is not None and value.t_us - former.ended_us <= remember_us:
        return JobView(value, fabrics=former.fabrics, suspicions=former.suspicions)
    is_old = state.began_us is not None and value.t_us - state.began_us > remember_us
    told = value.t_us // SECOND_US if is_old else 0
    return JobView(value, fabrics=told, suspicions=told)


def _rnics(value: FabricEndpoints) -> set[str]:
    return {_rnic(endpoint) for endpoint in value.endpoints if endpoint.state != "gone"}


def _rnic(endpoint: Endpoint) -> str:
    return f"{endpoint.host}/{endpoint.rnic}"


def _show(state: FabricState, fabric_map: FabricMap, job: str, t_us: int) -> list[Emission]:
    """The job's part of the map."""
    view = state.jobs[job]
    rnics = _rnics(view.endpoints)
    state.plant.read(fabric_map)
    nodes, links, names = state.plant.part(rnics)
    view.shown, view.links, view.fabric_version = frozenset(rnics), names, fabric_map.version
    view.fabrics += 1
    message = JobFabric(
        v=1,
        t_us=t_us,
        producer=derived_producer(STAGE, job, view.fabrics),
        clock=DERIVED_CLOCK,
        fabric=state.fabric,
        job=job,
        tenant=view.endpoints.tenant,
        version=view.fabrics,
        fabric_version=fabric_map.version,
        nodes=nodes,
        links=links,
        ecmp=fabric_map.ecmp,
    )
    state.news = True
    return [Emission("job-fabrics", job, message)]


def _forget(state: FabricState, before_us: int) -> None:
    for name in [name for name, anomaly in state.anomalies.items() if anomaly.t_us < before_us]:
        del state.anomalies[name]
        state.news = True
    over_us = before_us + (FORGET_S - REMEMBER_S) * SECOND_US
    state.former = {job: former for job, former in state.former.items() if former.ended_us >= over_us}


def _tell(state: FabricState, t_us: int) -> list[Emission]:
    """What has changed for whom."""
    by_link: dict[str, int] = {}
    by_job: dict[str, dict[str, int]] = {}
    for anomaly in state.anomalies.values():
        for link in anomaly.path or ():
            by_link[link] = by_link.get(link, 0) + 1
        ends = by_job.setdefault(anomaly.job, {})
        for name in (anomaly.src, anomaly.dst):
            ends[name] = ends.get(name, 0) + 1
    sent = []
    for job in sorted(state.jobs):
        view = state.jobs[job]
        suspects = _suspects(view, by_link, by_job.get(job, {}))
        if suspects != view.suspects:
            view.suspects = suspects
            view.suspicions += 1
            sent.append(_suspicion(state, job, view, t_us))
    return sent


def _suspects(view: JobView, by_link: dict[str, int], ends: dict[str, int]) -> tuple[tuple[str, int], ...]:
    found = {f"link:{link}": count for link, count in by_link.items() if link in view.links}
    for endpoint in view.endpoints.endpoints if ends else ():
        count = ends.get(endpoint.endpoint)
        if count:
            name = f"rnic:{_rnic(endpoint)}"
            found[name] = found.get(name, 0) + count
    heaviest = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MOST_SUSPECTS]
    return tuple(sorted(heaviest))


def _suspicion(state: FabricState, job: str, view: JobView, t_us: int) -> Emission:
    message = JobSuspects(
        v=1,
        t_us=t_us,
        producer=derived_producer(STAGE, job, view.suspicions),
        clock=DERIVED_CLOCK,
        fabric=state.fabric,
        job=job,
        tenant=view.endpoints.tenant,
        version=view.suspicions,
        suspects=tuple(Suspect(component=name, anomalies=count) for name, count in view.suspects),
    )
    return Emission("job-suspects", job, message)
