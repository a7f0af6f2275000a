"""Laws of the judge: what may not change a verdict, and what figures must always hold."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.diagnosis import Incident
from schemas.truth import Fault
from skeletonhunter.scoring import pool, score
from tests.unit.scoring.cases import facts, fault, incident, truth

COMPONENTS = st.sampled_from(
    ["rnic:h1/r0", "link:a1", "link:f11", "port:leaf-1/u1", "switch:leaf-1", "host:h2", "vswitch:h3", "container:c4"]
)
ISSUES = st.sampled_from([None, "crc_error", "gid_change", "switch_offline", "not_using_rdma"])
KINDS = st.sampled_from(["network_fault", "congestion", "insufficient_evidence", "agent_missing"])


@st.composite
def blames(draw: st.DrawFn) -> list[Incident]:
    """Up to six incidents of one state each."""
    return [
        incident(
            draw(st.none() | COMPONENTS),
            draw(ISSUES),
            kind=draw(KINDS),  # type: ignore[arg-type]
            name=f"i{number}",
            onset=(onset := draw(st.integers(0, 80))),
            detected=onset + draw(st.integers(0, 9)),
            localized=draw(st.none() | st.integers(onset, 99)),
            endpoints=draw(st.sampled_from([(), ("c1/r0",), ("c2/r0", "c3/r0")])),
            action=draw(st.sampled_from(["none", "quarantine"])),
        )
        for number in range(draw(st.integers(0, 6)))
    ]


@st.composite
def broken(draw: st.DrawFn) -> list[Fault]:
    """Up to three faults."""
    return [
        fault(draw(COMPONENTS), draw(ISSUES), begin=draw(st.integers(5, 50)), fault=f"f{number}")
        for number in range(draw(st.integers(0, 3)))
    ]


@given(broken(), blames(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_order_of_incidents_does_not_matter(faults: list[Fault], said: list[Incident], rng: object) -> None:
    shuffled = list(said)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = score(truth(*faults), said, facts()), score(truth(*faults), shuffled, facts())
    assert one.alarms == other.alarms
    assert one.faults == other.faults
    assert pool([one]) == pool([other])


@given(broken(), blames())
@settings(max_examples=150, deadline=None)
def test_verdicts_agree_with_each_other(faults: list[Fault], said: list[Incident]) -> None:
    result = score(truth(*faults), said, facts())
    heard = {name for verdict in result.faults for name in verdict.alarms}
    assert heard == {alarm.incident for alarm in result.alarms if alarm.standing == "right"}
    for verdict in result.faults:
        assert set(verdict.naming) <= set(verdict.alarms)
        assert (verdict.detection_s is None) == (not verdict.alarms)
        if verdict.localization_s is not None and verdict.alarm_s is not None:
            assert verdict.localization_s >= verdict.alarm_s or len(verdict.alarms) > len(verdict.naming) >= 1


@given(broken(), blames())
@settings(max_examples=60, deadline=None)
def test_pooling_a_recording_with_itself_doubles_counts_and_keeps_shares(
    faults: list[Fault], said: list[Incident]
) -> None:
    result = score(truth(*faults), said, facts())
    once, twice = pool([result]), pool([result, result])
    assert twice.detection.precision.hits == 2 * once.detection.precision.hits
    assert twice.detection.precision.share == once.detection.precision.share
    assert twice.detection.duplicates == 2 * once.detection.duplicates
    assert twice.localization.named.share == once.localization.named.share
