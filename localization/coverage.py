"""What may be wrong where no probe goes? Paths inside a host, from GPU to GPU and from GPU to RNIC, as remarks.

A probe travels from RNIC to RNIC, so NVLink, the PCIe of a GPU and GPUDirect are out of coverage: a fault there is
neither found nor acquitted. Two things may tell of it all the same, and are remarked on when no incident does:

- a device's own warning about such a path (``OF_THE_HOST``, or kernel lines of GPUs, which name an Xid or NVLink),
  unless an incident about that host lasts within ``NEAR_US`` of it; of one device and event only the first is told;
- steps of a job that become slower than usual while no incident of the job lasts: ln(duration / usual) beyond
  ``SLOW_LOG`` and four times its own spread (median absolute deviation x 1.4826), ``LEAST_SLOW`` steps in a row; usual
  is the median of the last ``KEPT`` steps that were not slow, known after ``KNOWN``. A checkpoint may look the same.

A remark is no incident: it blames nobody and asks for nothing. Memory: O(jobs + steps + warnings). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import log
from statistics import median

from msgspec import Struct

from schemas.diagnosis import Incident
from schemas.envelope import Message
from schemas.instants import SECOND_US, micros
from schemas.telemetry import DeviceEvent, JobProgress

OF_THE_HOST = frozenset(["gdr_error", "pcie_error", "pcie_degraded"])
OF_A_GPU = re.compile(r"\bxid\b|nvlink|nvswitch", re.IGNORECASE)
ABOUT_THE_NETWORK = frozenset(["network_fault", "congestion", "insufficient_evidence"])
TOPICS = frozenset(["device-events", "job-progress"])
NEAR_US = 60 * SECOND_US
SLOW_LOG = log(1.25)
SPREADS = 4.0
LEAST_SLOW, KNOWN, KEPT = 2, 5, 20


class Remark(Struct, frozen=True, kw_only=True):
    """Something out of probes' reach. ``subject``: a component id, or ``job:<job>``; instants in us."""

    subject: str
    start_us: int
    end_us: int
    text: str


@dataclass(slots=True)
class BeyondProbes:
    """Fed device events and steps in any order; other messages change nothing."""

    warnings: dict[tuple[str, str], DeviceEvent] = field(default_factory=dict)
    steps: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def take(self, value: Message) -> None:
        """Notes a message."""
        if isinstance(value, JobProgress) and value.step_s > 0.0:
            self.steps.setdefault(value.job, []).append((value.t_us, value.step_s))
        elif isinstance(value, DeviceEvent) and value.severity != "info" and _is_inside(value):
            key = value.device, value.event
            if key not in self.warnings or value.t_us < self.warnings[key].t_us:
                self.warnings[key] = value

    def remarks(self, incidents: Sequence[Incident]) -> tuple[Remark, ...]:
        """What no incident (their last states) speaks of, in order of time."""
        about = [incident for incident in incidents if incident.kind in ABOUT_THE_NETWORK]
        found = [*self._of_devices(about), *self._of_jobs(about)]
        return tuple(sorted(found, key=lambda remark: (remark.start_us, remark.subject)))

    def _of_devices(self, incidents: Sequence[Incident]) -> Iterator[Remark]:
        for event in self.warnings.values():
            host = _host_of(event.device)
            near = [each for each in incidents if _lasts(each, event.t_us - NEAR_US, event.t_us + NEAR_US)]
            if host in {_host_of(each.component or "") for each in near}:
                continue
            text = f"{event.event}: {event.text}; no probe goes there, so nothing confirms it and nothing denies it"
            yield Remark(subject=event.device, start_us=event.t_us, end_us=event.t_us, text=text)

    def _of_jobs(self, incidents: Sequence[Incident]) -> Iterator[Remark]:
        for job, steps in self.steps.items():
            of_job = [incident for incident in incidents if job in incident.jobs]
            for usual_s, slow in slow_runs(sorted(steps)):
                start_us, end_us = slow[0][0] - micros(slow[0][1]), slow[-1][0]
                if not any(_lasts(incident, start_us, end_us) for incident in of_job):
                    yield Remark(subject=f"job:{job}", start_us=start_us, end_us=end_us, text=_slow_text(usual_s, slow))


def _slow_text(usual_s: float, slow: Sequence[tuple[int, float]]) -> str:
    times = median(step_s for _, step_s in slow) / usual_s
    return (
        f"{len(slow)} steps took {times:.1f} times the usual {usual_s:.1f} s and nothing that probes see explains it: "
        "it is the job's own doing (a checkpoint, its input), or lies inside a host, where no probe goes (GPUs, "
        "NVLink, PCIe)"
    )


def slow_runs(steps: Iterable[tuple[int, float]]) -> Iterator[tuple[float, list[tuple[int, float]]]]:
    """Runs of slow steps with the usual duration (s) before each; ``steps``: (end in us, duration in s) in order."""
    usual: list[float] = []
    run: list[tuple[int, float]] = []
    for end_us, step_s in steps:
        if len(usual) >= KNOWN and log(step_s / median(usual)) > _bound(usual):
            run.append((end_us, step_s))
            continue
        if len(run) >= LEAST_SLOW:
            yield median(usual), run
        run = []
        usual = [*usual[1 - KEPT :], step_s]
    if len(run) >= LEAST_SLOW:
        yield median(usual), run


def _bound(usual: Sequence[float]) -> float:
    middle = median(usual)
    spread = 1.4826 * median(abs(log(step_s / middle)) for step_s in usual)
    return max(SLOW_LOG, SPREADS * spread)


def _is_inside(event: DeviceEvent) -> bool:
    return event.event in OF_THE_HOST or bool(OF_A_GPU.search(event.text))


def _host_of(component: str) -> str:
    """The host of a component that stands on one; else the component's name."""
    return component.partition(":")[2].partition("/")[0]


def _lasts(incident: Incident, from_us: int, to_us: int) -> bool:
    """Whether the incident lasts at some time of the interval."""
    return incident.onset_us <= to_us and (incident.resolved_us is None or incident.resolved_us >= from_us)
