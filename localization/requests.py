"""Which evidence would decide a case, who can bring it, was it asked for, and did it come?

A case whose verdict names nobody, waits for newer flow tables, or blames a host's part for no known reason wants: flow
tables of both ends' hosts, where there are none from after the onset; and, on fabrics whose paths are traced, paths of
ill pairs whose links are not known. A case that is the monitor's own trouble wants nothing: whoever would answer is
silent.

Limits: a host is asked for the same kind again only when it has answered and ``GAP_S`` have passed, or when it has let
a request expire, and ``MOST_TIMES`` for one incident; a fabric asks ``MOST_A_SECOND`` hosts a second. Cases that want
the same of a host share a request. "It came" means newer evidence than the request, whoever caused it.
Cost: O(pairs of the case) each time an undecided case is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import msgspec

from localization.evidence import EvidenceStore
from localization.scene import in_seconds, listing
from localization.verdict import Verdict
from schemas.diagnosis import IncidentKind, PassName, PassTest, TracePass
from schemas.folding import DERIVED_CLOCK, Emission, derived_producer
from schemas.ids import content_id
from schemas.instants import SECOND_US
from schemas.requests import EvidenceRequest, WantedKind

EXPIRY_S = 30
GAP_S = 10
MOST_TIMES = 3
MOST_PAIRS = 16
MOST_HOSTS = 8
MOST_A_SECOND = 32
REMEMBERED_S = 900
ABOUT_THE_NETWORK: frozenset[IncidentKind] = frozenset(["network_fault", "congestion", "insufficient_evidence"])
PASSES: dict[WantedKind, PassName] = {"flow-tables": "boundary", "traceroute": "underlay"}
IN_THE_FABRIC = frozenset(["switch", "port", "link"])
WORDS: dict[WantedKind, str] = {"flow-tables": "flow tables", "traceroute": "traceroutes"}


class Wish(NamedTuple):
    """What one host could bring for a case."""

    kind: WantedKind
    host: str
    endpoints: tuple[str, ...]
    towards: tuple[str, ...]
    reason: str


@dataclass(slots=True)
class Asked:
    """A request that was sent. ``cases``: who waits for it, and how often the first of them has asked by now."""

    request: EvidenceRequest
    times: int
    cases: list[str]
    came_us: int | None = None

    def is_open(self, t_us: int) -> bool:
        """Whether an answer may still come, or has come so lately that another would say the same."""
        if self.came_us is not None:
            return t_us < self.came_us + GAP_S * SECOND_US
        return t_us < self.request.expires_us


@dataclass(slots=True)
class RequestBook:
    """The newest request of each kind to each host of a fabric; ``sent`` numbers the messages."""

    fabric: str
    sent: int = 0
    asked: dict[tuple[WantedKind, str], Asked] = field(default_factory=dict)

    def follow(self, store: EvidenceStore, t_us: int) -> None:
        """Notes what has come by now, and forgets what is long over."""
        for asked in self.asked.values():
            if asked.came_us is None and t_us <= asked.request.expires_us:
                asked.came_us = _came(asked.request, store)
        forget_us = t_us - REMEMBERED_S * SECOND_US
        self.asked = {key: asked for key, asked in self.asked.items() if asked.request.t_us >= forget_us}

    def ask(self, case: str, wishes: Iterable[Wish], t_us: int) -> Iterator[Emission]:
        """Sends what is wanted and was not asked for yet."""
        for wish in wishes:
            known = self.asked.get((wish.kind, wish.host))
            if known is not None and known.is_open(t_us):
                if case not in known.cases:
                    known.cases.append(case)
                continue
            again = known is not None and case in known.cases
            times = known.times + 1 if known is not None and again else 1
            if times > MOST_TIMES or self._asked_at(t_us) >= MOST_A_SECOND:
                continue
            request = self._request(case, wish, t_us)
            self.asked[wish.kind, wish.host] = Asked(request, times, known.cases if known and again else [case])
            yield Emission("evidence-requests", self.fabric, request)

    def _asked_at(self, t_us: int) -> int:
        return sum(asked.request.t_us == t_us for asked in self.asked.values())

    def _request(self, case: str, wish: Wish, t_us: int) -> EvidenceRequest:
        self.sent += 1
        return EvidenceRequest(
            v=1,
            t_us=t_us,
            producer=derived_producer("localization-requests", self.fabric, self.sent),
            clock=DERIVED_CLOCK,
            fabric=self.fabric,
            request=content_id("request", self.fabric, case, wish.kind, wish.host, t_us),
            incident=case,
            kind=wish.kind,
            host=wish.host,
            endpoints=wish.endpoints,
            towards=wish.towards,
            reason=wish.reason,
            expires_us=t_us + EXPIRY_S * SECOND_US,
        )

    def noted(self, case: str, verdict: Verdict, onset_us: int, t_us: int) -> Verdict:
        """The verdict with what was asked for its sake: in the traces of the passes that want it, and in its advice."""
        mine = [self.asked[key] for key in sorted(self.asked) if case in self.asked[key].cases]
        if not mine or verdict.kind not in ABOUT_THE_NETWORK:
            return verdict
        trace = tuple(_with_tests(step, mine, onset_us, t_us) for step in verdict.trace)
        action = verdict.action
        if not verdict.firm:
            action = msgspec.structs.replace(action, why=f"{action.why}; {_summary(mine, t_us)}")
        return replace(verdict, trace=trace, action=action)


def is_lacking(verdict: Verdict) -> bool:
    """Whether more evidence is wanted: nobody is named, or newer flow tables may say otherwise, or give the reason."""
    if verdict.kind not in ABOUT_THE_NETWORK:
        return False
    return verdict.awaited or not verdict.firm or _lacks_reason(verdict)


def _lacks_reason(verdict: Verdict) -> bool:
    """Whether something on a host is blamed for no known reason, and its flow tables could not be compared."""
    place = (verdict.component or "").partition(":")[0]
    unseen = any(step.pass_ == "boundary" and step.verdict == "inconclusive" for step in verdict.trace)
    return verdict.kind == "network_fault" and verdict.issue is None and place not in IN_THE_FABRIC and unseen


def wishes_of(pairs: list[tuple[str, str]], verdict: Verdict, store: EvidenceStore, onset_us: int) -> list[Wish]:
    """What would decide a case of ``pairs`` and can be brought, in a fixed order."""
    near = pairs[:MOST_PAIRS]
    unsure = any(step.pass_ == "underlay" and step.verdict == "inconclusive" for step in verdict.trace)
    return [*_tables(near, store, onset_us), *(_traces(near, store) if unsure and not verdict.firm else ())]


def _tables(pairs: list[tuple[str, str]], store: EvidenceStore, onset_us: int) -> list[Wish]:
    """Flow tables that are missing or from before the onset, by host."""
    wishes = []
    for host, endpoints in list(_by_host({end for pair in pairs for end in pair}, store).items())[:MOST_HOSTS]:
        newest_us = _newest_us(host, endpoints, store)
        if newest_us is not None and newest_us >= onset_us:
            continue
        lack = "there are none" if newest_us is None else f"the newest are from {in_seconds(newest_us, onset_us)}"
        wishes.append(Wish("flow-tables", host, endpoints, (), f"flow tables of {host} would decide, but {lack}"))
    return wishes


def _newest_us(host: str, endpoints: tuple[str, ...], store: EvidenceStore) -> int | None:
    """Since when the oldest of the tables is known that a comparison needs; None: one was never dumped."""
    rnics = sorted({store.topology.endpoints[endpoint].rnic for endpoint in endpoints})
    vswitch, cards = store.flows.vswitch(host), [store.flows.rnic(host, rnic) for rnic in rnics]
    seen = [vswitch.seen_us if vswitch else 0, *(card.complete_us if card else 0 for card in cards)]
    return min(seen) or None


def _traces(pairs: list[tuple[str, str]], store: EvidenceStore) -> list[Wish]:
    """Paths of pairs that nobody knows, by the source's host; only agents with a map can tell links from hops."""
    fabric_map = store.topology.fabric_map
    if fabric_map is None or fabric_map.ecmp.method == "hash":
        return []
    unknown = [pair for pair in pairs if pair[0] in store.topology.endpoints and not _is_known(pair, store)]
    wishes = []
    for host, sources in list(_by_host({src for src, _ in unknown}, store).items())[:MOST_HOSTS]:
        towards = tuple(sorted({dst for src, dst in unknown if src in sources}))
        reason = f"the links from {listing(list(sources))} to {listing(list(towards))} are not known"
        wishes.append(Wish("traceroute", host, sources, towards, reason))
    return wishes


def _is_known(pair: tuple[str, str], store: EvidenceStore) -> bool:
    """Whether a path of a pair is known in that direction."""
    table = store.watch.routes
    routes = (table.routes[at] for at in table.of_pair(*pair).tolist())
    return any(route[:2] == pair and table.path(store.topology, route) is not None for route in routes)


def _by_host(endpoints: Iterable[str], store: EvidenceStore) -> dict[str, tuple[str, ...]]:
    """Endpoints by their host, both in alphabetical order; those of unknown hosts are left out."""
    found: dict[str, tuple[str, ...]] = {}
    for endpoint in sorted(endpoints):
        host = store.topology.host_of(endpoint)
        if host is not None:
            found[host] = (*found.get(host, ()), endpoint)
    return dict(sorted(found.items()))


def _came(request: EvidenceRequest, store: EvidenceStore) -> int | None:
    """When what was asked for came, by its own clock; None: it has not."""
    if request.kind == "flow-tables":
        endpoints = tuple(endpoint for endpoint in request.endpoints if endpoint in store.topology.endpoints)
        newest_us = _newest_us(request.host, endpoints, store)
        return newest_us if newest_us is not None and newest_us >= request.t_us else None
    pairs = [(src, dst) for src in request.endpoints for dst in request.towards]
    return store.watch.window.seconds[-1].t_us if any(_is_known(pair, store) for pair in pairs) else None


def _with_tests(step: TracePass, asked: list[Asked], onset_us: int, t_us: int) -> TracePass:
    """A pass with a test for each request that it wanted."""
    tests = [_test(each, onset_us, t_us) for each in asked if PASSES[each.request.kind] == step.pass_]
    return msgspec.structs.replace(step, tests=(*step.tests, *tests))


def _test(asked: Asked, onset_us: int, t_us: int) -> PassTest:
    request = asked.request
    detail = f"asked {in_seconds(request.t_us, onset_us)} ({request.request}), as {request.reason}"
    if asked.came_us is not None:
        detail += f"; it came {in_seconds(asked.came_us, onset_us)}"
    name = f"{WORDS[request.kind]} asked of {request.host}"
    return PassTest(test=name, result=_result(asked, t_us), detail=detail)


def _result(asked: Asked, t_us: int) -> str:
    if asked.came_us is not None:
        return "came"
    return "awaited" if t_us < asked.request.expires_us else "never came"


def _summary(asked: list[Asked], t_us: int) -> str:
    """What was asked for and what became of it, in a few words."""
    parts = []
    for kind in PASSES:
        for result in ("came", "awaited", "never came"):
            hosts = [a.request.host for a in asked if a.request.kind == kind and _result(a, t_us) == result]
            if hosts:
                parts.append(
                    f"{WORDS[kind]} of {listing(hosts)} {result if result != 'awaited' else 'have not come yet'}"
                )
    return "asked for: " + ", ".join(parts)
