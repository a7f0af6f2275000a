"""Runs on Apache Kafka that ``.ci/chaos`` has prepared, each compared with the one that nothing disturbed.

What each found (seeds, moments, recovery times) is printed and, if ``--findings FILE`` is given, appended there as a
line of JSON.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.kafka_services import skeletonhunter
from skeletonhunter.replaying.listener import AlertListener
from skeletonhunter.settings import Settings
from tests.chaos.installation import Play, Script, settings_for, supervised, topics_of, workers
from tests.chaos.nodes import ADDRESS, Node, clickhouse_node, kafka_node
from tests.chaos.outcome import Outcome, outcome_of
from tests.chaos.story import write_story

TOGETHER = 5
"""Rounds of kills that take place in one run."""
HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("chaos")
    group.addoption("--rounds", type=int, default=1, help="rounds in which each process is killed once")
    group.addoption("--seed", type=int, default=1, help="seed of the first round, and of all else at random")
    group.addoption("--long", action="store_true", help="outages last as long as in production")
    group.addoption("--findings", type=Path, help="file to which what was found is appended as JSON lines")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "round_seeds" in metafunc.fixturenames:
        first, rounds = metafunc.config.getoption("--seed"), metafunc.config.getoption("--rounds")
        seeds = range(first, first + rounds)
        runs = [tuple(seeds[n : n + TOGETHER]) for n in range(0, rounds, TOGETHER)]
        metafunc.parametrize("round_seeds", runs, ids=[f"{run[0]}-{run[-1]}" for run in runs])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if ADDRESS not in os.environ:
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="chaos: started by .ci/chaos, which brings Apache Kafka"))


@pytest.fixture(scope="session")
def is_long(pytestconfig: pytest.Config) -> bool:
    """Whether outages last as long as in production."""
    return bool(pytestconfig.getoption("--long"))


@pytest.fixture
def long_form(is_long: bool) -> None:
    """What would make the short form too long."""
    if not is_long:
        pytest.skip("chaos: only in the long form (.ci/chaos --long)")


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """What is drawn at random is drawn from this."""
    return int(pytestconfig.getoption("--seed"))


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """The broker."""
    node = kafka_node(tmp_path_factory.mktemp("kafka"))
    yield node
    node.stop()


@pytest.fixture(scope="session")
def clickhouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """ClickHouse."""
    node = clickhouse_node(tmp_path_factory.mktemp("clickhouse"))
    yield node
    node.stop()


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording."""
    return write_story(tmp_path_factory.mktemp("story") / "story")


Direct = Callable[[Play], list[Script]]
"""From a run, before it begins, to the disturbances that are to happen in it."""


@dataclass
class Theatre:
    """Carries out runs, and says what was found."""

    kafka: Node
    clickhouse: Node
    story: Path
    folder: Path
    config: Any
    name: str
    said: dict[str, Any] = field(default_factory=dict)
    heard: dict[str, str] = field(default_factory=dict)
    """What each program logged in the last run."""

    def run(
        self,
        direct: Direct = lambda play: [],
        recording: Path | None = None,
        change: Callable[[Settings], Settings] = lambda settings: settings,
        number_of_workers: int = 1,
        speed: float | None = 15.0,
    ) -> Outcome:
        """One run of a recording (default: the story), disturbed as directed."""
        begun_s = time.monotonic()
        with ExitStack() as stack:
            listener = stack.enter_context(AlertListener().listening())
            opened = stack.enter_context(Recording(recording or self.story))
            settings = change(settings_for(self.kafka.address, self.clickhouse.address, listener, self.folder))
            stack.enter_context(topics_of(settings))
            cast = [*workers(number_of_workers), skeletonhunter("sink", "--migrate"), skeletonhunter("alert")]
            running = stack.enter_context(supervised(settings, cast))
            play = Play(opened, settings, running, self.kafka, self.clickhouse, speed)
            play.scripts = direct(play)
            play.run()
            running.end()
            self.heard = running.heard()
            outcome = outcome_of(settings, listener)
        self._note(play, outcome, time.monotonic() - begun_s)
        return outcome

    def _note(self, play: Play, outcome: Outcome, took_s: float) -> None:
        recovery: dict[str, list[float]] = {}
        for watch in play.watches:
            recovery.setdefault(watch.name, []).append(round(watch.seconds or 0.0, 1))
        self.say(
            recovery_s=recovery,
            ended=[(name, code, words.splitlines()[-1:]) for name, code, words in play.running.ended],
            repeated=outcome.repeated,
            took_s=round(took_s, 1),
            load=round(os.getloadavg()[0], 1),
        )

    def say(self, **found: Any) -> None:
        """Notes something that was found."""
        self.said.update(found)

    def publish(self) -> None:
        """Prints what was found, and appends it to the file."""
        line = orjson.dumps({"run": self.name, **self.said}).decode()
        with self.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"\n{line}")  # noqa: T201 - seeds and figures are what a run is for
        findings = self.config.getoption("--findings")
        if findings:
            with findings.open("a") as file:
                file.write(line + "\n")


@pytest.fixture
def theatre(
    kafka: Node, clickhouse: Node, story: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Theatre]:
    """Where a run takes place."""
    found = Theatre(kafka, clickhouse, story, tmp_path, request.config, request.node.name)
    yield found
    found.publish()


@pytest.fixture(scope="session")
def undisturbed(
    kafka: Node, clickhouse: Node, story: Path, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Outcome:
    """What the story comes to when nothing happens to the monitor."""
    theatre = Theatre(kafka, clickhouse, story, tmp_path_factory.mktemp("undisturbed"), pytestconfig, "undisturbed")
    outcome = theatre.run()
    theatre.publish()
    return outcome
