"""One search of the fabric's last minute: the window as a sample, its best faults, which known ones they replace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from localization.arrays import Flags, Floats, Ints
from localization.faults import Fault, crossing_of, same_trouble
from localization.history import Second
from localization.inference import Explanation, infer, merge_links
from localization.lasting import settled_picks
from localization.modes import MODES
from localization.samples import Pick, Sample
from localization.suspects import PRIOR_NATS, Suspect, component_of
from localization.watch import HEAVY_LOSS, REVIEW_S, FabricWatch
from localization.weighing import most_by_suspect
from schemas.instants import SECOND_US

SLOWEST_LOOK_S = 16
SLOWEST_REVIEW_S = 64
LEAST_EXPOSED = 5.0
"""A route is a whole witness once a fault would have taken so many packets from it, if its replies crossed it."""
STILL = 0.5
"""Share of a fault's nats that has to be explained by another one before that takes its place."""
NEARLY_ALL = 0.9
MOST_SUSPECTS = 4096
_RANK = list(PRIOR_NATS)


def look(watch: FabricWatch, t_us: int) -> bool:
    """Searches the window; whether the set of faults has changed. A search in vain makes the next one wait longer."""
    watch.looked_at = watch.most_evidence()
    sample, numbers = sample_of(watch)
    known = settled_picks(watch, numbers, t_us)
    found = infer(sample, watch.penalty, lambda suspect: rank(watch, int(numbers[suspect])), known)
    picks = merge_links(sample, found.picks, _switch_links(watch, found.picks, numbers), watch.penalty)
    found, picks = _numbered(found, numbers), [_renamed(pick, numbers) for pick in picks]
    _weigh_replies(watch, picks, found.level)
    changed = adopt(watch, found, numbers, [_fault(watch, pick, t_us) for pick in picks])
    watch.look_gap_s = 1 if changed else min(2 * watch.look_gap_s, SLOWEST_LOOK_S)
    watch.next_look_us = t_us + watch.look_gap_s * SECOND_US
    watch.review_gap_s = REVIEW_S if changed else min(2 * watch.review_gap_s, SLOWEST_REVIEW_S)
    watch.review_us = t_us + watch.review_gap_s * SECOND_US
    return changed


def sample_of(watch: FabricWatch) -> tuple[Sample, Ints]:
    """The window as input of the search, and the numbers of the suspects in it, which has its own; faults that are over
    count as background while they lasted.
    """
    over = [fault for fault in watch.faults if fault.ended_us is not None]
    parts = [_lossy_of(watch, second, over) for second in watch.window.seconds]
    lossy, tried = [part for part, _, _ in parts], tried_modes(watch)
    modes = MODES.only(tried)
    route = np.concatenate([part.route for part in lossy])
    sent = np.concatenate([part.sent for part in lossy]).astype(np.float64)
    lost = np.concatenate([part.lost for part in lossy]).astype(np.float64)
    base = np.concatenate([p for _, p, _ in parts])
    members, (routes, own_route) = watch.routes.members[route], np.unique(route, return_inverse=True)
    numbers = _worth_keeping(watch, members, lambda: modes.say(lost, sent - lost, base))
    own = np.full(len(watch.routes.suspects.all) + 1, -1, np.int64)
    own[numbers] = np.arange(len(numbers))
    whole = own[watch.routes.whole_cables(watch.topology, numbers)]
    names = watch.routes.suspects.all
    sample = Sample(
        second=np.repeat(np.arange(len(lossy)), [len(part.route) for part in lossy]),
        members=own[members],
        route=own_route,
        pair=np.unique(watch.routes.pair[route], return_inverse=True)[1],
        sent=sent,
        lost=lost,
        base=base,
        against=np.stack([second.acquittal(watch.routes).of(numbers)[:, tried] for second in watch.window.seconds]),
        expected=sum(expected for _, _, expected in parts),
        prior=watch.routes.prior[numbers],
        modes=modes,
        echo=cache(lambda suspect: watch.echo_chances(route, names[int(numbers[suspect])])),
        flown=lambda chosen, since: flown(watch, routes[chosen], since),
        whole=np.where(whole < 0, np.arange(len(numbers)), whole),
        several=np.array([names[number].kind not in ("direction", "link") for number in numbers.tolist()], np.bool_),
    )
    return sample, numbers


def _worth_keeping(watch: FabricWatch, members: Ints, say: Callable[[], Floats]) -> Ints:
    """Numbers of the suspects to be looked at, ascending: all, or of more than ``MOST_SUSPECTS`` those that the lossy
    trains could speak most against. On a large fabric nearly all others have met a stray loss or none.
    """
    size = len(watch.routes.suspects.all)
    if size <= MOST_SUSPECTS:
        return np.arange(size)
    bound = most_by_suspect(members, say(), size)
    likely = np.argsort(-bound, kind="stable")[: MOST_SUSPECTS // 2]
    wholes = watch.routes.whole_cables(watch.topology, likely)
    known = [watch.routes.suspects.index[fault.suspect] for fault in watch.active()]
    return np.unique(np.concatenate([likely, wholes, np.array(known, np.int64)]))


def _renamed(pick: Pick, numbers: Ints) -> Pick:
    """A pick by the fabric's numbers."""
    rivals = tuple((int(numbers[suspect]), gain) for suspect, gain in pick.rivals)
    return replace(pick, suspect=int(numbers[pick.suspect]), rivals=rivals)


def _numbered(found: Explanation, numbers: Ints) -> Explanation:
    """What was found by the fabric's numbers."""
    runner_up = _renamed(found.runner_up, numbers) if found.runner_up else None
    return replace(found, picks=[_renamed(pick, numbers) for pick in found.picks], runner_up=runner_up)


def _lossy_of(watch: FabricWatch, second: Second, over: list[Fault]) -> tuple[Second, Floats, float]:
    """A second's lossy trains, their loss by background and old faults, the packets that all its trains lose so."""
    part = second.only(watch.touched(second, over))
    p = watch.explained(part, over)
    more = float((part.sent * (p - watch.background.of_routes(watch.routes, part.route))).sum())
    lossy = part.lost > 0
    return part.only(lossy), p[lossy], watch.background.expected(second, watch.routes) + more


def flown(watch: FabricWatch, routes: Ints, since: int) -> Ints:
    """Trains on each of some routes from the window's second number ``since`` on."""
    parts = [second.route for second in watch.window.seconds[since:]]
    ends = [np.searchsorted(part, routes, "right") - np.searchsorted(part, routes, "left") for part in parts]
    return np.asarray(np.sum(ends, axis=0), np.int64)


def tried_modes(watch: FabricWatch) -> Flags:
    """Which modes are looked for: only heavy loss until the background is known."""
    return MODES.at_least(watch.parameters.least_loss if watch.warm else HEAVY_LOSS)


def rank(watch: FabricWatch, suspect: int) -> tuple[int, str]:
    """Order among suspects that explain the same."""
    found = watch.routes.suspects.all[suspect]
    return _RANK.index(found.kind), f"{found.name} {found.source}"


def _switch_links(watch: FabricWatch, picks: list[Pick], numbers: Ints) -> dict[int, list[int]]:
    """Picked links of a switch, or of an RNIC with several, by the suspect that is the switch or RNIC."""
    touching: dict[int, list[int]] = {}
    table, own = watch.routes.suspects, {number: at for at, number in enumerate(numbers.tolist())}
    for number in sorted(pick.suspect for pick in picks):
        suspect = table.all[int(numbers[number])]
        cable = watch.topology.cables.get(suspect.name) if suspect.kind in ("direction", "link") else None
        for node in (cable.node_a, cable.node_b) if cable else ():
            several = watch.topology.has_several_uplinks(node)
            switch = own.get(table.index.get(Suspect("rnic" if several else "switch", node), -1))
            if switch is not None:
                touching.setdefault(switch, []).append(number)
    return touching


def _fault(watch: FabricWatch, pick: Pick, t_us: int) -> Fault:
    names = watch.routes.suspects.all
    sent, lost = watch.packets_on(watch.window.seconds[pick.since :], pick.suspect)
    return Fault(
        suspect=names[pick.suspect],
        loss=pick.loss,
        hit=pick.hit,
        since_us=watch.window.seconds[pick.since].t_us - SECOND_US,
        found_us=t_us,
        gain=pick.gain,
        support=pick.support,
        pairs=pick.pairs,
        sent=sent,
        lost=lost,
        rivals=tuple((names[suspect], gain) for suspect, gain in pick.rivals),
        lead=pick.lead,
        bad_us=t_us,
    )


def _weigh_replies(watch: FabricWatch, picks: list[Pick], level: float) -> None:
    """Whether replies are lost on the faults, too: seen on routes that cross them, if at all, on the way back.

    Counted in routes: each comes back over a fault or does not, so all its trains together say no more than one thing.
    """
    names = watch.routes.suspects.all
    inner = [pick for pick in picks if names[pick.suspect].kind in ("direction", "link", "switch")]
    if not inner:
        return
    size, table = len(watch.routes.routes), watch.routes
    back = [watch.crossed_back(np.arange(size), names[pick.suspect]) for pick in inner]
    crosses = np.zeros(size, np.bool_)
    for pick in inner:
        crosses[table.index.crossing(table.members, pick.suspect)] = True
    some = np.flatnonzero(~crosses & np.any([way > 0.0 for way in back], axis=0))
    chance = np.max([way[some] for way in back], axis=0)
    takes = [np.where(way[some] > 0.0, pick.loss * pick.hit, 0.0) for pick, way in zip(inner, back, strict=True)]
    excess, exposed = _suffering(
        watch, some, [(pick.since, take) for pick, take in zip(inner, takes, strict=True)], level
    )
    enough = np.maximum(exposed, LEAST_EXPOSED)
    seen = np.clip(excess / enough, -1.0, 1.0)
    watch.echoes.weigh(float(seen.sum()), float((chance * exposed / enough).sum()))


def _suffering(
    watch: FabricWatch, routes: Ints, takes: list[tuple[int, Floats]], level: float
) -> tuple[Floats, Floats]:
    """Of some routes: packets lost beyond the background, and those that faults would take if all replies crossed them.

    ``takes``: of each fault its first second, and the share that it would take, by route.
    """
    excess, exposed = np.zeros(len(routes)), np.zeros(len(routes))
    base, size = level * watch.background.of_routes(watch.routes, routes), len(watch.routes.routes)
    wanted, own = np.zeros(size, np.bool_), np.zeros(size, np.int64)
    wanted[routes], own[routes] = True, np.arange(len(routes))
    begins = {since for since, _ in takes}
    for number, second in enumerate(watch.window.seconds[min(begins) :], min(begins)):
        if number in begins:
            taken = np.max([take for since, take in takes if since <= number], axis=0)
        some = np.flatnonzero(wanted[second.route])
        place = own[second.route[some]]
        hit = some[taken[place] > 0.0]
        place, sent = own[second.route[hit]], second.sent[hit]
        excess += np.bincount(place, second.lost[hit] - sent * base[place], len(routes))
        exposed += np.bincount(place, sent * taken[place], len(routes))
    return excess, exposed


def adopt(watch: FabricWatch, found: Explanation, numbers: Ints, faults: list[Fault]) -> bool:
    """Takes the result over. A known fault that was not found again stays until it has recovered, unless replaced.

    Another one replaces it that explains the same trains, and leaves little of what spoke for it: what the first second
    of a fault showed may have looked like its neighbour. ``numbers``: of the suspects that were looked at; what spoke
    against the others before still does.
    """
    known = {fault.suspect: fault for fault in watch.active()}
    now = {fault.suspect for fault in faults}
    for fault in faults:
        old = known.get(fault.suspect)
        if old is not None:
            fault.since_us, fault.found_us, fault.replaces = old.since_us, old.found_us, old.replaces
            fault.recovery, fault.bad_us, fault.sent, fault.lost = old.recovery, old.bad_us, old.sent, old.lost
    kept = [fault for fault in watch.faults if fault.over_us is not None]
    for old in [fault for fault in watch.active() if fault.suspect not in now]:
        if old.ended_us is not None:
            kept.append(old)
            continue
        kin = [new for new in faults if related(watch, old.suspect, new.suspect)]
        place = np.searchsorted(numbers, watch.routes.suspects.index[old.suspect])
        remaining = float(found.left[place].max(initial=0.0))
        taken = remaining < STILL * old.gain
        heirs = kin or [new for new in faults if taken and (same_trouble(old, new) or _takes_over(watch, old, new))]
        if heirs:
            heirs[0].replaces = (*heirs[0].replaces, *old.replaces, old.suspect)
            heirs[0].since_us = min(heirs[0].since_us, old.since_us)
        else:
            kept.append(old)
    watch.faults = kept + faults
    watch.score[numbers] = 0.0
    watch.score[np.ix_(numbers, tried_modes(watch))] = np.maximum(0.0, found.left)
    runner = found.runner_up
    watch.runner_up = (watch.routes.suspects.all[runner.suspect], runner.gain, runner.support) if runner else None
    return {fault.suspect for fault in watch.active()} != set(known)


def _takes_over(watch: FabricWatch, old: Fault, new: Fault) -> bool:
    """Whether nearly all that was lost on a fault since its onset crosses another one, on the way there or back."""
    number = watch.routes.suspects.index[new.suspect]
    lost = shared = 0
    for second in watch.window.since(old.since_us):
        on = crossing_of(old, second, watch.routes)
        routes, count = second.route[on], second.lost[on]
        echo = watch.echo_chances(routes, new.suspect)
        also = (watch.routes.members[routes] == number).any(axis=1) | (False if echo is None else echo > 0.0)
        lost, shared = lost + int(count.sum()), shared + int(count[also].sum())
    return shared >= NEARLY_ALL * max(lost, 1)


def related(watch: FabricWatch, one: Suspect, other: Suspect) -> bool:
    """Whether one suspect is a part of the other: the same component, a link or RNIC at it, an RNIC in its host."""
    if component_of(watch.topology, one) == component_of(watch.topology, other):
        return True
    return _is_part(watch, one, other) or _is_part(watch, other, one)


def _is_part(watch: FabricWatch, part: Suspect, whole: Suspect) -> bool:
    cable = watch.topology.cables.get(part.name)
    ends = {cable.node_a, cable.node_b} if cable else {part.name}
    if whole.kind == "host":
        return any(end.startswith(f"{whole.name}/") for end in ends)
    return whole.kind in ("switch", "rnic") and part.kind in ("direction", "link") and whole.name in ends
