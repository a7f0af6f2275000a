"""Who no longer reports on a job: streams that fall silent and come back, cards that can't be read, what is neither."""

from __future__ import annotations

import pytest

from schemas.envelope import Clock, Producer
from schemas.folding import Observation, TimeReached
from schemas.instants import SECOND_US
from schemas.maps import Endpoint, EndpointMap
from schemas.reporting import ReportingGaps
from schemas.telemetry import Burst, RnicBursts, RnicColumns, RnicCounters
from skeleton.engine import SkeletonEngine
from skeleton.parameters import SkeletonParameters

BEGIN_US = 1_753_000_000 * SECOND_US
RNICS = ("mlx5_0", "mlx5_1")
CONTAINERS = ("c0", "c1", "c2")


def envelope(stream: str, second: float, seq: int) -> dict[str, object]:
    return {
        "v": 1,
        "t_us": BEGIN_US + round(second * SECOND_US),
        "producer": Producer(id=stream, kind="test", boot="b", seq=seq),
        "clock": Clock(source="ptp", offset_us=0.0, error_us=10.0),
        "fabric": "f",
        "job": "j",
        "tenant": None,
    }


class Story:
    """A job of three containers, each on a host of its own, told second by second."""

    def __init__(self) -> None:
        self.engine = SkeletonEngine(SkeletonParameters())
        self.state = self.engine.start("j")
        self.told: list[ReportingGaps] = []
        self.seq: dict[str, int] = {}
        self.second = 0
        self.map(CONTAINERS)

    def map(self, containers: tuple[str, ...], state: str = "running") -> None:
        endpoints = [
            Endpoint(endpoint=f"{c}/{r}", container=c, host=f"h{c}", rnic=r, rail=rail, state="ready")
            for c in containers
            for rail, r in enumerate(RNICS)
        ]
        body = envelope("agent:scheduler/map", self.second + 0.1, len(self.told) + self.second)
        self.take("endpoint-map", EndpointMap(**body, version=self.second, state=state, reason="", endpoints=endpoints))  # type: ignore[arg-type]

    def take(self, topic: str, value: EndpointMap | RnicCounters | RnicBursts) -> None:
        self.state, sent = self.engine.step(self.state, Observation(topic, value))
        self.note(sent)

    def note(self, sent: object) -> None:
        self.told += [e.value for e in sent if isinstance(e.value, ReportingGaps)]  # type: ignore[attr-defined]

    def counters(self, container: str, read: dict[str, bool] | None = None) -> None:
        stream = f"agent:h{container}/rnic-counters.{container}"
        self.seq[stream] = self.seq.get(stream, 0) + 1
        at = tuple(BEGIN_US + (self.second - back) * SECOND_US for back in range(4, -1, -1))
        rnics = []
        for rnic in RNICS:
            known = (read or {}).get(rnic, True)
            values = tuple(n for n in range(5)) if known else (None,) * 5
            rnics.append(RnicColumns(rnic=rnic, t_us=at, tx_bytes=values, rx_bytes=values))
        body = envelope(stream, self.second, self.seq[stream])
        self.take("rnic-counters", RnicCounters(**body, container=container, host=f"h{container}", rnics=tuple(rnics)))  # type: ignore[arg-type]

    def bursts(self, container: str, some: bool) -> None:
        stream = f"agent:h{container}/rnic-bursts.{container}"
        for rnic in RNICS:
            self.seq[stream] = self.seq.get(stream, 0) + 1
            body = envelope(stream, self.second, self.seq[stream])
            burst = Burst(start_us=BEGIN_US, end_us=BEGIN_US + 5, bytes=9, direction="tx")
            found = (burst,) if some else ()
            self.take("rnic-bursts", RnicBursts(**body, endpoint=f"{container}/{rnic}", bursts=found))  # type: ignore[arg-type]

    def tick(self) -> None:
        self.state, sent = self.engine.step(self.state, TimeReached(BEGIN_US + self.second * SECOND_US))
        self.note(sent)

    def silent(self) -> set[str]:
        return {stream.producer for stream in self.told[-1].silent} if self.told else set()

    def run(self, seconds: int, quiet: tuple[str, ...] = (), lost: tuple[int, ...] = ()) -> None:
        """Counters every 5 s; ``quiet`` containers send none, ``lost``: seconds whose messages are lost on the way."""
        for _ in range(seconds):
            self.second += 1
            for container in CONTAINERS:
                if self.second % 5 == 0 and container not in quiet:
                    if self.second in lost:
                        stream = f"agent:h{container}/rnic-counters.{container}"
                        self.seq[stream] += 1
                    else:
                        self.counters(container)
            self.tick()


def test_a_stream_that_stops_is_told_of_after_three_of_its_gaps_and_again_when_it_is_back() -> None:
    story = Story()
    story.run(40)
    assert not story.silent() and story.told[-1].regular == {"rnic-counters": 3}
    story.run(15, quiet=("c1",))
    assert not story.silent()
    story.run(1, quiet=("c1",))
    (stream,) = story.told[-1].silent
    assert (stream.host, stream.container, stream.usual_us) == ("hc1", "c1", 5 * SECOND_US)
    assert stream.last_us == BEGIN_US + 40 * SECOND_US
    told = len(story.told)
    story.run(3, quiet=("c1",))
    assert len(story.told) == told, "nothing is told twice"
    story.run(5)
    assert not story.silent()


def test_a_lost_message_does_not_make_a_stream_look_slow() -> None:
    story = Story()
    story.run(60, lost=(40,))
    story.run(16, quiet=("c2",))
    assert story.silent() == {"agent:hc2/rnic-counters.c2"}


@pytest.mark.parametrize("state", ["running", "ended"])
def test_who_has_left_is_not_missed(state: str) -> None:
    story = Story()
    story.run(40)
    story.second += 1
    story.map(("c0", "c2") if state == "running" else (), state)
    story.run(30, quiet=("c1",) if state == "running" else CONTAINERS)
    assert not story.silent()


@pytest.mark.parametrize(("says_none", "missed"), [(True, True), (False, False)])
def test_bursts_are_missed_only_of_who_has_said_that_there_were_none(says_none: bool, missed: bool) -> None:
    story = Story()
    for _ in range(100):
        story.second += 1
        if story.second % 10 == 0 and story.second <= 60:
            story.bursts("c0", some=not says_none or story.second != 30)
        story.tick()
    assert (story.silent() == {"agent:hc0/rnic-bursts.c0"}) is missed


def test_a_card_that_can_not_be_read_is_told_of_if_another_one_is_read() -> None:
    story = Story()
    story.run(20)
    for read in ({"mlx5_0": False}, {"mlx5_0": False, "mlx5_1": False}, {}):
        story.second += 5
        story.counters("c0", read)
        story.tick()
        expected = {"c0/mlx5_0"} if read == {"mlx5_0": False} else set()
        assert {rnic.endpoint for rnic in story.told[-1].unread} == expected


def test_seconds_that_are_passed_over_are_those_that_change_nothing() -> None:
    """The same story, with all streams looked through in every second, and only when something is due."""
    told = []
    for thorough in (True, False):
        story = Story()
        for second in range(1, 90):
            story.second = second
            for number, container in enumerate(CONTAINERS):
                if (second + number) % 5 == 0 and not (number == 1 and 40 <= second < 70):
                    story.counters(container, {"mlx5_0": not (number == 2 and 50 <= second < 75)})
                if second % 7 == number and second < 60:
                    story.bursts(container, some=second > 20)
            if thorough:
                story.state.reports.due_us = 0
            story.tick()
        told.append(story.told)
    assert told[0] == told[1] and len(told[0]) > 5
