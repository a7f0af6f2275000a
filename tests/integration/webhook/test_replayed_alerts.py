"""A replay in one process tells the same targets as the alert sender, at the times of the recording."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skeletonhunter.alert_settings import AlertSettings, AlertTarget
from skeletonhunter.alerting.rehearsal import WORDS, rehearse
from skeletonhunter.alerting.targets import Target
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.local import replay_in_process
from skeletonhunter.replaying.request import ReplayError, ReplayRequest
from skeletonhunter.settings import Settings
from tests.integration.webhook.listener import receiving

pytestmark = [pytest.mark.webhook, pytest.mark.slow]

INCIDENT = Path(__file__).parents[3] / "examples/incidents/stale-flow-offload"


def test_the_bundled_incident_is_one_page_in_slack_and_its_end() -> None:
    with receiving() as receiver, Recording(INCIDENT) as recording:
        target = AlertTarget(name="night", format="slack", url=receiver.url, updates=False)
        alerts = AlertSettings(targets=(target,), allow_networks=("127.0.0.0/8",))
        outcome = replay_in_process(ReplayRequest(recording, Settings(alerts=alerts)))
    [incident] = outcome.incidents()
    titles = [call.body["blocks"][0]["text"]["text"] for call in receiver.calls]
    what = "Offloading failure: rnic:h-2269/mlx5_5"
    assert titles == [
        f":large_orange_circle: {what}",  # packets are lost
        f":red_circle: [updated] {what}",  # the connections are dead
        f":white_check_mark: [resolved] {what}",
    ]
    assert f"skeletonhunter report {incident.incident}" in receiver.calls[0].body["text"]


def test_a_target_that_may_not_be_reached_is_said_before_anything_is_replayed() -> None:
    with Recording(INCIDENT) as recording:
        alerts = AlertSettings(webhooks=("http://169.254.169.254/latest",))
        with pytest.raises(ReplayError, match=r"169\.254\.169\.254 is link-local, expected a public one"):
            replay_in_process(ReplayRequest(recording, Settings(alerts=alerts)))


@pytest.mark.parametrize("form", ["json", "alertmanager", "slack", "pagerduty"])
def test_a_rehearsal_is_taken_by_each_form_of_receiver(form: str) -> None:
    settings = AlertTarget(name="oncall", format=form, url="http://x.example")  # type: ignore[arg-type]
    alerts = AlertSettings(attempts=1, allow_networks=("127.0.0.0/8",))
    with receiving() as receiver:
        assert rehearse(Target(settings, receiver.url, token="t"), alerts, 1_753_000_000_000_000) is None
    assert len(receiver.calls) == 2
    assert WORDS in receiver.calls[0].raw.decode()
    with receiving(403) as receiver:
        failure = rehearse(Target(settings, receiver.url, token="t"), alerts, 1_753_000_000_000_000)
    assert failure == f"http://127.0.0.1:{receiver.port}: answered 403, expected 200 to 299"


def test_the_command_rehearses_and_says_who_took_it(tmp_path: Path) -> None:
    with receiving() as receiver:
        path = tmp_path / "alerts.toml"
        path.write_text(
            'alerts.allow_networks = ["127.0.0.0/8"]\n[[alerts.targets]]\nname = "team"\nformat = "slack"\n'
            'url_env = "HOOK"\n'
        )
        command = [sys.executable, "-m", "skeletonhunter", "alert", "--config", str(path), "--test"]
        environment = os.environ | {"HOOK": receiver.url}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, len(receiver.calls)) == (0, 2)
    assert done.stdout == f"team  http://127.0.0.1:{receiver.port}  took a test incident and its end\n"
    assert "secret-token" not in done.stdout + done.stderr
