"""What does a running agent carry? Nothing of what the rest of the program needs, and it ends as it should."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from collectors.wiring import PARTS
from tests.integration.collectors.agents import Reader, agent, make_cards, settings_file
from tests.integration.collectors.brokers import Broker

HEAVY = ("numpy", "scipy", "polars", "faust", "pyarrow", "clickhouse_connect", "aiokafka", "typer", "pydantic", "rich")
UNUSED = ("asyncio", "ssl", "hashlib", "confluent_kafka.schema_registry", "kubernetes", "pygnmi")
ON_A_HOST = ("rnic-counters", "rnic-bursts", "rnic-state", "probing", "flow-tables", "configuration", "lldp")


def collect(settings: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "skeletonhunter", "collect", "--config", str(settings), *options]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **environment}
    )


def imported_by(agent_log: str) -> set[str]:
    """Modules that the last interpreter in a log of ``PYTHONVERBOSE`` has loaded: the agent's own."""
    last = agent_log.rindex("import _frozen_importlib ")
    return set(re.findall(r"^import '?([\w.]+)'? #", agent_log[last:], re.M))


@pytest.mark.kafka
def test_an_agent_loads_nothing_heavy(own_broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_cards(tmp_path / "sys", 2)
    settings = settings_file(tmp_path, 0, own_broker.address, ON_A_HOST)
    monkeypatch.setenv("PYTHONVERBOSE", "1")
    with agent(settings) as running:
        reader = Reader(own_broker.address, ["agent-health"])
        reader.until(lambda values: len(values) >= 3)
        reader.close()
        assert running.stop() == 0
    names = imported_by(settings.with_suffix(".log").read_text(errors="replace"))
    assert {"collectors.agent", "collectors.probing.prober", "confluent_kafka.cimpl", "msgspec"} <= names
    loaded = {name for name in names for heavy in (*HEAVY, *UNUSED) if name == heavy or name.startswith(f"{heavy}.")}
    assert loaded == set()


def test_the_settings_can_be_checked_alone(tmp_path: Path) -> None:
    settings = settings_file(tmp_path, 0, "127.0.0.1:9", ["probing"])
    done = collect(settings, "--check")
    assert (done.returncode, done.stdout) == (0, "an agent of fabric pod-7 with probing\n")
    assert not (tmp_path / "spool-0").exists()


def test_a_wrong_setting_is_one_sentence_and_exit_code_1(tmp_path: Path) -> None:
    settings = settings_file(tmp_path, 0, "127.0.0.1:9", ["rnic"])
    done = collect(settings)
    listed = ", ".join(PARTS)
    assert done.returncode == 1
    assert done.stderr == f"{settings}, line 7: Expected one of {listed}, got 'rnic' - at `$.agent.parts`\n"


def test_a_spool_that_can_not_be_used_is_one_sentence_and_exit_code_1(tmp_path: Path) -> None:
    settings = settings_file(tmp_path, 0, "127.0.0.1:9", ["probing"])
    (tmp_path / "spool-0").write_text("")
    done = collect(settings)
    assert done.returncode == 1
    assert done.stderr == f"{tmp_path}/spool-0: can't be used as a spool: File exists\n"


def test_flags_and_environment_reach_the_agent(tmp_path: Path) -> None:
    settings = settings_file(tmp_path, 0, "127.0.0.1:9", ["probing"])
    done = collect(settings, "--check", SKELETONHUNTER_AGENT__FABRIC="pod-9")
    assert done.stdout == "an agent of fabric pod-9 with probing\n"
