"""PFC storms as the watchdog counts them, and what is known of pauses meanwhile."""

from __future__ import annotations

from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from collectors.switches.counters_db import Storm, storms_of_db
from collectors.switches.readings import Reading
from collectors.switches.storms import StormWatch
from collectors.switches.tables import watchdog

DATA = Path(__file__).parents[3] / "data" / "collectors" / "switches"


def text(name: str) -> str:
    return (DATA / name).read_text()


def test_a_storm_that_comes_and_goes() -> None:
    watch = StormWatch("leaf-0")
    looks = [list(watchdog(look)) for look in text("pfcwd_sequence.txt").split("---\n  ")]
    found = [[(each.severity, each.subject.name, each.values["new"]) for each in watch.step(look)] for look in looks]
    port = "leaf-0/Ethernet4"
    assert found == [[("error", port, 0)], [("info", port, 0)], [("error", port, 1)]]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), max_size=20))
def test_pauses_that_stand_still_in_a_storm_are_not_known(looks: list[tuple[bool, int]]) -> None:
    watch, before, total = StormWatch("leaf-0"), None, 100
    for stormed, more in looks:
        total += more
        list(watch.step([Storm("e1", 3, stormed, None, None)]))
        expected = None if stormed and total == before else total
        assert watch.believed(Reading("e1", 3, "pfc_rx", total)).value == expected
        assert watch.believed(Reading("e1", 4, "pfc_rx", 7)).value == 7
        assert watch.believed(Reading("e1", 3, "pfc_tx", 7)).value == 7
        before = total


def test_totals_of_a_first_look_prove_nothing_and_storms_between_two_looks_are_counted() -> None:
    watch = StormWatch("leaf-0")
    (quiet,) = storms_of_db(
        ["Ethernet68:3"], {"PFC_WD_STATUS": "operational", "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED": "4"}
    )
    assert list(watch.step([quiet])) == []
    again = msgspec.structs.replace(quiet, detected=6, restored=6)
    (notice,) = watch.step([again])
    assert notice.values["new"] == 2 and "2 times" in notice.text
    assert list(watch.step([msgspec.structs.replace(quiet, detected=1)])) == [], "cleared"
