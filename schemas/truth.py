"""What was really wrong in a recording: the file ``truth.json``. Written by the testbed, read by scoring, by no engine.

Instants are microseconds (UTC); a fault holds during [start_us, end_us]. ``endpoints`` are those that it can hurt.
Source: design, section 5. Unknown fields (loss, severity, direction, ...) are allowed and ignored.
"""

from __future__ import annotations

from typing import Literal, get_args

from schemas.diagnosis import IssueId
from schemas.envelope import InstantUs, Name, Value

MonitorFaultKind = Literal[
    "agent_missing",
    "agent_starved",
    "clock_bad",
    "collector_gap",
    "skeleton_transition",
    "target_not_ready",
]
"""Troubles of the monitor. The first four have an incident kind of their name; the last two must stay silent."""

SILENT_MONITOR_FAULTS: frozenset[MonitorFaultKind] = frozenset({"skeleton_transition", "target_not_ready"})

ISSUES: tuple[IssueId, ...] = get_args(IssueId)
"""The nineteen issues; number n of the paper is ``ISSUES[n - 1]``."""


class _Interval(Value, frozen=True, kw_only=True):
    """Something that holds for a time; ``fault`` is its id within the file."""

    fault: Name
    start_us: InstantUs
    end_us: InstantUs
    endpoints: tuple[Name, ...] = ()

    def __post_init__(self) -> None:
        if self.end_us < self.start_us:
            raise ValueError(f"fault {self.fault!r}: end_us {self.end_us} is before start_us {self.start_us}")


class Fault(_Interval, frozen=True, kw_only=True):
    """A component that is at fault, or (``kind`` congestion) a port that is busy and is not.

    ``issue`` null: nothing in the data tells why. ``probe_visible`` false: no network probe can see it (paths inside a
    host between GPUs), so recall is counted with and without it.
    """

    component: Name
    issue: IssueId | None = None
    kind: Literal["network_fault", "congestion"] = "network_fault"
    probe_visible: bool = True


class MonitorFault(_Interval, frozen=True, kw_only=True):
    """Trouble of the monitor itself, of ``component`` (``agent:``, ``clock:``, ``switch:`` ...; null = a whole job)."""

    kind: MonitorFaultKind
    component: Name | None = None


class Truth(Value, frozen=True, kw_only=True):
    """The whole file. ``groups`` and ``edges`` are the job's true skeleton."""

    faults: tuple[Fault, ...] = ()
    monitor_faults: tuple[MonitorFault, ...] = ()
    groups: object = None
    edges: object = None

    def __post_init__(self) -> None:
        names = [fault.fault for fault in (*self.faults, *self.monitor_faults)]
        if len(set(names)) != len(names):
            raise ValueError("a fault id is used twice in faults and monitor_faults")
