"""What does a fault do to the world? Changes of state, from which packets, counters, tables and warnings follow.

Nothing here says what a monitor sees: impairments act on packets, views on what tables hold, silences on who speaks.
Times are seconds of the recording; members and hops are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from skeletonhunter.testbed.intervals import Intervals
from skeletonhunter.testbed.paths import Epoch
from skeletonhunter.testbed.physics import Impairment, Place


@dataclass(frozen=True)
class DeviceWarning:
    """A device event as ``agent`` would report it at ``at_s``."""

    at_s: float
    agent: str
    device: str
    event: str
    text: str
    severity: Literal["info", "warning", "error"] = "error"
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FlowView:
    """How flows stand in the tables of their source's host while ``when`` holds.

    ``offloaded``: what the virtual switch believes; ``in_rnic``: whether the RNIC has the row; ``path``: what packets
    take; ``frozen_s``: since when counters stand still and the flow ages; ``period_s``: the row is made anew so often.
    """

    where: Place
    when: Intervals
    offloaded: bool = True
    in_rnic: bool = True
    path: Literal["hardware", "software"] | None = "hardware"
    frozen_s: float | None = None
    period_s: float | None = None


@dataclass(frozen=True)
class PortLoad:
    """Traffic from elsewhere on the egress port of a hop: share of its line rate, while it holds."""

    hop: int
    when: Intervals
    load: float


@dataclass(frozen=True)
class Silence:
    """An agent (one topic of it, one part of that) sends nothing; with ``late_s`` it sends, but that much later."""

    agent: str
    when: Intervals
    topic: str | None = None
    part: str | None = None
    late_s: float | None = None


@dataclass(frozen=True)
class AgentState:
    """An agent that is not well: health, probes not sent (share), delays (us) added by prober and responder."""

    agent: str
    when: Intervals
    state: Literal["throttled", "starved"]
    not_sent: float
    delay_us: float


@dataclass(frozen=True)
class ClockShift:
    """The clock of a machine is off by ``offset_us`` + ``drift_us_s`` x seconds since the beginning."""

    machine: str
    when: Intervals
    offset_us: float
    drift_us_s: float = 0.0
    admits: bool = True


@dataclass(frozen=True)
class Crash:
    """A container is dead during [from_s, back_s); the scheduler knows from ``known_s`` on."""

    container: str
    from_s: float
    known_s: float
    back_s: float


@dataclass(frozen=True)
class Effects:
    """All changes of state that one fault, or all of them, bring about. ``mute``: impairments that only probes meet."""

    impairments: tuple[Impairment, ...] = ()
    mute: tuple[Impairment, ...] = ()
    epochs: tuple[Epoch, ...] = ()
    warnings: tuple[DeviceWarning, ...] = ()
    views: tuple[FlowView, ...] = ()
    loads: tuple[PortLoad, ...] = ()
    no_ecn: tuple[tuple[int, Intervals], ...] = ()
    corrupting: tuple[tuple[int, Intervals, float], ...] = ()
    silences: tuple[Silence, ...] = ()
    agents: tuple[AgentState, ...] = ()
    clocks: tuple[ClockShift, ...] = ()
    unreadable: tuple[tuple[frozenset[int], Intervals], ...] = ()
    frozen_tables: tuple[tuple[str, Intervals], ...] = ()
    gids: tuple[tuple[int, Intervals, str], ...] = ()
    transports: tuple[tuple[Place, Intervals, Literal["tcp", "udp"]], ...] = ()
    crashes: tuple[Crash, ...] = ()

    def __add__(self, other: Effects) -> Effects:
        return Effects(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Injection:
    """A fault in the world, and its entry in the truth."""

    what: str
    component: str | None
    when: Intervals
    effects: Effects
    kind: Literal["network_fault", "congestion", "monitor"] = "network_fault"
    probe_visible: bool = True
    endpoints: tuple[str, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
