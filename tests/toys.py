"""Small things that many tests need: messages of any provenance, an engine whose output shows all it was given."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from schemas.control import Tick
from schemas.envelope import Clock, Producer
from schemas.folding import Emission, Event, TimeReached, derived_producer
from schemas.instants import SECOND_US
from schemas.telemetry import DeviceEvent
from streams.parameters import Parameters
from streams.stages import Stage

BEGIN_US = 1_753_000_000 * SECOND_US
"""An instant on a whole second, in 2025."""

CLOCK = Clock(source="ptp", offset_us=0.0, error_us=1.0)


def at(offset_s: float) -> int:
    """The instant ``offset_s`` seconds after ``BEGIN_US``."""
    return BEGIN_US + round(offset_s * SECOND_US)


def device_event(offset_s: float, seq: int, agent: str = "a", text: str = "", fabric: str = "f") -> DeviceEvent:
    """A warning of some device, the smallest message there is."""
    return DeviceEvent(
        v=1,
        t_us=at(offset_s),
        producer=Producer(id=f"agent:{agent}/device-events", kind="host", boot="b1", seq=seq),
        clock=CLOCK,
        fabric=fabric,
        device="switch:s1",
        event="port_down",
        severity="warning",
        text=text,
    )


def tick(offset_s: float, final: bool = False) -> Tick:
    """Time has come to ``offset_s`` seconds after ``BEGIN_US``."""
    return Tick(t_us=at(offset_s), source="clock", offsets={}, final=final)


@dataclass
class Heard:
    """State of ``EchoEngine``."""

    key: str
    seconds: int = 0
    texts: list[str] = field(default_factory=list)


class EchoEngine:
    """Says each second what it has heard since the last one; every event that it is given shows in what it says."""

    def start(self, key: str) -> Heard:
        return Heard(key)

    def step(self, state: Heard, event: Event) -> tuple[Heard, list[Emission]]:
        if not isinstance(event, TimeReached):
            producer = event.value.producer
            state.texts.append(f"{event.topic} {producer.id} {producer.seq} {event.value.t_us}")
            return state, []
        state.seconds += 1
        said = device_event(0, seq=state.seconds, text="; ".join(state.texts), fabric=state.key)
        producer = derived_producer("echo", state.key, state.seconds)
        state.texts = []
        return state, [
            Emission("device-events", state.key, msgspec.structs.replace(said, t_us=event.t_us, producer=producer))
        ]


ECHO = Stage(
    name="echo", key="fabric", inputs=("device-events",), outputs=(), upstream=(), build=lambda parameters: EchoEngine()
)

PARAMETERS = Parameters()
