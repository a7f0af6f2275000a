"""``kill -9`` of every process, each at a moment of its own: it must not show in what the system says."""

from __future__ import annotations

import random

import pytest

from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.replaying.outcome import incident_lines
from skeletonhunter.settings import Settings
from tests.chaos.conftest import Theatre
from tests.chaos.installation import Play, Script
from tests.chaos.outcome import Outcome, assert_same
from tests.chaos.story import SECONDS

pytestmark = pytest.mark.chaos

PROGRAMS = ("work-1", "work-2", "sink", "alert")
NODES = ("clickhouse", "kafka")


def killed(play: Play, name: str, second: float) -> Script:
    """A process is killed when the pipeline has come to that second, and started again."""
    yield play.reached(second)
    if name in NODES:
        node = getattr(play, name)
        node.kill()
        node.start()
        return
    play.running.kill_one(name)
    play.watch(name)


def test_the_undisturbed_run_says_what_the_local_engine_says(theatre: Theatre, undisturbed: Outcome) -> None:
    with Recording(theatre.story) as recording:
        expected = LocalReplay(Settings().parameters).run(recording)
    assert incident_lines(undisturbed.updates) == incident_lines(expected.updates)
    assert len(undisturbed.current) == len(expected.incidents()) >= 3
    assert len(undisturbed.told) == len(expected.updates) >= 6


def test_kill_9_of_every_process(theatre: Theatre, undisturbed: Outcome, round_seeds: tuple[int, ...]) -> None:
    """Once in each round; rounds that share a run may kill a process that is still coming back."""
    moments = [(name, second) for seed in round_seeds for name, second in moments_of(seed).items()]
    theatre.say(seeds=round_seeds, killed_at_s=moments)
    found = theatre.run(lambda play: [killed(play, name, second) for name, second in moments], number_of_workers=2)
    assert_same(found, undisturbed)


def moments_of(seed: int) -> dict[str, float]:
    """When each process is killed in a round."""
    chance = random.Random(seed)
    return {name: round(chance.uniform(5.0, SECONDS - 10.0), 1) for name in (*PROGRAMS, *NODES)}
