"""What no probe can see is remarked on, unless an incident speaks of it; it is never an incident itself."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from localization.coverage import BeyondProbes, slow_runs
from schemas.envelope import Producer
from schemas.folding import DERIVED_CLOCK
from schemas.instants import SECOND_US
from schemas.telemetry import DeviceEvent, JobProgress
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.coverage import out_of_coverage
from tests.unit.scoring.cases import START_US, at, incident

INCIDENTS = Path(__file__).parents[3] / "examples/incidents"
ENVELOPE = {
    "v": 1,
    "producer": Producer(id="agent:h1/x", kind="host", boot="b", seq=0),
    "clock": DERIVED_CLOCK,
    "fabric": "fab",
}


def warning(second: float, event: str = "gdr_error", text: str = "registration failed", **more: object) -> DeviceEvent:
    fields = {"device": "host:h1", "event": event, "severity": "warning", "text": text, "values": {}} | more
    return DeviceEvent(**ENVELOPE, t_us=at(second), **fields)  # type: ignore[arg-type]


def steps(*durations: float, job: str = "j1") -> list[JobProgress]:
    """Steps one after the other from second 0 on."""
    found, end = [], 0.0
    for number, step_s in enumerate(durations):
        end += step_s
        found.append(JobProgress(**ENVELOPE, t_us=at(end), job=job, step=number, step_s=step_s))  # type: ignore[arg-type]
    return found


def beyond(*messages: DeviceEvent | JobProgress) -> BeyondProbes:
    found = BeyondProbes()
    for message in messages:
        found.take(message)
    return found


def test_a_warning_about_a_path_inside_a_host_is_told_once() -> None:
    found = beyond(warning(40), warning(30), warning(50)).remarks([])
    assert [(each.subject, each.start_us) for each in found] == [("host:h1", at(30))]
    assert found[0].text.startswith("gdr_error: registration failed; no probe goes there")


@pytest.mark.parametrize(
    "event",
    [
        warning(30, "port_down", "port is down"),
        warning(30, severity="info"),
        warning(30, "unknown", "fan is slow"),
    ],
)
def test_other_events_are_no_matter_of_coverage(event: DeviceEvent) -> None:
    assert beyond(event).remarks([]) == ()


def test_what_the_kernel_says_of_gpus_is() -> None:
    for text in ("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus", "NVLink 3: fatal error"):
        assert len(beyond(warning(30, "unknown", text)).remarks([])) == 1


@pytest.mark.parametrize(
    ("component", "onset", "resolved", "told"),
    [
        ("host:h1", 20, None, False),
        ("rnic:h1/r0", 20, 25, False),  # over a few seconds before
        ("host:h2", 20, None, True),
        ("host:h1", -200, -100, True),  # long over
    ],
)
def test_an_incident_of_the_host_speaks_for_its_warnings(
    component: str, onset: float, resolved: float | None, told: bool
) -> None:
    said = [incident(component, onset=onset, detected=onset + 1, resolved=resolved)]
    assert bool(beyond(warning(30)).remarks(said)) is told


def test_slow_steps_that_no_incident_explains_are_told() -> None:
    progress = steps(*[10.0] * 8, *[16.0] * 3, *[10.0] * 3)
    (remark,) = beyond(*reversed(progress)).remarks([])
    assert (remark.subject, remark.start_us, remark.end_us) == ("job:j1", at(80), at(128))
    assert "3 steps took 1.6 times the usual 10.0 s" in remark.text
    said = msgspec.structs.replace(incident("rnic:h1/r0", onset=90, detected=91), jobs=("j1",))
    assert beyond(*progress).remarks([said]) == ()
    assert len(beyond(*progress).remarks([msgspec.structs.replace(said, jobs=("j2",))])) == 1


@pytest.mark.parametrize(
    "durations",
    [
        [10.0] * 8 + [16.0] + [10.0] * 4,  # one alone
        [10.0] * 2 + [16.0] * 5,  # too early to know
        [10.0, 10.5, 9.6, 10.2, 9.9] * 3,
        [6.0, 14.0, 8.0, 12.0, 10.0] * 3,  # always so
        [10.0 * 1.03**n for n in range(30)],  # slower bit by bit
    ],
)
def test_steps_that_vary_as_they_do_are_not_slow(durations: list[float]) -> None:
    assert list(slow_runs([(START_US + n * SECOND_US, step_s) for n, step_s in enumerate(durations)])) == []


def test_the_healthy_job_has_nothing_out_of_coverage() -> None:
    with Recording(INCIDENTS / "healthy-job") as recording:
        assert out_of_coverage(recording, []) == ()
