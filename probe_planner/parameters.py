"""What planning is tuned by."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Positive = Annotated[float, Meta(gt=0.0)]
PositiveCount = Annotated[int, Meta(ge=1)]


class PlannerParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The budget, the shape of a probe, and how thoroughly paths are covered.

    slot_s: least length of a slot, seconds: one train of probes and its replies.
    train_packets: most packets per train; agents send fewer where the packet budget holds fewer in a slot.
    packet_bytes: bytes of a packet on the wire.
    pps_per_rnic: packets per second that an RNIC may send and answer; stretches the slots.
    link_gbps: rate of the slowest link that probes cross.
    link_share: share of a link that probes may take; stretches the slots.
    probes_per_slot: probes that an RNIC takes part in at a time.
    round_s: longest round that is wanted, seconds; what does not fit is left out. None: as long as it takes.
    targets_per_rnic: most peers of an endpoint; None: all of them.
    rotate_s: what is left out waits so long, then takes the place of the less important half of what is not.
    directions: "both": every pair is probed from both ends in a round; "alternate": from one end, the next round from
        the other.
    max_probes: most probes in one plan; beyond it the basic list is thinned evenly (a plan must fit into one message).
    first_port, ports: the range of UDP source ports.
    alpha: probe paths that should cross each link that the job's traffic can take.
    most_turns: most turns with other source ports, when one does not cover all links.
    turn_s: how long a turn lasts, seconds, rounded to whole rounds.
    confidence: how sure the crossing of a link must be where paths are only traced.
    extra_share: further slots for pairs that cross suspected components, as a share of the slots; 0: none.
    whole_after_s: a whole plan follows a delta after at most so long.
    quarantined, disabled: components that are not probed: endpoints, `container:`, `rnic:` or `host:` ids.
    """

    slot_s: Positive = 0.02
    train_packets: PositiveCount = 200
    packet_bytes: PositiveCount = 128
    pps_per_rnic: Positive = 4000.0
    link_gbps: Positive = 200.0
    link_share: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.001
    probes_per_slot: PositiveCount = 1
    round_s: Positive | None = None
    targets_per_rnic: PositiveCount | None = None
    rotate_s: Positive = 300.0
    directions: Literal["both", "alternate"] = "both"
    max_probes: PositiveCount = 65_536
    first_port: Annotated[int, Meta(ge=1024, le=65_535)] = 49_152
    ports: Annotated[int, Meta(ge=1, le=16_384)] = 16_384
    alpha: PositiveCount = 2
    most_turns: Annotated[int, Meta(ge=1, le=64)] = 8
    turn_s: Positive = 30.0
    confidence: Annotated[float, Meta(gt=0.0, lt=1.0)] = 0.99
    extra_share: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.25
    whole_after_s: Positive = 10.0
    quarantined: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()

    @property
    def passes(self) -> int:
        """How often a round goes through its pairs."""
        return 2 if self.directions == "both" else 1
