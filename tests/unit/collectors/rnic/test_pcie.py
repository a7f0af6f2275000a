"""PCIe: the limiting bridge is named, narrow boards are no fault, idle looks prove nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collectors.rnic.pcie import MBPS_PER_LANE, PcieLink, PcieWatch, find_bottleneck

CARD, SWITCH_DOWN, SWITCH_UP, ROOT = "0000:9c:00.0", "0000:98:00.0", "0000:97:02.0", "0000:97:01.0"


def chain(*ends: tuple[str, float, int, float, int]) -> tuple[PcieLink, ...]:
    return tuple(PcieLink(*end) for end in ends)


WHOLE = chain((CARD, 32.0, 16, 32.0, 16), (ROOT, 32.0, 16, 32.0, 16))
NARROW = chain((CARD, 32.0, 8, 32.0, 16), (ROOT, 32.0, 8, 32.0, 16))
SLOW = chain((CARD, 2.5, 16, 32.0, 16), (ROOT, 2.5, 16, 32.0, 16))


def test_a_link_trained_at_half_its_width_names_card_and_bridge() -> None:
    found = find_bottleneck(NARROW)
    assert found is not None
    assert (found.victim, found.limiting, found.cause) == (CARD, ROOT, "width")
    assert (found.available_gbps, found.capable_gbps) == (252.056, 504.112)


def test_a_degraded_link_further_up_is_found() -> None:
    found = find_bottleneck(
        chain(
            (CARD, 32.0, 16, 32.0, 16),
            (SWITCH_DOWN, 32.0, 16, 32.0, 16),
            (SWITCH_UP, 32.0, 4, 32.0, 16),
            (ROOT, 32.0, 4, 32.0, 16),
        )
    )
    assert found is not None and found.limiting == ROOT


def test_a_board_that_is_built_narrow_is_no_fault() -> None:
    assert find_bottleneck(chain((CARD, 32.0, 8, 32.0, 16), (ROOT, 32.0, 8, 32.0, 8))) is None
    assert find_bottleneck(chain((CARD, 16.0, 16, 32.0, 16), (ROOT, 16.0, 16, 16.0, 16))) is None


def test_a_whole_link_and_an_unknown_one_say_nothing() -> None:
    assert find_bottleneck(WHOLE) is find_bottleneck(()) is None
    assert find_bottleneck((PcieLink(CARD, None, None),)) is None


def test_a_bridge_that_does_not_tell_its_best_is_held_against_the_card() -> None:
    unknown = (PcieLink(CARD, 32.0, 8, 32.0, 16), PcieLink(ROOT, 32.0, 8))
    assert find_bottleneck(unknown) is not None


def test_one_look_is_not_believed_three_are() -> None:
    watch, narrow = PcieWatch(3), find_bottleneck(NARROW)
    assert [watch.look(narrow, False) for _ in range(5)] == [None, None, narrow, None, None]


def test_a_low_speed_counts_only_while_the_card_is_busy() -> None:
    watch, slow = PcieWatch(3), find_bottleneck(SLOW)
    assert [watch.look(slow, False) for _ in range(20)] == [None] * 20
    assert [watch.look(slow, True) for _ in range(3)] == [None, None, slow]


def test_a_speed_that_goes_up_and_down_is_never_told() -> None:
    watch, slow = PcieWatch(3), find_bottleneck(SLOW)
    assert [watch.look(slow if n % 3 else None, True) for n in range(30)] == [None] * 30


def test_it_is_over_after_as_many_good_looks() -> None:
    watch, narrow = PcieWatch(2), find_bottleneck(NARROW)
    assert [watch.look(found, False) for found in (narrow, narrow, None, None, None)] == [
        None,
        narrow,
        None,
        "restored",
        None,
    ]


link = st.builds(
    PcieLink,
    st.sampled_from([CARD, ROOT, SWITCH_UP]),
    st.none() | st.sampled_from(sorted(MBPS_PER_LANE)),
    st.none() | st.sampled_from([1, 2, 4, 8, 16]),
    st.none() | st.sampled_from(sorted(MBPS_PER_LANE)),
    st.none() | st.sampled_from([1, 2, 4, 8, 16]),
)


@given(st.lists(link, max_size=5), st.lists(st.booleans(), max_size=12))
def test_any_path_is_judged_soundly(links: list[PcieLink], busy: list[bool]) -> None:
    found = find_bottleneck(links)
    if found is not None:
        assert found.available_gbps < found.capable_gbps
        assert found.limiting in {one.address for one in links} and found.victim == links[0].address
    watch = PcieWatch(3)
    told = [watch.look(found, flag) for flag in busy]
    assert sum(one is not None for one in told) <= 1
    assert not any(told[:2])
