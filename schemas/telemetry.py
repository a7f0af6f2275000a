"""What hosts and switches measure: counters, bursts, queues, flow tables, warnings, the agents' own health, steps.

A value that could not be read is null, never 0. A counter that decreases was reset: the delta is unknown.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from schemas.envelope import Count, InstantUs, JobMessage, Message, Name, Value, same_lengths, shallow

NullableColumn = tuple[Count | None, ...]

RNIC_COLUMNS = frozenset({"rnic", "t_us", "tx_bytes", "rx_bytes"})
"""Fields of one RNIC on the wire; every other list beside them is a further counter."""


class RnicColumns(Value, frozen=True, kw_only=True):
    """Samples of one RNIC, columns of length n: instants (us), cumulative bytes, further cumulative counters.

    On the wire every other list beside ``tx_bytes`` is a further counter under its kernel name (in Python they are in
    ``counters``); what stands there and is no list is an unknown field.
    """

    rnic: Name
    t_us: tuple[InstantUs, ...]
    tx_bytes: NullableColumn
    rx_bytes: NullableColumn
    counters: dict[str, NullableColumn] = {}

    def __post_init__(self) -> None:
        taken = RNIC_COLUMNS & self.counters.keys()
        if taken:
            raise ValueError(f"a further counter must not be called {sorted(taken)[0]!r}")
        same_lengths(t_us=self.t_us, tx_bytes=self.tx_bytes, rx_bytes=self.rx_bytes, **self.counters)


class RnicCounters(JobMessage, frozen=True, kw_only=True):
    """Topic ``rnic-counters``, key job: one message per container and interval."""

    container: Name
    host: Name
    rnics: tuple[RnicColumns, ...]


class Burst(Value, frozen=True, kw_only=True):
    """Bytes that one endpoint sent or received without a pause, [start_us, end_us]."""

    start_us: InstantUs
    end_us: InstantUs
    bytes: Count
    direction: Literal["tx", "rx"]

    def __post_init__(self) -> None:
        if self.end_us < self.start_us:
            raise ValueError(f"end_us {self.end_us} is before start_us {self.start_us}")


class RnicBursts(JobMessage, frozen=True, kw_only=True):
    """Topic ``rnic-bursts``, key job: bursts of one endpoint that ended in the interval; an empty list says none."""

    endpoint: Name
    bursts: tuple[Burst, ...]


class QueueColumns(Value, frozen=True, kw_only=True):
    """Samples of one egress queue, columns of length n: depth in bytes; the rest cumulative counters.

    ``t_us`` are instants by the switch's clock, where it tells them; ``received_us`` by the collector's.
    """

    port: Name
    queue: int | str
    t_us: tuple[InstantUs, ...]
    depth_bytes: NullableColumn
    received_us: tuple[InstantUs, ...] | None = None
    ecn_marked: NullableColumn | None = None
    pfc_rx: NullableColumn | None = None
    pfc_tx: NullableColumn | None = None
    dropped: NullableColumn | None = None
    crc_errors: NullableColumn | None = None

    def __post_init__(self) -> None:
        length = len(self.t_us)
        counters = (self.ecn_marked, self.pfc_rx, self.pfc_tx, self.dropped, self.crc_errors)
        for column in (self.depth_bytes, self.received_us, *counters):  # runs per queue: kept cheap
            if column is not None and len(column) != length:
                self._refuse_lengths()

    def _refuse_lengths(self) -> None:
        same_lengths(
            t_us=self.t_us,
            depth_bytes=self.depth_bytes,
            received_us=self.received_us,
            ecn_marked=self.ecn_marked,
            pfc_rx=self.pfc_rx,
            pfc_tx=self.pfc_tx,
            dropped=self.dropped,
            crc_errors=self.crc_errors,
        )


class SwitchQueues(Message, frozen=True, kw_only=True):
    """Topic ``switch-queues``, key fabric: the queues of one switch; ``port`` is the bare name inside the switch."""

    switch: Name
    ports: tuple[QueueColumns, ...]
    software: str | None = None


class FlowEntry(Value, frozen=True, kw_only=True):
    """One row of a flow table: what stands ``at`` a component and where it sends the flow; ``next`` null = dropped.

    ``offloaded`` is what this table believes; ``path`` is what the packets were seen to take.
    """

    flow: str
    at: Name
    next: str | None
    src: str | None
    dst: str | None
    match: str = ""
    actions: str = ""
    packets: Count | None = None
    bytes: Count | None = None
    idle_s: float | None = None
    offloaded: bool | None = None
    path: Literal["hardware", "software"] | None = None


class FlowTables(Message, frozen=True, kw_only=True):
    """Topic ``flow-tables``, key fabric: a snapshot of one table of one host; ``complete`` false = a part of it.

    ``truncated`` says what the dump was cut short by, when it was.
    """

    host: Name
    rnic: str | None
    table: Literal["vswitch", "rnic"]
    complete: bool
    flows: tuple[FlowEntry, ...]
    truncated: str | None = None

    def __post_init__(self) -> None:
        if self.table == "rnic" and self.rnic is None:
            raise ValueError("a table 'rnic' must name its rnic")


KNOWN_DEVICE_EVENTS = frozenset(
    {
        "port_down",
        "port_up",
        "crc_errors",
        "switch_unreachable",
        "switch_reboot",
        "pfc_storm",
        "cc_disabled",
        "fw_health",
        "rnic_reset",
        "rnic_missing",
        "bond_degraded",
        "bond_failed",
        "gid_changed",
        "pcie_error",
        "pcie_degraded",
        "gdr_error",
        "offload_disabled",
        "vswitch_restart",
        "rdma_fallback",
        "container_exit",
        "container_start",
        "hugepage_mismatch",
        "agent_exit",
        "clock_step",
        "module_error",
        "limits_exceeded",
        "fw_command_failed",
        "qp_error",
        "collective_timeout",
        "mtu_mismatch",
        "speed_degraded",
        "neighbour_changed",
        "interface_missing",
        "carrier",
        "port_stable",
        "gid_missing",
        "gid_restored",
        "pcie_restored",
        "bond_restored",
        "bond_imbalance",
        "rnic_present",
        "rnic_not_found",
        "rnic_inventory",
        "counters_unreadable",
        "loss_signs",
        "retransmits_without_pfc",
        "priority_asymmetry",
        "unknown",
    }
)
"""Codes of device events that this version understands; others are kept and read as ``unknown``."""


class DeviceEvent(Message, frozen=True, kw_only=True):
    """Topic ``device-events``, key fabric: a warning of a device about itself; ``device`` is a component id."""

    device: Name
    event: Name
    severity: Literal["info", "warning", "error"]
    text: str
    values: dict[str, object] = {}

    def __post_init__(self) -> None:
        shallow(values=self.values)


class AgentHealth(Message, frozen=True, kw_only=True):
    """Topic ``agent-health``, key fabric: how an agent itself is doing. Version 2 adds ``plan_version``."""

    agent: Name
    host: Name
    covers: tuple[str, ...]
    state: Literal["ok", "throttled", "starved", "stopping"]
    cpu_percent: Annotated[float, Meta(ge=0.0)] | None = None
    rss_bytes: Count | None = None
    send_lag_us: float | None = None
    dropped: Count | None = None
    gids: dict[str, str] | None = None
    plan_version: Count | None = None
    watches: tuple[str, ...] | None = None


class JobProgress(JobMessage, frozen=True, kw_only=True):
    """Topic ``job-progress``, key job: a finished training step and how long it took, seconds."""

    step: Count
    step_s: Annotated[float, Meta(ge=0.0)]
