"""The probing part of the agent: follows plans, answers others, reports trains. A collector and a listener at once.

Told by the agent: endpoint maps (which endpoints are ours, who is ready), probe plans, and the fabric map, if it has
one, for traced paths. Of a job the newest version of each counts. ``period_s`` is the time to the next thing to do,
so an agent without a plan wakes up four times a second.

A result of ``sent`` 0 is told once per pair, reason and message, not for each train.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from collectors.observing import Now, Observed, SelfReport
from collectors.probing.lane import Lane, Place, Surroundings
from collectors.probing.paths import Fabric
from collectors.probing.peers import Peers, address_of, gid_bytes
from collectors.probing.schedule import Limits, Schedule
from collectors.probing.sending import Sender
from collectors.probing.settings import ProbingSettings
from collectors.probing.trains import Tally
from schemas.instants import SECOND_US, micros
from schemas.maps import Endpoint, EndpointMap, FabricMap
from schemas.probing import ProbeKind, ProbePlan, ProbeResult
from schemas.requests import EvidenceRequest

SHORTEST_S, LONGEST_S, POLLED_S = 0.02, 0.25, 0.01
TEND_US = SECOND_US // 4

Group = tuple[str, str | None, str, int]
"""(job, tenant, source, plan version): what one message is about."""


class Home(Struct, frozen=True, kw_only=True):
    """Whose endpoints are ours: of ``host``, and of ``container`` where one is given; ``devices`` of RNICs by name."""

    host: str
    container: str = ""
    devices: Mapping[str, str] = {}
    sys: Path = Path("/sys")

    def has(self, endpoint: Endpoint) -> bool:
        """Whether it lives here."""
        is_here = endpoint.host == self.host and self.container in ("", endpoint.container)
        return is_here and endpoint.state != "gone"


class Prober:
    """See ``collectors.observing``: Collector, Listener, MapReader, PlanFollower, Saver, SelfReporting, Closing."""

    name = "probing"

    def __init__(self, home: Home, settings: ProbingSettings, key: bytes | None = None) -> None:
        if key is not None and not 32 <= len(key) <= 64:
            raise ValueError(f"the probing key must have 32 to 64 bytes, not {len(key)}")
        self._home = home
        self._settings = settings
        session = int.from_bytes(os.urandom(8), "big") >> 1
        self._around = Surroundings(settings=settings, session=session, key=key, sys=home.sys)
        self._peers = Peers(settings.hello_s)
        self._sender = Sender(settings, self._peers)
        self._plans: dict[str, ProbePlan] = {}
        self._schedules: dict[str, Schedule] = {}
        self._epoll = select.epoll()
        self._by_fd: dict[int, tuple[Lane, ProbeKind]] = {}
        self._results: dict[Group, list[ProbeResult]] = {}
        self._told: set[tuple[str, str, str]] = set()
        self._changed = False
        self._factor = 1
        self._now = Now(0, 0)
        self._report_us = self._tend_us = 0

    @property
    def tally(self) -> Tally:
        """Counts since the start."""
        return self._sender.ledger.tally

    @property
    def period_s(self) -> float:
        """Seconds until there is something to do."""
        due = [self._report_us, *(s.next_us() for s in self._schedules.values()), self._sender.next_us()]
        wait_s = (min(us for us in due if us is not None) - self._now.mono_us) / SECOND_US
        longest_s = POLLED_S if any(lane.is_polled for lane in self._sender.lanes.values()) else LONGEST_S
        return max(min(SHORTEST_S, longest_s), min(longest_s, wait_s))

    def take_map(self, endpoint_map: EndpointMap) -> None:
        """See ``MapReader``."""
        self._changed |= self._peers.take_map(endpoint_map)

    def take_plan(self, plan: ProbePlan) -> None:
        """See ``PlanFollower``: an older version than the one that is followed is left out."""
        known = self._plans.get(plan.job)
        if known is None or plan.version > known.version:
            self._plans[plan.job] = plan
            self._schedules.pop(plan.job, None)
            self._changed = True

    def take_fabric(self, fabric: FabricMap) -> None:
        """A fabric map, by which traced hops are known."""
        self._sender.tracer.take_fabric(Fabric(fabric))

    def take_request(self, request: EvidenceRequest) -> None:
        """See ``RequestReader``: the pairs are traced with their next trains, as fast as traces go."""
        if request.kind == "traceroute":
            own = [src for src in request.endpoints if src in self._sender.lanes]
            self._sender.tracer.hurry((src, dst) for src in own for dst in request.towards)

    def save(self, factor: int) -> None:
        """See ``Saver``: probes less, and says so of what is left out."""
        if factor != self._factor:
            self._factor = factor
            self._schedules.clear()
            self._changed = True

    def take_limits(self, settings: ProbingSettings) -> None:
        """See ``LimitsReader``: probes, answers and traces keep within these from now on."""
        self._settings = settings
        self._around = replace(self._around, settings=settings)
        self._sender.limit(settings)
        self._schedules.clear()
        self._changed = True

    def collect(self, now: Now) -> Iterable[Observed]:
        """Sends what is due and gives what was decided; see ``Collector``."""
        self._now = now
        self._poll_all(now)
        self._sender.expire(now)
        if self._changed or now.mono_us >= self._tend_us:
            self._tend_us = now.mono_us + TEND_US
            self._arrange(now)
            self._sender.greet(now)
        for schedule in self._schedules.values():
            for start in schedule.due(now):
                self._sender.begin(start, schedule, now)
        self._sender.send_due(now)
        return self._report(now)

    def fileno(self) -> int:
        """See ``Listener``."""
        return self._epoll.fileno()

    def receive(self, now: Now) -> Iterable[Observed]:
        """Takes what has come in, and answers others."""
        for fd, _ in self._epoll.poll(0):
            lane, name = self._by_fd[fd]
            self._poll(lane, name, now)
        return ()

    def _poll_all(self, now: Now) -> None:
        for lane in self._sender.lanes.values():
            for name in list(lane.transports):
                self._poll(lane, name, now)

    def _poll(self, lane: Lane, name: ProbeKind, now: Now) -> None:
        if name not in lane.open:
            return
        try:
            self._sender.take(lane, name, lane.transports[name].poll(), now)
        except OSError as error:
            lane.fail(name, error, now)
            self._sender.ledger.withdraw(name, lane.place.endpoint, f"{name} had to be opened anew", now)

    def _arrange(self, now: Now) -> None:
        """Lanes for our endpoints, schedules for their jobs."""
        if self._changed:
            self._changed = False
            before = frozenset(self._sender.lanes)
            self._arrange_lanes(now)
            own = frozenset(self._sender.lanes)
            if own != before:
                self._schedules.clear()
            limits = Limits(self._settings.max_pps / self._factor, self._settings.train_packets)
            for job, plan in self._plans.items():
                if job not in self._schedules:
                    self._schedules[job] = Schedule(plan, own, limits)
                    self._peers.forget_wishes(job)
        for lane in self._sender.lanes.values():
            for name in lane.tend(now):
                transport = lane.transports[name]
                self._epoll.register(transport.fileno(), select.EPOLLIN)
                self._by_fd[transport.fileno()] = lane, name

    def _arrange_lanes(self, now: Now) -> None:
        lanes = self._sender.lanes
        wanted = {place.endpoint: place for place in self._places()}
        for name in [name for name, lane in lanes.items() if wanted.get(name) != lane.place]:
            lane = lanes.pop(name)
            lane.close()
            for kind in lane.transports:
                self._sender.ledger.withdraw(kind, name, f"{name} has left or moved", now)
        for name, place in wanted.items():
            if name not in lanes:
                lanes[name] = Lane(place, self._around)

    def _places(self) -> Iterator[Place]:
        for job, tenant, endpoint in self._peers.listed():
            ip = address_of(endpoint)
            if self._home.has(endpoint) and ip is not None:
                yield Place(
                    endpoint=endpoint.endpoint,
                    ip=ip,
                    node=f"{endpoint.host}/{endpoint.rnic}",
                    device=self._home.devices.get(endpoint.rnic, endpoint.rnic),
                    job=job,
                    tenant=tenant,
                )

    def _report(self, now: Now) -> Iterator[Observed]:
        for train, result in self._sender.ledger.take_decided():
            self._keep((train.job, train.tenant, train.src, train.plan_version), result)
        for trace, result in self._sender.tracer.take_results():
            job, tenant, version = trace.about
            self._keep((job, tenant, trace.flow[0], version), result)
        if now.mono_us >= self._report_us:
            self._report_us = now.mono_us + micros(self._settings.report_s)
            yield from self._flush(now)

    def _keep(self, group: Group, result: ProbeResult) -> None:
        if result.sent == 0:
            once = group[2], result.dst, result.outcome
            if once in self._told:
                return
            self._told.add(once)
        self._results.setdefault(group, []).append(result)

    def _flush(self, now: Now) -> Iterator[Observed]:
        results, self._results = self._results, {}
        self._told.clear()
        for (job, tenant, src, version), trains in results.items():
            fields = {"job": job, "tenant": tenant, "src": src, "plan_version": version, "results": tuple(trains)}
            yield Observed(topic="probe-results", stream=f"probe-results/{src}", t_us=now.t_us, fields=fields)

    def report(self) -> SelfReport:
        """See ``SelfReporting``. A GID is spelled as the endpoint map spells it, if it is the same."""
        gids = {}
        for name, lane in self._sender.lanes.items():
            listed = self._peers.endpoint(name)
            if lane.gid is not None:
                is_listed = listed is not None and gid_bytes(listed.gid) == gid_bytes(lane.gid)
                gids[name] = listed.gid if listed is not None and listed.gid and is_listed else lane.gid
        versions = [schedule.version for schedule in self._schedules.values()]
        return SelfReport(covers=tuple(self._sender.lanes), gids=gids, plan_version=min(versions, default=None))

    def close(self, now: Now) -> Iterable[Observed]:
        """See ``Closing``: what was decided is told; what is on its way is not, it proves nothing."""
        self._poll_all(now)
        last = [*self._report(now), *self._flush(now)]
        for lane in self._sender.lanes.values():
            lane.close()
        self._sender.lanes.clear()
        self._epoll.close()
        return last
