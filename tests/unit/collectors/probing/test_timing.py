"""The four-timestamp formula, on clocks that are off, and what happens when one is stepped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collectors.probing.timing import Stamps, coarsest, split, with_level

NS = st.integers(0, 10**9)
OFFSET = st.integers(-(10**18), 10**18)


@given(forward=NS, back=NS, theirs=NS, before=NS, after=NS, offset=OFFSET)
def test_the_offset_between_hosts_does_not_matter(
    forward: int, back: int, theirs: int, before: int, after: int, offset: int
) -> None:
    t1 = 5 * 10**18
    t4 = t1 + forward + theirs + back
    t2 = t1 + forward + offset
    waited = before + forward + theirs + back + after
    times = split(Stamps(0, t1, t4, waited, t2, t2 + theirs, "kernel"))
    assert abs(times.rtt_us - (forward + back) / 1000) < 0.01
    assert times.responder_delay_us is not None and abs(times.responder_delay_us - theirs / 1000) < 0.01
    assert times.prober_delay_us is not None and abs(times.prober_delay_us - (before + after) / 1000) < 0.01
    assert times.by == "kernel"


@given(waited=NS, step=st.integers(10**9 + 30_000, 10**15), forward=st.booleans())
def test_a_clock_that_was_stepped_in_between_is_not_believed(waited: int, step: int, forward: bool) -> None:
    t1 = 5 * 10**18
    times = split(Stamps(0, t1, t1 + (step if forward else -step), waited, None, None, "kernel"))
    assert times.by == "software"
    assert times.whole_us == round(waited / 1000, 2)


@given(whole=st.integers(1, 10**9), theirs=st.integers(-(10**12), 10**12))
def test_a_responders_step_is_not_subtracted_and_leaves_the_delays_unknown(whole: int, theirs: int) -> None:
    times = split(Stamps(0, 1000, 1000 + whole, whole, 0, theirs, "hardware"))
    assert times.rtt_us >= 0.0
    if not 0 <= theirs <= whole:
        assert (times.prober_delay_us, times.responder_delay_us) == (None, None)
        assert times.rtt_us == round(whole / 1000, 2)


def test_of_several_the_coarsest_counts() -> None:
    assert coarsest([]) is None
    assert coarsest(["hardware", "software", "kernel"]) == "software"
    assert with_level("hardware", 1) == "kernel"
    assert with_level("kernel", 0) == "kernel"
    assert with_level("hardware", 77) == "software"
