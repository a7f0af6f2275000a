"""What an operator says is complete and free of contradictions, or one sentence says what is wrong with it."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from schemas.diagnosis import OperatorFeedback
from schemas.folding import DERIVED_CLOCK
from skeletonhunter.cli import InputError, announcing, build_cli
from skeletonhunter.cli.announcing import person
from skeletonhunter.cli.feedback import Answer, Verdict, judged, missed_fault
from skeletonhunter.settings import KafkaSettings


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


def test_a_broker_that_is_away_is_one_sentence_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(announcing, "SENT_WITHIN_S", 0.5)
    message = OperatorFeedback(
        v=1,
        t_us=1,
        producer=person("ann", "operator-feedback", 1),
        clock=DERIVED_CLOCK,
        fabric="f",
        incident="i",
        verdict="right",
    )
    with pytest.raises(InputError, match=r"^Kafka at 127\.0\.0\.1:9: the message could not be sent: no answer$"):
        announcing.announce(KafkaSettings(url="127.0.0.1:9"), "operator-feedback", "i", message)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["feedback", "i", "--fabric", "", "--verdict", "right"], r"no message of operator-feedback: .*\$\.fabric"),
        (["skeleton", "", "--fabric", "f"], r"no message of skeleton-overrides: .*\$\.job"),
        (["feedback", "i", "--fabric", "f", "--verdict", "right", "--text", "a" * 70_000], "a text of 70000 bytes"),
    ],
)
def test_what_no_reader_would_take_is_not_said(words: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        CliRunner().invoke(build_cli(words[0]), [*words, "--dry-run"], catch_exceptions=False)
