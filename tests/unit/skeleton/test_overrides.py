"""What users want of a job: switched off, switched on again, further pairs; by settings and by message."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from schemas.envelope import Message, Producer
from schemas.folding import DERIVED_CLOCK, Emission
from schemas.instants import SECOND_US
from schemas.skeletons import SkeletonOverride, SkeletonUpdate
from skeleton.parameters import JobOverride, SkeletonParameters
from skeletonhunter.cli import InputError, build_cli
from skeletonhunter.cli.skeleton import make_override, read_pair
from tests.simulated_jobs import (
    BEGIN_US,
    Shape,
    burst_messages,
    counter_messages,
    endpoint_map,
    fold,
    name_of,
    simulate,
)

SHAPE = Shape(tp=2, pp=2, dp=3)
SECONDS = 120
CROSS = (name_of(SHAPE, 0), name_of(SHAPE, 3))
"""A pair between rails, which no evidence could show."""


@pytest.fixture(scope="module")
def messages() -> list[Message]:
    moved = simulate(SHAPE, SECONDS)
    return [endpoint_map(SHAPE), *counter_messages(SHAPE, moved, SECONDS), *burst_messages(SHAPE, moved, SECONDS)]


def wish(offset_s: int, version: int, disabled: bool = False, *edges: tuple[str, str]) -> SkeletonOverride:
    return SkeletonOverride(
        v=1,
        t_us=BEGIN_US + offset_s * SECOND_US,
        producer=Producer(id="user:ana/skeleton-overrides", kind="user", boot=str(version), seq=0),
        clock=DERIVED_CLOCK,
        fabric="f",
        job="j",
        version=version,
        disabled=disabled,
        edges=edges,
        reason="a benchmark",
    )


def updates(sent: list[Emission]) -> list[SkeletonUpdate]:
    return [emission.value for emission in sent]  # type: ignore[misc]


def test_a_job_is_switched_off_and_on_again(messages: list[Message]) -> None:
    found = updates(fold([*messages, wish(60, 1, True), wish(80, 2)], SECONDS)[0])
    off = next(update for update in found if update.state == "disabled")
    before = [update for update in found if update.version < off.version]
    after = [update for update in found if update.version > off.version]
    assert before[-1].state == "trusted"
    assert (off.t_us, off.edges, off.reason) == (
        BEGIN_US + 60 * SECOND_US,
        (),
        "switched off by its users: a benchmark",
    )
    assert after[0].state == "forming" and after[0].t_us == BEGIN_US + 80 * SECOND_US
    assert after[-1].state == "trusted", "on fresh evidence"
    assert after[-1].edges == before[-1].edges


def test_nothing_is_remembered_of_a_job_that_is_switched_off(messages: list[Message]) -> None:
    state = fold([*messages, wish(30, 1, True)], SECONDS)[1]
    assert not state.counters.series and not state.bursts.series


def test_settings_switch_a_job_off_and_no_message_switches_it_on(messages: list[Message]) -> None:
    parameters = SkeletonParameters(overrides=(JobOverride(job="j", disabled=True),))
    found = updates(fold([*messages, wish(50, 1)], SECONDS, parameters)[0])
    assert {update.state for update in found} == {"disabled"}
    assert found[0].reason == "switched off in the settings"


def test_settings_of_another_job_change_nothing(messages: list[Message]) -> None:
    parameters = SkeletonParameters(overrides=(JobOverride(job="other", disabled=True),))
    assert fold(messages, SECONDS, parameters)[0] == fold(messages, SECONDS)[0]


def test_pairs_of_users_are_added_to_whatever_is_found(messages: list[Message]) -> None:
    plain = updates(fold(messages, SECONDS)[0])[-1]
    known = plain.edges[0][:2]
    parameters = SkeletonParameters(overrides=(JobOverride(job="j", edges=(CROSS[::-1],)),))
    last = updates(fold([*messages, wish(70, 1, False, known)], SECONDS, parameters)[0])[-1]
    assert set(last.edges) - set(plain.edges) == {(*CROSS, "user")}, "an edge that was found keeps its kind"
    assert set(plain.edges) <= set(last.edges)
    assert last.evidence["user_edges"] == 1
    assert last.skeleton != plain.skeleton
    assert last.groups == plain.groups


def test_a_message_makes_a_version_at_once_and_only_if_it_changes_something(messages: list[Message]) -> None:
    stream = [*messages, wish(101, 3, False, CROSS), wish(103, 4, False, CROSS), wish(105, 2)]
    found = updates(fold(stream, SECONDS)[0])
    at = [update.t_us for update in found if update.t_us >= BEGIN_US + 101 * SECOND_US]
    assert at == [BEGIN_US + 101 * SECOND_US], "the second wants the same, the third is older"


def test_pairs_of_strangers_wait_and_are_named(messages: list[Message]) -> None:
    last = updates(fold([*messages, wish(70, 1, False, (CROSS[0], "x/mlx5_9"))], SECONDS)[0])[-1]
    assert "user" not in {kind for _, _, kind in last.edges}
    assert last.evidence["user_endpoints_unknown"] == ["x/mlx5_9"]


def test_a_wish_before_the_first_map_counts(messages: list[Message]) -> None:
    late = endpoint_map(SHAPE, version=1, offset_s=10)
    found = updates(fold([wish(1, 1, True), late, *messages[1:]], 60)[0])
    assert [update.state for update in found] == ["disabled"]


def test_a_new_map_leaves_a_job_switched_off(messages: list[Message]) -> None:
    larger = endpoint_map(Shape(tp=2, pp=2, dp=4), version=2, offset_s=60)
    found = updates(fold([*messages, wish(20, 1, True), larger], SECONDS)[0])
    assert (found[-1].state, found[-1].endpoint_map_version) == ("disabled", 2)


def test_the_command_says_what_it_would_send() -> None:
    arguments = ["skeleton", "job-5", "--fabric", "f", "--add", "a/m0, b/m0", "--user", "ana", "--dry-run"]
    said = json.loads(CliRunner().invoke(build_cli(), arguments).stdout)
    assert (said["job"], said["edges"], said["disabled"]) == ("job-5", [["a/m0", "b/m0"]], False)
    assert said["version"] == said["t_us"] > 0
    assert said["producer"]["id"] == "user:ana/skeleton-overrides"


@pytest.mark.parametrize("text", ["a/m0", "a/m0,a/m0", "a/m0,", "a,b,c"])
def test_the_command_refuses_what_is_no_pair(text: str) -> None:
    with pytest.raises(InputError, match="expected two different endpoints"):
        read_pair(text)


def test_equal_wishes_are_equal_messages() -> None:
    one = make_override(("f", "j"), True, (), ("ana", "why"), 5)
    assert one == make_override(("f", "j"), True, (), ("ana", "why"), 5)
    assert one.version == 5
