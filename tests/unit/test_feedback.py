"""What an operator says is complete and free of contradictions, or one sentence says what is wrong with it."""

from __future__ import annotations

import pytest

from skeletonhunter.cli import InputError
from skeletonhunter.cli.feedback import Answer, Verdict, judged, missed_fault


@pytest.mark.parametrize(
    ("verdict", "was"), [(Verdict.right, None), (Verdict.wrong, None), (Verdict.component, "switch:leaf-1")]
)
def test_a_whole_answer_is_taken(verdict: Verdict, was: str | None) -> None:
    assert judged("incident-1", verdict, was) == Answer("incident-1", verdict, was)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            (None, Verdict.right, None),
            "INCIDENT: is missing, expected an incident's id, or --missed with --was COMPONENT",
        ),
        (("i", None, None), "--verdict: is missing, expected one of right, wrong, component"),
        (
            ("i", Verdict.component, None),
            "--was: is missing, expected the component that it really was with --verdict component",
        ),
        (
            ("i", Verdict.right, "rnic:h/r"),
            "--was rnic:h/r: contradicts --verdict right, expected --verdict component",
        ),
        (
            ("i", Verdict.component, "nic:h/r"),
            "--was nic:h/r: expected <kind>:<name> with a kind of vif, tunnel, switch, port, link, rnic, host, "
            "vswitch, container, config, agent, clock",
        ),
    ],
)
def test_what_is_wrong_gets_one_sentence(given: tuple[str | None, Verdict | None, str | None], sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        judged(*given)
    assert str(refusal.value) == sentence


def test_a_missed_fault_has_an_id_of_its_own() -> None:
    one, other = missed_fault("link:l1", 1), missed_fault("link:l1", 2)
    assert one.incident.startswith("missed-") and one.incident != other.incident
    assert missed_fault("link:l1", 1) == one
    with pytest.raises(InputError, match="--was: is missing"):
        missed_fault(None, 1)
