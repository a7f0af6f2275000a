"""SIGHUP: a sender of alerts takes up other targets and silences; a file that can't be used changes nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.clickhouse.kafka import Bench, broker, until
from tests.integration.webhook.listener import Receiver, receiving
from tests.integration.webhook.test_alerts import incident

pytestmark = [pytest.mark.webhook, pytest.mark.kafka]

PROGRAM = [sys.executable, "-m", "skeletonhunter"]
SILENCE = """
[[alerts.silences]]
since = 2020-01-01T00:00:00Z
until = 2120-01-01T00:00:00Z
why = "planned work"
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with broker() as found:
        yield found


def settings(bench: Bench, receiver: Receiver, more: str = "") -> str:
    """Settings with one target, oncall."""
    return f"""
[kafka]
url = "{bench.settings.url}"
prefix = "{bench.settings.prefix}"
session_s = {bench.settings.session_s}

[alerts]
allow_networks = ["127.0.0.0/8"]

[[alerts.targets]]
name = "oncall"
format = "json"
url = "{receiver.url}"
settle_s = 0
{more}"""


def refuse_wrong_files(running: subprocess.Popen[bytes], file: Path, log: Path, good: str) -> None:
    """Each file that can't be used is refused in a sentence that says why."""
    for wrong, words in (
        (good + "settle = 3\n", "unknown field `settle`"),
        (good.replace("127.0.0.0/8", "10.0.0.0/8"), "is loopback, expected a public one"),
        (good.partition("[alerts]")[0], "nobody to tell"),
    ):
        file.write_text(wrong)
        before = len(log.read_text())
        running.send_signal(signal.SIGHUP)
        until(lambda before=before: "the settings stay as they are" in log.read_text()[before:], words)
        assert words in log.read_text()[before:]


def test_targets_and_silences_change_while_it_runs_and_a_wrong_file_changes_nothing(
    address: str, tmp_path: Path
) -> None:
    bench, file, log = Bench(address), tmp_path / "settings.toml", tmp_path / "log"

    def told() -> bool:
        return bench.committed("alert-oncall", ["incidents"]) == bench.ends

    with receiving() as old, receiving() as new, log.open("w") as output:
        file.write_text(settings(bench, old))
        bench.publish([incident("inc-a", 1)])
        running = subprocess.Popen([*PROGRAM, "alert", "--config", str(file)], stderr=output)
        try:
            until(lambda: told() and len(old.calls) == 1, "the first target is told")

            file.write_text(settings(bench, new))
            running.send_signal(signal.SIGHUP)
            until(lambda: "the settings are read again; told are: oncall" in log.read_text(), "it says so")
            bench.publish([incident("inc-b", 2), incident("inc-a", 3, "resolved")])  # of one host: they share a page
            until(lambda: told() and len(new.calls) == 2, "the second target is told")

            refuse_wrong_files(running, file, log, settings(bench, new))
            bench.publish([incident("inc-b", 4, "resolved")])
            until(lambda: told() and len(new.calls) == 3, "the second target is told as before")

            file.write_text(settings(bench, new, SILENCE))
            running.send_signal(signal.SIGHUP)
            until(lambda: log.read_text().count("the settings are read again") == 2, "it says so")
            bench.publish([incident("inc-c", 5)])
            until(lambda: "outcome=withheld" in log.read_text() and told(), "it was considered")
            running.send_signal(signal.SIGTERM)
            assert running.wait(30) == 0
        finally:
            running.kill()
            running.wait()
    assert [call.body["state"] for call in old.calls] == ["open"]
    assert [call.body["state"] for call in new.calls] == ["updated", "updated", "resolved"], "the same page goes on"
    assert {call.body["incident"] for call in (*old.calls, *new.calls)} == {"inc-a"}
    assert "hidden" not in log.read_text()
