"""How does a plan change when a few endpoints come or go? Only their own pairs, unless the slots don't allow it.

``change`` amends a draft in place and says which probes went and came. It gives None when everything has to be laid out
anew: an endpoint has moved, the budget does not hold everything, more than a quarter of the pairs is touched, a
thinned basic list has another ring, or Δ + 1 slots don't suffice. The draft is of no use then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from probe_planner.candidates import BasicCandidates, NamePair, basic_candidates
from probe_planner.draft import Draft, most_per_pass
from probe_planner.layout import Placed
from probe_planner.roster import Roster
from schemas.probing import SlotProbe

LARGE = 0.25
"""Share of the pairs beyond which a whole plan is shorter than its changes."""


@dataclass(frozen=True, slots=True)
class Change:
    """Probes with their slots and ports."""

    removed: tuple[SlotProbe, ...] = ()
    added: tuple[SlotProbe, ...] = ()


def change(plan: Draft, roster: Roster, components: dict[str, int]) -> Change | None:
    """Follows a new roster and new suspicions (components and their open anomalies)."""
    names = plan.roster.changed(roster)
    if plan.roster.moved(roster, names) or not _same_ring(plan, roster):
        return None
    gone = [name for name in names if name not in roster.usable]
    come = [name for name in names if name not in plan.roster.usable]
    rnic_of = plan.roster.rnics(gone)
    removed = _unique(pair for name in gone for pair in plan.layout.pairs_of(name, rnic_of[name]))
    added = _unique(
        pair for name in come for pair in plan.candidates.around(name, roster) if pair not in plan.layout.edge_of
    )
    if len(removed) + len(added) > LARGE * (len(plan.layout.edge_of) + 1) or (names and plan.left_out):
        return None
    extra = _extra_probes(plan)
    swap = _swap(plan, roster, removed, added)
    if swap is None:
        return None
    plan.roster = roster
    if isinstance(plan.candidates, BasicCandidates) and plan.candidates.thinned and names:
        plan.beyond = plan.candidates.beyond(roster)
    plan.suspect(components)
    return _merged(swap, extra, _extra_probes(plan))


def _same_ring(plan: Draft, roster: Roster) -> bool:
    """Keeps the candidates of a basic list up to date; False: another thinned list."""
    old = plan.candidates
    if not isinstance(old, BasicCandidates) or plan.roster.listed.keys() == roster.listed.keys():
        return True
    new = basic_candidates(roster, plan.parameters.max_probes // plan.parameters.passes, old.wanted)
    if old.thinned or new.thinned:
        return False
    plan.candidates = new
    return True


def _unique(pairs: Iterable[NamePair]) -> list[NamePair]:
    return list(dict.fromkeys(pairs))


def _swap(plan: Draft, roster: Roster, removed: list[NamePair], added: list[NamePair]) -> Change | None:
    """Takes pairs out and puts pairs in."""
    layout, routes = plan.layout, plan.routes
    if not removed and not added:
        return Change()
    before = layout.probes_of(removed)
    colours, edge_of = list(layout.colouring.colour), layout.edge_of
    layout.remove(removed)
    moved = layout.insert(added, roster.rnics({n for pair in added for n in pair})) if added else set()
    if moved is None or not _fits(plan, roster):
        return None
    before += [
        placed for pair in sorted(moved) for placed in layout.placed_as(pair, edge_of[pair], colours[edge_of[pair]])
    ]
    after = layout.probes_of([*added, *sorted(moved)])
    old, new = _directed(before), _directed(after)
    gone = [(*placed, routes.port_of(placed[1], placed[2])) for placed in before]
    routes.drop([probe for probe in old if probe not in new], plan.roster.usable)
    routes.take([probe for probe in new if probe not in old], roster.usable)
    routes.settle_turns(roster.usable)
    come = [(*placed, routes.port_of(placed[1], placed[2])) for placed in after]
    return Change(tuple(gone), tuple(come))


def _directed(placed: list[Placed]) -> dict[tuple[str, str], None]:
    return {(src, dst): None for _, src, dst in placed}


def _fits(plan: Draft, roster: Roster) -> bool:
    parameters, layout = plan.parameters, plan.layout
    most, targets = most_per_pass(parameters, plan.routes.most_per_slot), parameters.targets_per_rnic
    if most is not None and layout.colouring.colours > most:
        return False
    if targets is not None and max(layout.peers.values(), default=0) > targets:
        return False
    if len(layout.edge_of) * layout.passes > parameters.max_probes and plan.mode == "basic":
        return False
    return layout.within_bound and bool(roster.usable)


def _extra_probes(plan: Draft) -> set[SlotProbe]:
    first = plan.layout.slots
    return {
        (first + number, src, dst, plan.routes.port_of(src, dst))
        for number, slot in enumerate(plan.extra)
        for src, dst in slot
    }


def _merged(swap: Change, before: set[SlotProbe], after: set[SlotProbe]) -> Change:
    return Change(
        tuple(sorted([*swap.removed, *(before - after)])),
        tuple(sorted([*swap.added, *(after - before)])),
    )
