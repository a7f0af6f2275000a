"""The corpus does no harm, a short run finds nothing, and the fuzzer finds what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import targets
from tests.fuzz.__main__ import fuzz
from tests.fuzz.guided import FAULT, begin, kept, shared
from tests.fuzz.targets import CORPUS, TARGETS, Target, corpus, fault

SLOW = "pipeline"


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_the_corpus_and_the_seeds_do_no_harm(name: str) -> None:
    inputs = [*corpus(name), *TARGETS[name].seeds()[: 1 if name == SLOW else 200]]
    assert inputs, f"{name} has nothing to begin with"
    for raw in inputs:
        assert fault(TARGETS[name], raw) == ""


def test_the_corpus_belongs_to_targets() -> None:
    assert {path.name for path in CORPUS.iterdir()} <= set(TARGETS)


def test_a_short_run_finds_nothing() -> None:
    names = [name for name in TARGETS if name != SLOW]
    tried, faults = fuzz(names, executions=20_000, seconds=1e9, seed=3)
    assert tried >= 20_000
    assert faults == []


def test_the_fuzzer_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    weak = Target(int, (), lambda: [b"12"])
    slow = Target(lambda _raw: sum(range(10)), (), lambda: [b"x"], longest_s=-1.0)
    monkeypatch.setattr(targets, "TARGETS", {"weak": weak, "slow": slow})
    tried, faults = fuzz(["weak", "slow"], executions=1000, seconds=1e9, seed=3)
    assert tried < 1000
    assert [(name, wrong.split("(")[0][:4]) for name, wrong, _ in faults] == [("weak", "Valu"), ("slow", "took")]


def test_a_refusal_says_something() -> None:
    def refuse(_raw: bytes) -> None:
        raise KeyError

    assert "without a word" in fault(Target(refuse, (KeyError,), list), b"x")


def test_guided_fuzzing_shares_executions_as_plain_fuzzing_does() -> None:
    shares = shared(10_000_000, list(TARGETS))
    assert 0 < shares[SLOW] * TARGETS["settings"].in_a_row == pytest.approx(shares["settings"], rel=0.01)
    assert sum(shares.values()) == pytest.approx(10_000_000, rel=0.001)
    assert shared(1, ["settings", SLOW]) == {"settings": 1, SLOW: 1}


def test_guided_fuzzing_begins_with_all_seeds_and_goes_on_from_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / "found").write_bytes(b"{}")
    begin(tmp_path, "settings")
    begin(tmp_path, "message-ticks")
    contents = {path.read_bytes() for path in tmp_path.iterdir()}
    assert contents == {b"{}", *corpus("settings"), *TARGETS["message-ticks"].seeds()}


@pytest.mark.parametrize("keep", ["kept", ""])
def test_what_did_harm_is_kept_and_is_no_seed_of_the_next_run(tmp_path: Path, keep: str) -> None:
    fault = tmp_path / f"{FAULT}crash-1"
    fault.write_bytes(b"bad")
    kept([fault], keep and tmp_path / keep)
    assert not fault.exists()
    assert [path.read_bytes() for path in tmp_path.glob("kept/*")] == [b"bad"] * bool(keep)
