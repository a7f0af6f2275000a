"""How sure can we be? A posterior is surer than the assumptions that it was computed under; this takes that back.

confidence = p x (1 - lapse) x (1 - young) x (1 - 0.3 unexplained), where

- p: the candidate's share of e^(nats / ``TEMPER``) over all candidates and "something else": the margin over rivals.
  Trains of one fault are not independent, so their nats count for less than their sum;
- lapse: how often evidence misleads that comes from one kind of source only (trains, queues, counters, tables, devices,
  health), from two, from three. Independent kinds seldom mislead in the same direction;
  a host all of whose cards are slow may owe it to its software or settings, which places can't tell apart, and what
  only trains say of a card may be its cable or the port at the other end, even where their pattern or the silence of
  all devices suggests a reason; losses that are hardly more than a blame needs may be chance;
- young: ``YOUNG`` at the onset, falling with ``AGE_S``: what two seconds show may look different after ten;
- unexplained: share of the case's ill pairs that do not depend on the component, nor do their replies.

The three constants are fitted to the campaign's reliability table, coarsely: they are lapses of kinds, not of cases.
"""

from __future__ import annotations

from math import exp

from localization.actions import hits_a_part
from localization.heaps import Heap, suspect_of
from localization.scene import Scene
from localization.suspects import Suspect
from schemas.instants import SECOND_US

TEMPER = 1.5
LAPSES = (0.08, 0.03, 0.02)
YOUNG, AGE_S = 0.15, 5.0
LESS = 0.3
HOST_LAPSE = 0.4
CARD_LAPSE = 0.2
FAINT_LAPSE, FAINT_NATS = 0.3, 5.0


def weigh(heaps: list[Heap], other_nats: float) -> list[float]:
    """Each heap's share of the total, "something else" included; they add up to less than one."""
    weights = [exp(heap.nats / TEMPER) for heap in heaps]
    total = exp(other_nats / TEMPER) + sum(weights)
    return [weight / total for weight in weights]


def reliability(scene: Scene, component: str, lapse: float) -> float:
    """By how much evidence that names a component can be trusted to mean what it says. ``lapse``: see ``doubts``."""
    age_s = max(0, scene.t_us - scene.onset_us) / SECOND_US
    young = YOUNG * exp(-age_s / AGE_S)
    return (1.0 - lapse) * (1.0 - young) * (1.0 - LESS * _unexplained(scene, component))


def doubts(scene: Scene, heap: Heap, component: str) -> tuple[float, tuple[str, ...]]:
    """How often evidence like the heap's misleads, and who it is then, if that is known."""
    kind, _, name = suspect_of(scene.topology, component).partition(":")
    if heap.sources <= {"underlay"} and _is_faint(scene):
        return FAINT_LAPSE, ()
    if heap.sources <= {"underlay"} and kind == "rnic" and scene.case.faults:
        cables = scene.topology.neighbours.get(name, [])
        far = [f"port:{cable.port_of(cable.far_end(name) or name)}" for cable in cables if len(cables) == 1]
        return CARD_LAPSE, tuple(each for each in far if component.startswith("rnic:"))
    if heap.sources <= {"underlay"} and kind == "host" and scene.case.is_slow() and not hits_a_part(scene, component):
        return HOST_LAPSE, (f"config:{name}", f"vswitch:{name}")
    return LAPSES[min(len(heap.sources), len(LAPSES)) - 1], ()


def _is_faint(scene: Scene) -> bool:
    """Whether the losses are hardly more than a blame needs: the background scatters more than any model of it says."""
    gains = [fault.gain for fault in scene.store.watch.faults if fault.suspect in scene.case.faults]
    return bool(gains) and max(gains) - scene.store.watch.penalty < FAINT_NATS


def _unexplained(scene: Scene, component: str) -> float:
    """Share of the ill pairs that do not depend on the component, as far as their paths are known."""
    if component.partition(":")[0] in ("agent", "clock"):
        return 0.0
    paths = scene.paths()
    blamed = suspect_of(scene.topology, component)
    known = [pair for pair in scene.pairs if paths.get(pair)]
    if not known:
        return 0.0
    parts = {pair: scene.parts_of(pair, paths[pair]) for pair in known}
    alike = {part for part in set().union(*parts.values()) if suspect_of(scene.topology, part) == blamed}
    others = [pair for pair in known if alike.isdisjoint(parts[pair])]
    return sum(not _may_come_back(scene, pair, blamed) for pair in others) / len(known)


def _may_come_back(scene: Scene, pair: tuple[str, str], blamed: str) -> bool:
    """Whether the replies of a pair's probes may lead over a link or switch."""
    kind, _, name = blamed.partition(":")
    if kind not in ("link", "switch"):
        return False
    watch = scene.store.watch
    routes = watch.routes.of_pair(*pair)
    suspect = Suspect("link" if kind == "link" else "switch", name)
    return bool(len(routes)) and watch.echo_chances(routes, suspect) is not None
