"""The search for faults: one cable is one fault, rivals and heirs have to earn it, and scatter is no second fault."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from localization.echoes import PRIOR_ROUTES, Echoes
from localization.evidence import new_evidence
from localization.faults import Fault
from localization.inference import Explanation, infer, with_rivals
from localization.modes import MODES
from localization.parameters import LocalizationParameters
from localization.samples import Pick, Sample
from localization.search import adopt, tried_modes
from localization.suspects import Suspect
from schemas.diagnosis import PairWindows
from schemas.instants import SECOND_US
from tests.small_fabric import (
    BEGIN_US,
    endpoint,
    envelope,
    fabric_map,
    links_of,
)


@pytest.mark.parametrize("loss", [0.01, 0.03, 0.2])
def test_a_steady_loss_that_is_known_leaves_nothing_for_an_erratic_fault(loss: float) -> None:
    lost = np.random.default_rng(4).binomial(200, loss, 400).astype(np.float64)
    lost = lost[lost > 0]
    said = MODES.say(lost, 200.0 - lost, np.full(len(lost), loss))
    assert said[:, len(MODES.loss) :].sum(axis=0).max() < 0.0


def both_ways(loss_back: float, back_from: int = 0) -> Sample:
    """Suspects 0 and 1 are the directions of cable 2: trains cross one of them each, and the cable; 3 is elsewhere.

    The way back loses from second ``back_from`` on.
    """
    draw, count = np.random.default_rng(5), 600
    way = np.arange(count) % 3
    members = np.array([[0, 2], [1, 2], [3, -1]])[way]
    lost = draw.binomial(200, np.array([0.05, loss_back, 1e-4])[way])
    second, route = np.arange(count) // 30, np.arange(count) % 30
    lost[(way == 1) & (second < back_from)] = 0
    against = np.zeros((20, 4, MODES.size))
    for n in np.flatnonzero(lost == 0).tolist():
        against[second[n], members[n][members[n] >= 0]] += MODES.against(np.array([200]))[0]
    some = lost > 0
    return Sample(
        second=second[some],
        members=members[some],
        route=route[some],
        pair=route[some],
        sent=np.full(int(some.sum()), 200.0),
        lost=lost[some].astype(np.float64),
        base=np.full(int(some.sum()), 1e-4),
        against=against,
        expected=200 * count * 1e-4,
        prior=np.zeros(4),
        modes=MODES,
        echo=lambda _: None,
        flown=lambda routes, since: np.full(len(routes), 20 - since),
        whole=np.array([2, 2, 2, 3]),
    )


@pytest.mark.parametrize("loss_back", [1e-4, 0.01, 0.05])
def test_a_cable_is_a_direction_or_both_or_the_whole_but_never_the_whole_and_a_direction(loss_back: float) -> None:
    found = infer(both_ways(loss_back), 12.0, lambda suspect: (0, str(suspect)))
    assert {pick.suspect for pick in found.picks} == ({0} if loss_back < 1e-3 else {0, 1} if loss_back < 0.05 else {2})


def test_what_replies_suffer_is_learned_from_routes_not_from_packets() -> None:
    echoes = Echoes()
    echoes.weigh(0.0, 1.0)  # one route in vain, however many packets it lost
    assert echoes.share == pytest.approx(PRIOR_ROUTES / (PRIOR_ROUTES + 1.0))
    for _ in range(10):
        echoes.weigh(0.0, 20.0)
    assert echoes.share < 0.01


def test_where_replies_are_lost_as_well_the_way_to_an_rnic_and_the_rnic_are_one() -> None:
    """Trains there are lost on direction 0, and so are, moments later, replies of those that come from there."""
    plain = both_ways(0.05, back_from=3)
    returns = (plain.members == 1).any(axis=1).astype(np.float64) * 0.999
    echoing = replace_sample(plain, echo=lambda suspect: returns if suspect == 0 else None)
    found = infer(echoing, 12.0, lambda suspect: (0, str(suspect)))
    assert {pick.suspect for pick in found.picks} == {2}


def replace_sample(sample: Sample, **changes: object) -> Sample:
    return dataclasses.replace(sample, **changes)  # type: ignore[arg-type]


def test_a_rival_has_to_stand_on_more_than_one_pair_like_whom_it_rivals() -> None:
    """One pair loses much over suspects 0 and 3, others a little over 0 alone: 3 is no rival, for all it explains."""
    plain = both_ways(1e-4)
    one = plain.route == plain.route[(plain.members == 0).any(axis=1)][0]
    members = np.where(one[:, None], np.array([0, 3]), plain.members)
    sample = replace_sample(plain, members=members, lost=np.where(one, 150.0, plain.lost))
    weak = Pick(0, 0, float(MODES.loss[0]), 1.0, 0, gain=20.0, support=10.0, pairs=10, seconds=20)
    assert with_rivals(sample, [weak], 0, (1.0, np.arange(4), 12.0)).rivals == ()
    two = one | (sample.route == sample.route[~one][0])
    members = np.where(two[:, None], np.array([0, 3]), plain.members)
    sample = replace_sample(sample, members=members, lost=np.where(two, 150.0, plain.lost))
    assert [rival for rival, _ in with_rivals(sample, [weak], 0, (1.0, np.arange(4), 12.0)).rivals] == [3]


def test_a_known_fault_yields_only_to_one_that_explains_most_of_it() -> None:
    store = new_evidence("f", LocalizationParameters())
    store.topology.take_fabric(fabric_map())
    watch = store.watch
    old, new = Suspect("direction", "u-0-0-0", "leaf-0-0"), Suspect("direction", "u-1-0-0", "leaf-1-0")
    numbers = [watch.routes.suspects.number(suspect) for suspect in (old, new)]
    watch.close_second(BEGIN_US)

    def fault(suspect: Suspect, rivals: tuple[tuple[Suspect, float], ...]) -> Fault:
        return Fault(suspect, 0.01, 1.0, BEGIN_US, BEGIN_US, 20.0, 10.0, 3, 1000, 10, rivals)

    for remaining, known in ((15.0, {old, new}), (3.0, {new})):
        watch.faults = [fault(old, ((new, 19.0),))]
        left = np.zeros((len(watch.score), int(tried_modes(watch).sum())))
        left[numbers[0]] = remaining
        adopt(watch, Explanation([], 1.0, left, None), np.arange(len(left)), [fault(new, ())])
        assert {each.suspect for each in watch.active()} == known


def test_a_neighbour_that_the_first_second_blamed_gives_way_to_the_fault_that_explains_its_losses() -> None:
    """All that is lost on the known fault is lost on the way to the new one, which leaves nothing of it."""
    store = new_evidence("f", LocalizationParameters())
    store.topology.take_fabric(fabric_map())
    lossy = {(endpoint(0, 0), endpoint(host, 0)) for host in (2, 4)}
    ends = [((0, 0), (host, 0)) for host in (1, 2, 4)]
    window = PairWindows(
        **envelope("detection:j", 1.0, 1),
        job="j",
        window_s=1.0,
        src=tuple(endpoint(*src) for src, _ in ends),
        dst=tuple(endpoint(*dst) for _, dst in ends),
        path=(0, 1, 2),
        sport=(1, 1, 1),
        sent=(100, 100, 100),
        lost=tuple(100 * ((endpoint(*src), endpoint(*dst)) in lossy) for src, dst in ends),
        rtt_us=(None,) * 3,
        paths=tuple(links_of(src, dst) for src, dst in ends),
    )
    store.take("pair-windows", window)
    store.close_second(BEGIN_US + SECOND_US)
    watch = store.watch
    old, new = Suspect("rnic", endpoint(0, 0)), Suspect("direction", "u-0-0-0", "leaf-0-0")
    elsewhere = Suspect("direction", "u-1-0-0", "spine-0")

    def fault(suspect: Suspect) -> Fault:
        return Fault(suspect, 1.0, 1.0, BEGIN_US, BEGIN_US, 20.0, 10.0, 2, 200, 200, ())

    spent = Explanation([], 1.0, np.zeros((len(watch.score), int(tried_modes(watch).sum()))), None)
    for heir, known in ((new, {new}), (elsewhere, {old, elsewhere})):
        watch.faults = [fault(old)]
        adopt(watch, spent, np.arange(len(spent.left)), [fault(heir)])
        assert {each.suspect for each in watch.active()} == known
