"""Laws of detection over minutes and hours: its slow tests too depend on nothing but what was measured, and when."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.codec import encode
from schemas.control import Tick
from schemas.diagnosis import Anomaly
from schemas.envelope import Message
from schemas.folding import Emission
from schemas.instants import SECOND_US
from schemas.probing import ProbeResult, ProbeResults
from streams.local import LocalPipeline
from streams.parameters import Parameters
from tests.small_fabric import BEGIN_US, envelope

PAIRS, EVERY_S, HOURS = 6, 5, 3.2
SOURCE, BEGIN_S = "c0/mlx5_0", 300
LAG_US = 5 * SECOND_US
Said = tuple[object, ...]


def result(dst: int, second: int, rtt_us: list[float]) -> ProbeResult:
    t_us = BEGIN_US + second * SECOND_US - 500_000 + dst
    return ProbeResult(
        dst=f"c{dst}/mlx5_0", t_us=t_us, kind="rdma", outcome="reply", sent=50, lost=0, rtt_us=tuple(rtt_us)
    )


def trouble(dst: int, second: int) -> float:
    """What is added to ln RTT: pair 1 drifts in the third hour, pair 2 has a bad quarter of an hour in the second."""
    if dst == 1:
        return 0.3 * float(np.clip((second - 7_200) / 1_800, 0.0, 1.0))
    return 0.16 if dst == 2 and 4_000 <= second < 4_900 else 0.0


@pytest.fixture(scope="module")
def messages() -> list[Message]:
    """One source probes six targets: every second for half an hour of the second hour, else every five seconds."""
    draw = np.random.default_rng(9)
    made: list[Message] = []
    seconds = [*range(BEGIN_S, 3_600, EVERY_S), *range(3_600, 5_400), *range(5_400, int(HOURS * 3_600), EVERY_S)]
    for number, second in enumerate(seconds):
        log_rtt = np.log(60.0) + 0.3 * draw.standard_normal((PAIRS, 3))
        rtts = [np.exp(log_rtt[n] + trouble(n + 1, second)).round(1).tolist() for n in range(PAIRS)]
        body = envelope("agent:c0/probes", float(second), number)
        results = tuple(result(n + 1, second, rtts[n]) for n in range(PAIRS))
        made.append(ProbeResults(**body, job="j", src=SOURCE, plan_version=1, results=results))
    return made


def said(messages: list[Message], pickled_every_s: int = 0) -> list[Said]:
    """All anomalies that detection reports, as they come."""
    sent: list[Said] = []

    def take(emission: Emission) -> None:
        value = emission.value
        if isinstance(value, Anomaly):
            sent.append((value.t_us, value.state, value.src, value.dst, value.detector, value.onset_us, value.score))

    play(messages, take, pickled_every_s)
    return sent


def play(messages: list[Message], take: Callable[[Emission], None], pickled_every_s: int) -> None:
    """Gives the messages to the stage; states are replaced by their pickles every so many seconds, if not 0."""
    pipeline = LocalPipeline(Parameters(), take, ("detection",))
    for before, message in pairwise([messages[0], *messages]):
        second = message.t_us // SECOND_US
        if second > before.t_us // SECOND_US:
            pipeline.advance(Tick(t_us=second * SECOND_US, source="clock", offsets={}))
            for fold in pipeline.folds if pickled_every_s and second % pickled_every_s == 0 else ():
                fold.states = pickle.loads(pickle.dumps(fold.states))
        pipeline.admit("probe-results", message.job, message)  # type: ignore[attr-defined]
    last_us = max(message.t_us for message in messages)
    pipeline.advance(Tick(t_us=last_us, source="clock", offsets={}, final=True))


@pytest.fixture(scope="module")
def expected(messages: list[Message]) -> list[Said]:
    found = said(messages)
    opened = {(anomaly[3], anomaly[4]) for anomaly in found if anomaly[1] == "open"}
    assert opened >= {("c1/mlx5_0", "rtt-drift"), ("c2/mlx5_0", "rtt-outlier")}, "the laws need something to hold on to"
    return found


@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_order_within_the_lateness_bound_does_not_matter(
    messages: list[Message], expected: list[Said], seed: int
) -> None:
    draw = random.Random(seed)
    late = sorted((message.t_us + draw.randrange(LAG_US), n) for n, message in enumerate(messages))
    assert said([messages[n] for _, n in late]) == expected


def test_duplicates_do_not_matter(messages: list[Message], expected: list[Said]) -> None:
    assert said([each for message in messages for each in (message, message)]) == expected


def test_a_pickle_in_mid_stream_changes_nothing(messages: list[Message], expected: list[Said]) -> None:
    assert said(messages, pickled_every_s=37) == expected


def of_all_jobs(messages: list[Message]) -> list[Message]:
    """The job, and two others: one that is probed half as often, and one that came later and loses packets."""
    made: list[Message] = []
    for number, message in enumerate(messages):
        assert isinstance(message, ProbeResults)
        made.append(message)
        if number % 2:
            made.append(msgspec.structs.replace(message, job="a"))
        if number > 300:
            lossy = tuple(msgspec.structs.replace(each, lost=1 + number % 49) for each in message.results)
            made.append(msgspec.structs.replace(message, job="z", results=lossy))
    return made


def bytes_of(messages: list[Message], job: str, pickled_every_s: int = 0) -> list[bytes]:
    """All that detection says of a job."""
    sent: list[bytes] = []

    def take(emission: Emission) -> None:
        if getattr(emission.value, "job", None) == job:
            sent.append(encode(emission.topic, emission.value))

    play(messages, take, pickled_every_s)
    return sent


@pytest.mark.parametrize("pickled_every_s", [0, 411])
def test_what_is_said_of_a_job_does_not_depend_on_the_others(messages: list[Message], pickled_every_s: int) -> None:
    own = messages[:2_000]
    together = of_all_jobs(own)
    for job in ("a", "j", "z"):
        alone = bytes_of([message for message in together if message.job == job], job)  # type: ignore[attr-defined]
        assert bytes_of(together, job, pickled_every_s) == alone
        assert any(b'"symptom"' in text for text in alone), "the law needs something to hold on to"


def moved(message: Message, by_us: int) -> Message:
    assert isinstance(message, ProbeResults)
    results = tuple(msgspec.structs.replace(each, t_us=each.t_us + by_us) for each in message.results)
    return msgspec.structs.replace(message, t_us=message.t_us + by_us, results=results)


@pytest.mark.parametrize("blocks", [1, 12 * 24 * 365])
def test_a_shift_in_time_by_whole_blocks_shifts_what_is_said(
    messages: list[Message], expected: list[Said], blocks: int
) -> None:
    by_us = blocks * 300 * SECOND_US
    shifted = [(t_us - by_us, *rest, onset - by_us, score) for t_us, *rest, onset, score in said_moved(messages, by_us)]
    assert shifted == expected


def said_moved(messages: list[Message], by_us: int) -> list[tuple[int, str, str, str, str, int, float]]:
    return said([moved(message, by_us) for message in messages])  # type: ignore[return-value]
