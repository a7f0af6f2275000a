"""Where many faults last, a search begins with those that were found a while ago: it finds the same, or drops them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from localization import lasting
from localization.faults import Fault
from localization.inference import infer
from localization.lasting import ANEW_US, MANY, SETTLED_US, settled_picks
from localization.samples import Pick
from localization.search import look
from localization.watch import FabricWatch
from schemas.instants import SECOND_US
from tests.small_fabric import BEGIN_US
from tests.unit.localization.test_pieces import sample
from tests.unit.localization.test_scale import store_of

SECONDS = 30
NOW_US = BEGIN_US + SECONDS * SECOND_US


def rank(suspect: int) -> tuple[int, str]:
    return 0, str(suspect)


def test_what_is_known_is_found_again_with_the_rest_and_keeps_its_rivals() -> None:
    anew = infer(sample({1, 5, 9}, 0.05), 12.0, rank).picks
    known = replace(next(pick for pick in anew if pick.suspect == 5), rivals=((3, 7.0),), lead=4.5)
    found = infer(sample({1, 5, 9}, 0.05), 12.0, rank, [known]).picks
    assert {pick.suspect: pick.since for pick in found} == {pick.suspect: pick.since for pick in anew}
    gains = {pick.suspect: pick.gain for pick in anew}
    assert [pick.gain for pick in found] == pytest.approx([gains[pick.suspect] for pick in found], rel=0.01)
    assert [(pick.rivals, pick.lead) for pick in found if pick.suspect == 5] == [(((3, 7.0),), 4.5)]


def test_what_is_known_and_no_longer_needed_is_dropped() -> None:
    found = infer(sample({1}, 0.05), 12.0, rank, [Pick(4, 0, 0.05, 1.0, 0, 99.0)])
    assert {pick.suspect for pick in found.picks} == {1}


def watch_with(number: int, age_us: int = SETTLED_US) -> FabricWatch:
    """A fabric on which so many suspects have been blamed for a while."""
    watch = store_of(SECONDS, "u-0-0-0").watch
    watch.anew_us, since_us = NOW_US + ANEW_US, NOW_US - 20 * SECOND_US
    for suspect in watch.routes.suspects.all[:number]:
        watch.faults.append(Fault(suspect, 0.2, 1.0, since_us, NOW_US - age_us, 90.0, 80.0, 3, 1000, 200, (), lead=9.0))
    return watch


@pytest.mark.parametrize(
    ("number", "age_us", "begins_with"),
    [(MANY, SETTLED_US, MANY), (MANY - 1, SETTLED_US, 0), (MANY, SETTLED_US - 1, 0)],
)
def test_only_many_that_have_settled_are_begun_with(number: int, age_us: int, begins_with: int) -> None:
    watch = watch_with(number, age_us)
    numbers = np.arange(len(watch.routes.suspects.all))
    picks = settled_picks(watch, numbers, NOW_US)
    assert [pick.suspect for pick in picks] == list(range(begins_with))
    assert all((pick.since, pick.lead) == (SECONDS - 20, 9.0) for pick in picks)


def test_a_review_in_which_nothing_new_speaks_looks_at_all_once_in_a_while() -> None:
    watch = watch_with(MANY)
    numbers, watch.anew_us, watch.looked_at = np.arange(len(watch.routes.suspects.all)), NOW_US, 0.0
    assert settled_picks(watch, numbers, NOW_US) == []
    assert len(settled_picks(watch, numbers, NOW_US + SECOND_US)) == MANY


def test_a_search_that_begins_with_what_lasts_blames_whom_one_does_that_begins_with_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lasting, "MANY", 1)
    blamed = []
    for settled_us in (SETTLED_US, 1_000 * SECOND_US):
        monkeypatch.setattr(lasting, "SETTLED_US", settled_us)
        watch = store_of(SECONDS, "u-0-0-0").watch
        look(watch, NOW_US - 11 * SECOND_US)
        watch.anew_us = NOW_US + ANEW_US
        look(watch, NOW_US)
        blamed.append([(fault.suspect, round(fault.loss, 2), fault.since_us) for fault in watch.active()])
    assert blamed[0] == blamed[1] and len(blamed[0]) == 1
