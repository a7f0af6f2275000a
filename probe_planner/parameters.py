"""What planning is tuned by."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Positive = Annotated[float, Meta(gt=0.0)]
PositiveCount = Annotated[int, Meta(ge=1)]


class PlannerParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The budget, and the shape of a probe.

    slot_s: least length of a slot, seconds: one train of probes and its replies (20 ms: a train takes well under 1 ms).
    train_packets: packets per train, as agents send them.
    pps_per_rnic: packets per second that an RNIC may send and answer; stretches the slots.
    round_s: longest round that is wanted, seconds; what does not fit is left out. None: as long as it takes.
    targets_per_rnic: most peers of an endpoint; None: all of them.
    directions: "both": every pair is probed from both ends in a round; "alternate": from one end, evenly chosen.
    max_probes: most probes in one plan; beyond it the basic list is thinned evenly (a plan must fit into one message).
    first_port, ports: the range of UDP source ports.
    """

    slot_s: Positive = 0.02
    train_packets: PositiveCount = 10
    pps_per_rnic: Positive = 200.0
    round_s: Positive | None = None
    targets_per_rnic: PositiveCount | None = None
    directions: Literal["both", "alternate"] = "both"
    max_probes: PositiveCount = 65_536
    first_port: Annotated[int, Meta(ge=1024, le=65_535)] = 49_152
    ports: Annotated[int, Meta(ge=1, le=16_384)] = 16_384
