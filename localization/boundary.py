"""Boundary pass: do the virtual switch and the RNIC agree on what is offloaded?

Each layer is taken to work by itself. The flows of each pair (both directions, both hosts) are compared by their id in
the two tables of a host:

- the virtual switch believes a flow offloaded, the RNIC's complete snapshot (no older than the virtual switch's) lacks
  it or holds it as not offloaded: the offload has failed, blame the RNIC;
- a flow that was made anew ``FLAPS`` times lately: offloaded again and again, blame the virtual switch;
- a flow in software by the virtual switch's own choice: with nearly all flows of the host it does not use RDMA, alone
  among offloaded ones it is in the wrong order.

Nats = ln(1 / share of the two hosts' other flows with the same finding): a mismatch that healthy flows have too proves
little. Hosts with few flows are judged by what is usual on others as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from math import log

from localization.cases import Clue, Outcome, ends_between
from localization.flows import Row, Table
from localization.scene import BEFORE_US, Scene, in_seconds, listing
from schemas.diagnosis import Evidence, IssueId, PassTest, TracePass, Verdict
from schemas.instants import SECOND_US

ASSUMPTION = "overlay and underlay each work by themselves"
MOST_PAIRS = 16
FLAPS = 2
NEARLY_ALL = 0.8
SKEW_US = SECOND_US
MOST_NATS = 8.0
MOST_HOSTS = 8
LIKE_USUAL = 4.0


@dataclass(frozen=True, slots=True)
class Side:
    """One host end of a pair: its two tables, as far as they were dumped."""

    host: str
    rnic: str
    vswitch: Table | None
    nic: Table | None


Check = Callable[[Scene, Side, Row], str | None]
"""What is wrong with a flow that the virtual switch's ``row`` stands for, in words; None: nothing."""


def boundary_pass(scene: Scene) -> Outcome:
    """Runs the pass."""
    outcome = Outcome(TracePass(pass_="boundary", assumption=ASSUMPTION, tests=(), verdict="clean", reason=""))
    tests: list[PassTest] = []
    state = _Progress()
    for src, dst in scene.pairs[:MOST_PAIRS]:
        for endpoint in (src, dst):
            side = _side(scene, endpoint)
            if side is not None:
                _compare_side(scene, side, (src, dst), (outcome, tests, state))
    verdict, reason = _conclude(outcome, state)
    outcome.trace = TracePass(
        pass_="boundary", assumption=ASSUMPTION, tests=tuple(tests), verdict=verdict, reason=reason
    )
    return outcome


@dataclass(slots=True)
class _Progress:
    """What was seen so far: blamed components, tables that are missing or too old, flows compared.

    ``shares``: by host and check, the other flows of the host and those of them with the same finding. ``hosts``: some
    hosts of the fabric.
    """

    blamed: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    compared: int = 0
    shares: dict[tuple[str, Check], tuple[int, int]] = field(default_factory=dict)
    hosts: list[str] = field(default_factory=list)

    def rarity(self, scene: Scene, pair: tuple[str, str], check: Check) -> float:
        """Nats of a finding: how rare it is among the flows of the pair's two hosts that belong to no ill pair.

        Where these have few flows it is taken to be as rare as on other hosts (a Beta prior of ``LIKE_USUAL`` flows).
        """
        own = sorted({host for endpoint in pair if (host := scene.topology.host_of(endpoint))})
        elsewhere = [host for host in self._hosts(scene) if host not in own][:MOST_HOSTS]
        total, found = self._count(scene, elsewhere, check)
        usual = (found + 0.5) / (total + 1.0)
        total, found = self._count(scene, own, check)
        return log((total + LIKE_USUAL) / (found + LIKE_USUAL * usual))

    def _hosts(self, scene: Scene) -> list[str]:
        if not self.hosts:
            dumped = {host for host, rnic in scene.store.flows.tables if rnic is None}
            self.hosts = nsmallest(MOST_HOSTS + 2, dumped)
        return self.hosts

    def _count(self, scene: Scene, hosts: Sequence[str], check: Check) -> tuple[int, int]:
        """Flows of these hosts, and those with the same finding."""
        for host in hosts:
            if (host, check) not in self.shares:
                self.shares[host, check] = _share(scene, host, check)
        counts = [self.shares[host, check] for host in hosts]
        return sum(total for total, _ in counts), sum(found for _, found in counts)


def _side(scene: Scene, endpoint: str) -> Side | None:
    found = scene.topology.endpoints.get(endpoint)
    if found is None:
        return None
    flows = scene.store.flows
    return Side(found.host, found.rnic, flows.vswitch(found.host), flows.rnic(found.host, found.rnic))


def _compare_side(
    scene: Scene, side: Side, pair: tuple[str, str], into: tuple[Outcome, list[PassTest], _Progress]
) -> None:
    outcome, tests, state = into
    if side.vswitch is None or side.nic is None or not side.nic.complete_us:
        state.missing.append(f"{side.host} (virtual switch and {side.rnic})")
        return
    rows = _flows(side.vswitch, pair) | _flows(side.vswitch, (pair[1], pair[0]))
    if min(side.vswitch.seen_us, side.nic.complete_us) < max(scene.onset_us, side.vswitch.seen_us - SKEW_US):
        state.stale.append(f"{side.host} ({in_seconds(side.nic.complete_us, scene.onset_us)})")
    for flow in sorted(rows):
        state.compared += 1
        result, detail = "consistent", f"{flow} on {side.host}: both tables agree"
        for check, name, issue in CHECKS:
            text = check(scene, side, rows[flow])
            if text is None:
                continue
            nats = min(MOST_NATS, state.rarity(scene, pair, check))
            component = f"rnic:{side.host}/{side.rnic}" if issue == "offloading_failure" else f"vswitch:{side.host}"
            result, detail = name, f"{text}; {nats:.1f} nats over its share among the hosts' other flows"
            outcome.clues.append(Clue(component, nats, "network_fault", issue, "boundary", text))
            outcome.evidence.append(Evidence(topic="flow-tables", t_us=side.nic.complete_us, ref=flow, text=text))
            state.blamed.setdefault(component, text)
            break
        tests.append(PassTest(test=f"flow {flow} on {side.host}", result=result, detail=detail))


def _flows(table: Table, pair: tuple[str, str]) -> dict[str, Row]:
    """One row for each flow of a pair: the one nearest to the wire, which is the one that is offloaded."""
    found: dict[str, Row] = {}
    for row in table.of_pair(pair):
        if row.present and (row.entry.flow not in found or row.entry.at.startswith("tunnel:")):
            found[row.entry.flow] = row
    return found


def _not_held(scene: Scene, side: Side, row: Row) -> str | None:
    """The virtual switch believes the flow offloaded, the RNIC does not hold it."""
    nic, vswitch = side.nic, side.vswitch
    if nic is None or vswitch is None or row.entry.offloaded is not True:
        return None
    if nic.complete_us < row.seen_us - SKEW_US:
        return None
    held = next((held for held in _nic_rows(nic, row) if held.present), None)
    if held is not None and held.entry.offloaded is not False:
        return None
    known = _nic_rows(nic, row)
    since = known[0].changes[-1].t_us if known else None
    when = f" (gone by {in_seconds(since, scene.onset_us)})" if since else " (never seen there)"
    packets = "; its packets were seen in software" if row.entry.path == "software" else ""
    return (
        f"vswitch:{side.host} holds {row.entry.flow} as offloaded,"
        f" but rnic:{side.host}/{side.rnic} does not hold it{when}{packets}"
    )


def _nic_rows(nic: Table, row: Row) -> list[Row]:
    return nic.of_flow(row.entry.flow)


def _flaps(scene: Scene, side: Side, row: Row) -> str | None:
    """The flow was taken back and offloaded anew several times."""
    since_us = scene.onset_us - BEFORE_US
    rows = [row, *(_nic_rows(side.nic, row) if side.nic is not None else [])]
    times = max(len(each.renewals(since_us)) for each in rows)
    if times < FLAPS:
        return None
    return f"{row.entry.flow} on {side.host} was invalidated and offloaded anew {times} times lately"


def _passed_over(_: Scene, side: Side, row: Row) -> str | None:
    """The flow is in software by choice, while most others are offloaded."""
    if side.vswitch is None or row.entry.offloaded is not False or row.entry.path != "software":
        return None
    others = [other for other in side.vswitch.rows.values() if other.present and other.entry.flow != row.entry.flow]
    offloaded = [other for other in others if other.entry.offloaded]
    if not others or len(offloaded) < len(others) / 2:
        return None
    idler = [other for other in offloaded if (other.entry.packets or 0) < (row.entry.packets or 0)]
    return (
        f"vswitch:{side.host} leaves {row.entry.flow} in software while {len(offloaded)} of {len(others)} other rows"
        f" are offloaded, {len(idler)} of them with fewer packets"
    )


def _all_in_software(_: Scene, side: Side, row: Row) -> str | None:
    """The host sends nearly everything through software, by the virtual switch's own choice: no RDMA any more."""
    if side.vswitch is None or row.entry.offloaded is not False or row.entry.path != "software":
        return None
    sending = [r for r in side.vswitch.rows.values() if r.present and r.entry.at == f"tunnel:{side.host}" and _out(r)]
    slow = [r for r in sending if r.entry.offloaded is False and r.entry.path == "software"]
    if row not in slow or len(slow) < NEARLY_ALL * len(sending) or len(slow) < 2:
        return None
    return f"vswitch:{side.host} sends {len(slow)} of its {len(sending)} flows through software, none of them offloaded"


def _out(row: Row) -> bool:
    """Whether a tunnel's row leads out to an RNIC."""
    return row.entry.next is not None and row.entry.next.startswith("rnic:")


CHECKS: tuple[tuple[Check, str, IssueId], ...] = (
    (_flaps, "flapping", "repetitive_flow_offloading"),
    (_not_held, "inconsistent", "offloading_failure"),
    (_all_in_software, "all in software", "not_using_rdma"),
    (_passed_over, "passed over", "suboptimal_flow_offloading"),
)


def _share(scene: Scene, host: str, check: Check) -> tuple[int, int]:
    """How many flows of a host belong to pairs that are probed and well, and of how many a check finds something."""
    ill = scene.ill | {ends_between(*pair) for pair in scene.pairs}
    probed = scene.store.watch.routes.pair_index
    table = scene.store.flows.vswitch(host)
    others: dict[str, Row] = {}
    for (flow, _), row in table.rows.items() if table else ():
        src, dst = row.entry.src or "", row.entry.dst or ""
        ends = ends_between(src, dst)
        if row.present and ends in probed and ends not in ill:
            others.setdefault(flow, row)
    return len(others), sum(check(scene, _side_of(scene, host, row), row) is not None for row in others.values())


def _side_of(scene: Scene, host: str, row: Row) -> Side:
    """The side of a host that a flow passes: its endpoint's RNIC."""
    flows = scene.store.flows
    for endpoint in (row.entry.src, row.entry.dst):
        found = scene.topology.endpoints.get(endpoint or "")
        if found is not None and found.host == host:
            return Side(host, found.rnic, flows.vswitch(host), flows.rnic(host, found.rnic))
    return Side(host, "", flows.vswitch(host), None)


def _conclude(outcome: Outcome, state: _Progress) -> tuple[Verdict, str]:
    if state.blamed:
        return "suspect", next(iter(state.blamed.values()))
    if state.missing:
        places = list(dict.fromkeys(state.missing))
        outcome.wanted.append(f"flow tables of {listing(places)}")
        return "inconclusive", f"no flow tables of {listing(places)} to compare"
    if state.stale:
        outcome.awaited = True
        outcome.wanted.append("flow tables from after the onset")
        return "inconclusive", f"the newest flow tables are from before the onset: {listing(state.stale)}"
    if not state.compared:
        return "inconclusive", "neither table holds a flow of the pairs"
    return "clean", f"both tables agree on all {state.compared} flows of the pairs"
