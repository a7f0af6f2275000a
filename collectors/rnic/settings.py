"""What the RNIC collectors can be told."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Seconds = Annotated[float, Meta(ge=0.1, le=600.0)]


class RnicSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How often RNICs are looked at, and when something counts.

    counters_s: seconds between two samples of all counters.
    message_s: seconds of samples in one message; below the lateness bound of the pipeline.
    ethtool_s: seconds between two readings of the network devices' own statistics (priorities, PFC, lanes), which cost
        the driver milliseconds; 0 = never.
    devices_s: seconds between two looks for devices that came, went or were born again.
    burst_sample_s: seconds between two samples for burst detection.
    burst_message_s: seconds of bursts in one message.
    quiet_bytes_s: rate below which an RNIC counts as quiet.
    ack_share: rate below this share of the other direction counts as its acknowledgements.
    longest_burst_s: a longer burst is reported in parts.
    state_s: seconds between two looks at port states.
    gids_s: seconds between two looks at GID tables.
    pcie_s: seconds between two looks at PCIe links.
    flap_window_s: seconds within which changes of a port count as flapping.
    hold_s: seconds that a port must stay up before it counts as recovered.
    confirm: looks in a row before a device counts as missing, or a PCIe link as degraded.
    gbps: rate in Gb/s that each RNIC should have in its role, by its name in the map (default: that of others of its
        model on this host).
    mtu: MTU that the network devices of RNICs should have (default: that of most of a model on this host).
    gid_index: GID index that jobs are pinned to (by NCCL_IB_GID_INDEX, say), if they are.
    """

    counters_s: Seconds = 1.0
    message_s: Seconds = 5.0
    ethtool_s: Annotated[float, Meta(ge=0.0, le=3600.0)] = 10.0
    devices_s: Seconds = 5.0
    burst_sample_s: Annotated[float, Meta(ge=0.005, le=1.0)] = 0.05
    burst_message_s: Seconds = 10.0
    quiet_bytes_s: Annotated[float, Meta(gt=0.0)] = 20e6
    ack_share: Annotated[float, Meta(ge=0.0, le=0.5)] = 0.01
    longest_burst_s: Seconds = 60.0
    state_s: Seconds = 1.0
    gids_s: Seconds = 2.0
    pcie_s: Seconds = 10.0
    flap_window_s: Annotated[float, Meta(gt=0.0)] = 600.0
    hold_s: Annotated[float, Meta(ge=0.0)] = 600.0
    confirm: Annotated[int, Meta(ge=1, le=100)] = 3
    gbps: dict[str, Annotated[float, Meta(gt=0.0)]] = {}
    mtu: Annotated[int, Meta(ge=68, le=65535)] | None = None
    gid_index: Annotated[int, Meta(ge=0, le=65535)] | None = None
