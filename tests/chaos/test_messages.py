"""Messages come twice, late, in another order, broken, or from a host whose clock lies."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.replaying.outcome import ReplayOutcome, incident_lines
from skeletonhunter.settings import Settings
from tests.chaos.conftest import Theatre
from tests.chaos.outcome import Outcome, assert_same, verdicts
from tests.chaos.story import Lines, retold

pytestmark = pytest.mark.chaos

BOUND_US = 4_900_000
"""Just within the lateness bound."""
TWICE, DELAYED, BROKEN = 0.1, 0.3, 0.02
LIARS = ("agent:c-03bf-004/", "agent:h-5499/")
"""The agents of the host whose clock steps, from one second of the story to another."""
LIAR = {"agent:c-03bf-004", "agent:h-5499", "clock:h-5499"}
"""Of whom something new may be said then."""
LIES_S = (30.0, 130.0)
HOUR_US = 3_600_000_000


def in_disorder(chance: random.Random) -> Callable[[Lines], Lines]:
    """A tenth comes twice, a third late and so in another order; broken copies come among them."""

    def change(lines: Lines) -> Lines:
        for line in lines:
            late_us = BOUND_US - (line.arrival_us - orjson.loads(line.raw)["t_us"])
            delay_us = round(chance.uniform(0.0, max(late_us, 0))) if chance.random() < DELAYED else 0
            moved = line._replace(arrival_us=line.arrival_us + delay_us)
            yield moved
            if chance.random() < TWICE:
                yield moved._replace(
                    arrival_us=moved.arrival_us + round(chance.uniform(0.0, max(late_us - delay_us, 0)))
                )
            if chance.random() < BROKEN:
                yield moved._replace(raw=broken(line.raw, chance), arrival_us=moved.arrival_us + 1)

    return change


def broken(raw: bytes, chance: random.Random) -> bytes:
    """A message that something has damaged: cut off, a byte overwritten, or a field of another type."""
    where = chance.randrange(1, len(raw))
    return chance.choice(
        (raw[:where], raw[:where] + b"\xff" + raw[where + 1 :], raw.replace(b'"t_us":', b'"t_us":-', 1))
    )


def damaged_on_the_way(chance: random.Random, instead: bool) -> Callable[[Lines], Lines]:
    """Some messages arrive broken (``instead``), or do not arrive at all."""

    def change(lines: Lines) -> Lines:
        for line in lines:
            if chance.random() >= BROKEN or "map" in line.topic:
                yield line
            elif instead:
                yield line._replace(raw=broken(line.raw, random.Random(line.arrival_us)))

    return change


def stepped(story: Path, step_us: int) -> Callable[[Lines], Lines]:
    """All that one host says bears instants of a clock that is wrong for a while."""
    with Recording(story) as recording:
        begin_us = recording.manifest.start_us
    first_us, last_us = (begin_us + round(second * 1e6) for second in LIES_S)

    def change(lines: Lines) -> Lines:
        for line in lines:
            value = orjson.loads(line.raw)
            if value["producer"]["id"].startswith(LIARS) and first_us <= line.arrival_us < last_us:
                yield line._replace(raw=orjson.dumps(_shifted(value, step_us)))
            else:
                yield line

    return change


def _shifted(value: Any, step_us: int, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _shifted(each, step_us, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_shifted(each, step_us, name) for each in value]
    return value + step_us if name in ("t_us", "start_us", "end_us") and isinstance(value, int) else value


def locally(recording: Path) -> ReplayOutcome:
    """What the local engine says of a recording."""
    with Recording(recording) as opened:
        return LocalReplay(Settings().parameters).run(opened)


def test_messages_come_twice_late_in_disorder_and_with_broken_copies(
    theatre: Theatre, undisturbed: Outcome, tmp_path: Path, seed: int
) -> None:
    recording = retold(theatre.story, tmp_path / "retold", in_disorder(random.Random(seed)))
    theatre.say(seed=seed)
    assert_same(theatre.run(recording=recording), undisturbed)


@pytest.mark.usefixtures("long_form")
def test_what_arrives_broken_is_a_dead_letter_and_counts_as_never_sent(
    theatre: Theatre, tmp_path: Path, seed: int
) -> None:
    changes = [damaged_on_the_way(random.Random(seed), instead) for instead in (True, False)]
    with_broken, without = (retold(theatre.story, tmp_path / str(n), each) for n, each in enumerate(changes))
    expected = locally(without)
    found = theatre.run(recording=with_broken)
    with Recording(with_broken) as one, Recording(without) as other:
        lost = one.count - other.count
    theatre.say(seed=seed, broken=lost)
    assert incident_lines(found.updates) == incident_lines(expected.updates)
    assert sum(found.letters.values()) == lost > 50


@pytest.mark.usefixtures("long_form")
@pytest.mark.parametrize("step_us", [HOUR_US, -HOUR_US], ids=["forwards", "backwards"])
def test_a_clock_steps_by_an_hour(theatre: Theatre, undisturbed: Outcome, tmp_path: Path, step_us: int) -> None:
    """All verdicts on the network stay; what is new is of that host, and says that it can't be heard, or why."""
    recording = retold(theatre.story, tmp_path / "retold", stepped(theatre.story, step_us))
    found = theatre.run(recording=recording)
    assert incident_lines(found.updates) == incident_lines(locally(recording).updates)
    before, after = verdicts(undisturbed.updates), verdicts(found.updates)
    theatre.say(new=sorted(after - before), letters=found.letters)
    assert before <= after
    assert {component for _, _, component in after - before} <= LIAR
    if step_us > 0:
        assert ("agent_missing", None, "agent:h-5499") in after
        assert found.letters["future_timestamp"] > 500
    else:
        assert ("clock_bad", None, "clock:h-5499") in after
