"""Everything that a verdict may rest on, joined in event time and bounded: maps, trains, queues, flows, events,
health.
 Instants are the producers' own; a producer whose clock may be off by more than ``clock_bound_s`` (|offset| +
error) is left out of the joins and named by the monitor pass. Each store trims itself; nothing grows with the
length of a job.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from localization.clocks import ClockWatch
from localization.flows import FlowStore
from localization.history import HopBackground, TrainWindow
from localization.parameters import LocalizationParameters
from localization.producers import FORGET_US, Producers
from localization.queues import QueueStore
from localization.sources import Sources
from localization.topology import Topology
from localization.watch import FabricWatch
from schemas.diagnosis import PairWindows
from schemas.envelope import Clock, Message
from schemas.folding import Stray
from schemas.instants import SECOND_US, micros
from schemas.maps import FabricEndpoints, FabricMap
from schemas.reporting import ReportingGaps
from schemas.telemetry import AgentHealth, DeviceEvent, FlowTables, SwitchQueues

MOST_EVENTS = 5000
TRIM_US = 60 * SECOND_US
ADMITS_US = 30 * SECOND_US
"""A clock that says so again within this time has not been well in between."""
REGULAR_TOPICS = frozenset(["switch-queues", "flow-tables", "agent-health"])


class Admission(NamedTuple):
    """What a clock says of itself: since when without a pause, and when last, by its own stamps, us; its host or ''."""

    clock: Clock
    first_us: int
    stamped_us: int
    host: str


@dataclass(slots=True)
class EvidenceStore:
    """Evidence of one fabric. ``seen_topics``: topics that brought anything; ``bad_clocks``: why, by producer id.

    ``probing``: endpoints that probe in the open second although no train that is kept says so.
    """

    fabric: str
    parameters: LocalizationParameters
    topology: Topology
    watch: FabricWatch
    queues: QueueStore
    flows: FlowStore
    producers: Producers = field(default_factory=Producers)
    sources: Sources = field(default_factory=Sources)
    events: list[DeviceEvent] = field(default_factory=list)
    clocks: dict[str, Admission] = field(default_factory=dict)
    clock_watch: ClockWatch = field(default_factory=ClockWatch)
    seen_topics: set[str] = field(default_factory=set)
    probing: set[str] = field(default_factory=set)

    def take(self, topic: str, value: Message) -> None:
        """Notes a message, whatever it is about."""
        self.seen_topics.add(topic)
        if topic in REGULAR_TOPICS:
            self.producers.hear(topic, value)
            self.clock_watch.hear(topic, value)
        if self._is_off(topic, value):
            return
        if isinstance(value, PairWindows):
            self.watch.take(value)
        elif isinstance(value, SwitchQueues):
            self.queues.take(value)
        elif isinstance(value, FlowTables):
            self.flows.take(value)
        elif isinstance(value, DeviceEvent):
            self.events.append(value)
            del self.events[:-MOST_EVENTS]
        elif isinstance(value, ReportingGaps):
            self.producers.take_gaps(value)
        else:
            self._take_map(value)

    def agent_of(self, endpoint: str) -> str:
        """The agent of an endpoint: as its health messages say, else the one of its container."""
        known = self.producers.agent_of.get(endpoint)
        listed = self.topology.endpoints.get(endpoint)
        return known or (listed.container if listed else endpoint)

    def _take_map(self, value: Message) -> None:
        if isinstance(value, FabricMap) and self.topology.take_fabric(value):
            self.watch.refresh()
        if isinstance(value, FabricEndpoints) and (moved := self.topology.take_endpoints(value)):
            self.watch.move(moved)

    def _is_off(self, topic: str, value: Message) -> bool:
        """Whether the producer's clock can't be joined with."""
        clock = value.clock
        if clock.source == "none" and clock.offset_us == 0.0 and clock.error_us == 0.0:
            return False
        off_us = abs(clock.offset_us) + clock.error_us
        if off_us <= micros(self.parameters.clock_bound_s):
            return False
        host = value.host if isinstance(value, AgentHealth | FlowTables) else ""
        before = self.clocks.get(value.producer.id)
        lately = before is not None and 0 <= value.t_us - before.stamped_us < ADMITS_US
        first_us = before.first_us if before is not None and lately else value.t_us
        self.clocks[value.producer.id] = Admission(clock, first_us, value.t_us, host)
        return topic in ("switch-queues", "flow-tables", "device-events")

    def close_second(self, t_us: int, strays: tuple[Stray, ...] = ()) -> bool:
        """Ends a second; whether a fault of the fabric is over with it. ``strays``: who came outside its time."""
        self.clock_watch.stray(strays, t_us)
        ended = self.watch.close_second(t_us)
        heard, self.watch.probers = self.watch.probers, []
        self.sources.hear(self.probing.union(heard) if self.probing else heard, t_us)
        self.probing = set()
        self.queues.trim(t_us)
        self.clock_watch.trim(t_us)
        if t_us % TRIM_US == 0:
            self.flows.trim(t_us)
            self.producers.forget(t_us, self.topology.endpoints)
            self.clock_watch.forget(t_us - FORGET_US)
            self.sources.forget(t_us)
            before_us = t_us - micros(self.parameters.event_history_s)
            self.events = [event for event in self.events if event.t_us >= before_us]
            self.clocks = {name: seen for name, seen in self.clocks.items() if seen.stamped_us >= before_us}
        return ended


def new_evidence(fabric: str, parameters: LocalizationParameters) -> EvidenceStore:
    """A store that holds nothing yet."""
    topology = Topology()
    background = HopBackground(parameters.hop_loss, parameters.hop_losses)
    watch = FabricWatch(parameters, topology, TrainWindow(parameters.window_s), background)
    keep_us = 2 * parameters.window_s * SECOND_US
    return EvidenceStore(
        fabric, parameters, topology, watch, QueueStore(keep_us), FlowStore(micros(parameters.flow_history_s))
    )
