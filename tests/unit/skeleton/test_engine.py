"""The life of a skeleton: formed on evidence, trusted when confirmed, dropped when the job changes or falls silent."""

from __future__ import annotations

from dataclasses import replace as dataclass_replace

import msgspec
import numpy as np
import pytest

from schemas.envelope import Message
from schemas.folding import Emission, Observation
from schemas.instants import SECOND_US
from schemas.skeletons import SkeletonUpdate
from schemas.telemetry import RnicCounters
from skeleton.engine import SkeletonEngine
from skeleton.parameters import SkeletonParameters
from tests.simulated_jobs import (
    BEGIN_US,
    Shape,
    Transfers,
    burst_messages,
    counter_messages,
    endpoint_map,
    fold,
    name_of,
    simulate,
)

SHAPE = Shape(tp=2, pp=2, dp=4)


def updates(sent: list[Emission]) -> list[SkeletonUpdate]:
    assert all(emission.topic == "skeleton-updates" and emission.key == "j" for emission in sent)
    return [emission.value for emission in sent]  # type: ignore[misc]


def job_messages(shape: Shape, seconds: int, traffic_until_s: float | None = None) -> list[Message]:
    moved = simulate(shape, traffic_until_s or seconds)
    return [endpoint_map(shape), *counter_messages(shape, moved, seconds), *burst_messages(shape, moved, seconds)]


def test_a_regular_job_becomes_trusted_within_a_minute() -> None:
    found = updates(fold(job_messages(SHAPE, 90), 90)[0])
    assert [update.version for update in found] == list(range(1, len(found) + 1))
    assert [update.supersedes for update in found] == [None, *range(1, len(found))]
    assert [update.state for update in found] == ["forming"] * (len(found) - 1) + ["trusted"]
    last = found[-1]
    assert last.t_us - BEGIN_US <= 65 * SECOND_US
    assert {(a, b) for a, b, _ in last.edges} == {
        tuple(sorted((name_of(SHAPE, a), name_of(SHAPE, b)))) for a, b in SHAPE.edges()
    }
    assert last.confidence >= 0.8
    assert last.coverage == 1.0
    assert last.parallelism.pp == 2
    assert found[0].edges == () and found[0].confidence == 0.0


def test_counters_alone_give_at_least_all_true_pairs() -> None:
    moved = simulate(SHAPE, 120)
    last = updates(fold([endpoint_map(SHAPE), *counter_messages(SHAPE, moved, 120)], 120)[0])[-1]
    true = {tuple(sorted((name_of(SHAPE, a), name_of(SHAPE, b)))) for a, b in SHAPE.edges()}
    assert last.state == "trusted"
    assert true <= {(a, b) for a, b, _ in last.edges}


def test_bursts_alone_are_enough() -> None:
    moved = simulate(SHAPE, 90)
    last = updates(fold([endpoint_map(SHAPE), *burst_messages(SHAPE, moved, 90)], 90)[0])[-1]
    assert last.state == "trusted"
    assert len(last.edges) == len(SHAPE.edges())


def test_never_an_edge_within_a_host_or_between_rails() -> None:
    last = updates(fold(job_messages(SHAPE, 90), 90)[0])[-1]
    places = {e.endpoint: e for e in endpoint_map(SHAPE).endpoints}
    assert last.edges
    for a, b, _ in last.edges:
        assert a < b
        assert places[a].host != places[b].host
        assert places[a].rail == places[b].rail


def test_nothing_without_a_map() -> None:
    assert fold(job_messages(SHAPE, 60)[1:], 60)[0] == []


def test_a_map_alone_is_told_once_as_forming() -> None:
    found = updates(fold([endpoint_map(SHAPE)], 120)[0])
    assert [(update.state, update.version) for update in found] == [("forming", 1), ("forming", 2)]
    assert "no counters or bursts" in found[-1].reason


def test_other_endpoints_demand_fresh_evidence() -> None:
    larger = Shape(tp=2, pp=2, dp=5)
    messages = [*job_messages(SHAPE, 120), endpoint_map(larger, version=2, offset_s=91)]
    found = updates(fold(messages, 120)[0])
    before = [update for update in found if update.endpoint_map_version == 1]
    after = [update for update in found if update.endpoint_map_version == 2]
    assert before[-1].state == "trusted"
    assert after[0].state == "forming" and after[0].edges == ()
    assert "fresh evidence" in after[0].reason
    assert after[0].t_us == BEGIN_US + 91 * SECOND_US
    assert "trusted" not in {update.state for update in after}


def test_a_new_map_version_with_the_same_endpoints_keeps_the_skeleton() -> None:
    found = updates(fold([*job_messages(SHAPE, 90), endpoint_map(SHAPE, version=2, offset_s=80)], 90)[0])
    assert (found[-1].endpoint_map_version, found[-1].state) == (2, "trusted")
    assert found[-1].edges == found[-2].edges
    assert found[-1].skeleton != found[-2].skeleton


def test_an_older_map_changes_nothing() -> None:
    one = updates(fold(job_messages(SHAPE, 90), 90)[0])
    late = endpoint_map(dataclass_replace(SHAPE, dp=2), version=0, offset_s=50)
    assert updates(fold([*job_messages(SHAPE, 90), late], 90)[0]) == one


def test_the_end_of_the_job_ends_the_skeleton() -> None:
    found = updates(fold([*job_messages(SHAPE, 120), endpoint_map(SHAPE, 2, 100, state="ended")], 120)[0])
    assert (found[-1].state, found[-1].edges, found[-1].reason) == ("stale", (), "the job has ended")


def test_silence_degrades_and_then_retires() -> None:
    parameters = SkeletonParameters(stale_s=90.0)
    found = updates(fold(job_messages(SHAPE, 420, traffic_until_s=100), 420, parameters)[0])
    states = [update.state for update in found]
    assert states[-1] == "stale"
    assert states.index("trusted") < states.index("degraded") < states.index("stale")
    degraded = next(update for update in found if update.state == "degraded")
    assert degraded.edges, "it still stands, with less confidence"
    assert degraded.confidence <= 0.5
    assert found[-1].edges == ()


def test_traffic_without_rhythm_is_never_trusted() -> None:
    draw = np.random.default_rng(7)
    moved = Transfers([[] for _ in range(SHAPE.ranks)])
    at = 0.0
    while at < 300:
        a, b = draw.choice(SHAPE.ranks, 2, replace=False)
        size = int(draw.integers(10**6, 10**9))
        moved.add(int(a), at, size, True)
        moved.add(int(b), at, size, False)
        at += float(draw.exponential(1.5))
    messages = [endpoint_map(SHAPE), *counter_messages(SHAPE, moved, 300), *burst_messages(SHAPE, moved, 300)]
    assert {update.state for update in updates(fold(messages, 300)[0])} == {"forming"}


def test_a_job_of_which_half_is_idle_is_not_trusted() -> None:
    moved = simulate(SHAPE, 120)
    for rank in range(SHAPE.ranks // 2):
        moved.by_rank[rank] = []
    found = updates(fold([endpoint_map(SHAPE), *counter_messages(SHAPE, moved, 120)], 120)[0])
    assert {update.state for update in found} == {"forming"}
    assert "takes no part" in found[-1].reason


def test_counters_of_strangers_are_ignored() -> None:
    stranger = [
        msgspec.structs.replace(m, container="x") for m in job_messages(SHAPE, 90) if isinstance(m, RnicCounters)
    ]
    stranger = [msgspec.structs.replace(m, producer=msgspec.structs.replace(m.producer, id="x")) for m in stranger]
    assert updates(fold([*job_messages(SHAPE, 90), *stranger], 90)[0]) == updates(fold(job_messages(SHAPE, 90), 90)[0])


def test_one_endpoint_is_a_job_without_edges() -> None:
    lonely = Shape(tp=1, pp=1, dp=1)
    assert {update.edges for update in updates(fold(job_messages(lonely, 60), 60)[0])} == {()}


def test_updates_follow_the_provenance_of_the_map() -> None:
    last = updates(fold(job_messages(SHAPE, 60), 60)[0])[-1]
    assert (last.fabric, last.job, last.producer.id) == ("f", "j", "skeleton:j")
    assert last.producer.seq == last.version


@pytest.mark.parametrize("topic", ["endpoint-map", "rnic-counters", "rnic-bursts"])
def test_observations_alone_never_trigger_a_look(topic: str) -> None:
    engine = SkeletonEngine(SkeletonParameters())
    state = engine.start("j")
    for message in [m for m in job_messages(SHAPE, 60) if _topic(m) == topic][1:]:
        state, sent = engine.step(state, Observation(topic, message))
        assert sent == ()


def _topic(message: Message) -> str:
    from tests.simulated_jobs import TOPICS

    return TOPICS[type(message)]  # type: ignore[index]
