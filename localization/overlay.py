"""Overlay pass: does the virtual network forward the pairs' packets? Assumes that the underlay is healthy.

The forwarding chain of each pair is replayed, both directions, through the newest flow tables: ``vif:<src>`` ->
``vswitch:`` -> ``tunnel:`` -> ``rnic:`` -> fabric -> ``rnic:`` -> ``tunnel:`` -> ``vswitch:`` -> ``vif:<dst>``. A row
without a next hop drops, a place seen twice is a loop, a tunnel that ends at another RNIC is wrong: blame there. A
missing row is a broken chain only at the source's side of the probed direction, since packets that never arrive make no
rows, and only in a snapshot from after the onset that was taken while the pair was probed, since idle rules age out. An
RNIC that lacks a row is the boundary
pass's matter.
"""

from __future__ import annotations

from dataclasses import dataclass

from localization.cases import Clue, Outcome
from localization.flows import Row, Table
from localization.routes import trains_of
from localization.scene import Scene, listing
from schemas.diagnosis import Evidence, PassTest, TracePass, Verdict
from schemas.instants import SECOND_US
from schemas.telemetry import FlowEntry

ASSUMPTION = "the physical network delivers every packet"
MOST_PAIRS = 16
LONGEST = 16
BROKEN_NATS = 8.0
SOFTWARE_NATS = 4.0
IN_USE_US = 5 * SECOND_US


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a replay ended: ``result``, the component that is to blame (None: nobody), and what was passed."""

    result: str
    culprit: str | None
    detail: str
    row: FlowEntry | None = None
    not_offloaded: bool = False


def overlay_pass(scene: Scene) -> Outcome:
    """Runs the pass."""
    outcome = Outcome(TracePass(pass_="overlay", assumption=ASSUMPTION, tests=(), verdict="clean", reason=""))
    walks: list[Walk] = []
    tests: list[PassTest] = []
    for src, dst in scene.pairs[:MOST_PAIRS]:
        for pair, probed in (((src, dst), True), ((dst, src), (dst, src) in scene.pairs)):
            walk = _replay(scene, pair, probed)
            walks.append(walk)
            tests.append(PassTest(test=f"{pair[0]} to {pair[1]}", result=walk.result, detail=walk.detail))
            _note(scene, outcome, walk)
    verdict, reason = _conclude(scene, outcome, walks)
    outcome.trace = TracePass(
        pass_="overlay", assumption=ASSUMPTION, tests=tuple(tests), verdict=verdict, reason=reason
    )
    return outcome


def _replay(scene: Scene, pair: tuple[str, str], probed: bool) -> Walk:
    """Follows one direction of a pair."""
    topology = scene.topology
    source, target = topology.endpoints.get(pair[0]), topology.endpoints.get(pair[1])
    if source is None or target is None:
        return Walk("not known", None, "the endpoint map does not list both endpoints")
    near, far = scene.store.flows.vswitch(source.host), scene.store.flows.vswitch(target.host)
    if near is None:
        return Walk("not observed", None, f"no flow table of host {source.host} was dumped")
    ends = f"rnic:{source.host}/{source.rnic}", f"rnic:{target.host}/{target.rnic}"
    sender = scene.store.flows.rnic(source.host, source.rnic)
    here = _Place(f"vif:{pair[0]}", f"vswitch:{source.host}", f"tunnel:{source.host}")
    fresh = near.complete_us >= scene.onset_us and _is_probed(scene, pair, near.complete_us)
    out = _walk_out(near, sender, pair, (here, ends), probed and fresh)
    if out.culprit is not None or out.result != "passes":
        return out
    if far is None:
        return Walk(
            "passes", None, f"{out.detail}; no flow table of host {target.host} was dumped", out.row, out.not_offloaded
        )
    there = _Place(f"vif:{pair[1]}", f"vswitch:{target.host}", f"tunnel:{target.host}")
    inside = _walk_in(far, pair, there)
    return Walk(
        inside.result, inside.culprit, f"{out.detail} -> {inside.detail}", inside.row or out.row, out.not_offloaded
    )


def _is_probed(scene: Scene, pair: tuple[str, str], t_us: int) -> bool:
    """Whether the pair was probed in the moments before an instant: plans change, and rules outlive their use."""
    table = scene.store.watch.routes
    both_ways = table.of_pair(*pair)
    routes = both_ways[[table.routes[number][:2] == pair for number in both_ways.tolist()]]
    seconds = [s for s in scene.store.watch.window.seconds if t_us - IN_USE_US < s.t_us <= t_us + SECOND_US]
    return any(len(trains_of(second.route, routes)) for second in seconds)


@dataclass(frozen=True, slots=True)
class _Place:
    """The places of one host in a chain."""

    vif: str
    vswitch: str
    tunnel: str


def _walk_out(
    table: Table, sender: Table | None, pair: tuple[str, str], where: tuple[_Place, tuple[str, str]], probed: bool
) -> Walk:
    """From the source's interface to the destination's RNIC."""
    here, (own_rnic, peer_rnic) = where
    rows = table.chain(pair)
    start = next((place for place in (here.vif, here.vswitch, here.tunnel) if place in rows), None)
    if start is None:
        if probed and table.of_pair(pair):
            return Walk("broken chain", here.vswitch, f"{here.vswitch} no longer holds a rule for the pair")
        return Walk("no rows", None, f"{here.vswitch} holds no rule of the pair")
    end, passed, row = _follow(rows, start, {own_rnic, peer_rnic})
    trail = " -> ".join(passed)
    if row is not None and row.entry.next is None:
        return Walk("dropped", row.entry.at, f"{trail}, where {_rule(row)} drops it", row.entry)
    if end in passed[:-1]:
        return Walk("loop", end, f"{trail}: a loop", row.entry if row else None)
    if end == own_rnic:
        return _leave(sender, pair, (trail, own_rnic, peer_rnic), row)
    if end == peer_rnic:
        return Walk("passes", None, trail, row.entry if row else None, _in_software(row))
    if end.startswith("rnic:"):
        return Walk("wrong tunnel", here.tunnel, f"{trail}, instead of {own_rnic}", row.entry if row else None)
    culprit = end if probed else None
    return Walk("broken chain", culprit, f"{trail}, which holds no rule of the pair", row.entry if row else None)


def _leave(sender: Table | None, pair: tuple[str, str], way: tuple[str, str, str], last: Row | None) -> Walk:
    """What the sending RNIC does with it, if it holds the flow."""
    trail, own_rnic, peer_rnic = way
    row = sender.chain(pair).get(own_rnic) if sender else None
    software = _in_software(last)
    if row is None:
        return Walk("passes", None, trail, last.entry if last else None, software)
    if row.entry.next is None:
        return Walk("dropped", own_rnic, f"{trail}, whose rule {_rule(row)} drops it", row.entry)
    if row.entry.next != peer_rnic:
        return Walk("wrong tunnel", own_rnic, f"{trail} -> {row.entry.next}, instead of {peer_rnic}", row.entry)
    return Walk("passes", None, f"{trail} -> {peer_rnic}", row.entry, software)


def _walk_in(table: Table, pair: tuple[str, str], there: _Place) -> Walk:
    """From the destination's tunnel to its interface."""
    rows = table.chain(pair)
    start = next((place for place in (there.tunnel, there.vswitch) if place in rows), None)
    if start is None:
        return Walk("passes", None, f"{there.tunnel} (no row: nothing arrived lately)")
    end, passed, row = _follow(rows, start, {there.vif})
    trail = " -> ".join(passed)
    if row is not None and row.entry.next is None:
        return Walk("dropped", row.entry.at, f"{trail}, where {_rule(row)} drops it", row.entry)
    if end in passed[:-1]:
        return Walk("loop", end, f"{trail}: a loop", row.entry if row else None)
    if end.startswith("vif:") and end != there.vif:
        return Walk("wrong interface", there.vswitch, f"{trail}, instead of {there.vif}", row.entry if row else None)
    return Walk("passes", None, trail, row.entry if row else None)


def _follow(rows: dict[str, Row], start: str, stops: set[str]) -> tuple[str, list[str], Row | None]:
    """Where the chain ends, what it passed, and its last row."""
    passed, here, last = [start], start, None
    while here in rows and here not in stops and len(passed) < LONGEST:
        last = rows[here]
        if last.entry.next is None:
            break
        here = last.entry.next
        looped = here in passed
        passed.append(here)
        if looped:
            break
    return here, passed, last


def _rule(row: Row) -> str:
    return f"{row.entry.flow} ({row.entry.match or 'any'} -> {row.entry.actions or 'drop'})"


def _in_software(row: Row | None) -> bool:
    return row is not None and row.entry.offloaded is False and row.entry.path == "software"


def _note(scene: Scene, outcome: Outcome, walk: Walk) -> None:
    if walk.culprit is None:
        return
    outcome.clues.append(Clue(walk.culprit, BROKEN_NATS, "network_fault", None, "overlay", walk.detail))
    ref = walk.row.flow if walk.row else walk.culprit
    outcome.evidence.append(Evidence(topic="flow-tables", t_us=scene.t_us, ref=ref, text=walk.detail))


def _conclude(scene: Scene, outcome: Outcome, walks: list[Walk]) -> tuple[Verdict, str]:
    blamed = list(dict.fromkeys(walk.culprit for walk in walks if walk.culprit))
    if blamed:
        return "suspect", f"the forwarding chain ends at {listing(blamed)}"
    if walks and all(walk.result == "passes" for walk in walks):
        return "clean", "every chain leads from interface to interface through the right tunnel"
    passing = [walk for walk in walks if walk.result == "passes"]
    if passing and not any(walk.result in ("not observed", "not known") for walk in walks):
        return "clean", "every chain that the tables hold leads to its destination"
    unseen = [e for e in scene.endpoints() if (h := scene.topology.host_of(e)) and not scene.store.flows.vswitch(h)]
    places = [f"{scene.topology.host_of(e)} (virtual switch and {scene.topology.endpoints[e].rnic})" for e in unseen]
    outcome.wanted.append(f"flow tables of {listing(places) if places else 'the hosts'}")
    return "inconclusive", "the flow tables at hand do not show the pairs' chains"
