"""Two lists of incidents: the same says nothing, and every kind of change is told once."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from schemas.diagnosis import Incident
from skeletonhunter.replaying.difference import as_json, as_lines, difference
from tests.unit.sinks.messages import received_examples

SECOND_US = 1_000_000


def incident(name: str, **fields: Any) -> Incident:
    value = next(each.value for each in received_examples("incidents") if getattr(each.value, "issue", None))
    assert isinstance(value, Incident)
    return msgspec.structs.replace(value, incident=name, **fields)


def test_equal_lists_do_not_differ() -> None:
    found = difference([incident("a"), incident("b")], [incident("b"), incident("a")])
    assert not found
    assert (found.same, as_lines(found)) == (2, ["0 gone, 0 new, 0 changed, 2 the same"])


def test_what_is_only_on_one_side_is_gone_or_new() -> None:
    before, after = incident("a", component="link:l1", endpoints=("x",)), incident("b", kind="congestion")
    found = difference([before], [after])
    assert (found.gone, found.new, found.changed) == ((before,), (after,), ())
    assert as_lines(found)[0].startswith("gone     a  offloading_failure link:l1 (")


def test_a_change_names_its_fields_and_how_far_instants_moved() -> None:
    before = incident("a", confidence=0.5, issue="crc_error")
    after = incident("a", confidence=0.75, issue=None, detected_us=before.detected_us + 1_500_000, trace=())
    [change] = difference([before], [after]).changed
    assert set(change.fields) == {"confidence", "issue", "detected_us", "trace"}
    lines = [line.strip() for line in as_lines(difference([before], [after]))]
    assert "confidence: 0.5 -> 0.75" in lines and "issue: crc_error -> none" in lines
    assert "detected_us: +1.500 s" in lines and "trace: not the same" in lines
    assert as_json(difference([before], [after]))["changed"][0]["fields"]["confidence"] == {
        "before": 0.5,
        "after": 0.75,
    }


def test_another_onset_gives_another_id_and_is_still_the_same_incident() -> None:
    before = incident("a")
    near = incident("b", onset_us=before.onset_us + 3 * SECOND_US)
    far = incident("c", onset_us=before.onset_us + 90 * SECOND_US)
    assert [change.after.incident for change in difference([before], [far, near]).changed] == ["b"]
    moved = incident("d", component="link:l9")
    assert [change.fields["component"][1] for change in difference([before], [moved]).changed] == ["link:l9"]
    assert not difference([before], [far]).changed


NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)


@given(NAMES, NAMES)
def test_every_incident_is_told_once_and_turning_the_lists_round_turns_the_answer_round(
    left: list[str], right: list[str]
) -> None:
    before = [incident(name, component=f"link:{name}", endpoints=(name,)) for name in left]
    after = [incident(name, component=f"link:{name}", endpoints=(name,), confidence=0.123) for name in right]
    found, turned = difference(before, after), difference(after, before)
    assert {each.incident for each in found.gone} == set(left) - set(right)
    assert {each.incident for each in found.new} == set(right) - set(left)
    assert len(found.changed) == len(set(left) & set(right))
    assert (turned.gone, turned.new) == (found.new, found.gone)
