"""Which file holds which quantity, in which unit, and where does it stop counting?

- IBTA data counters (``port_xmit_data``, ``port_rcv_data``, and ``PortXmitData``/``PortRcvData`` of fabric tools) count
  4-byte words whatever the width of the link (IBTA 16.1.3.5: "octets divided by 4"); drivers with counters of
  their own count bytes.
- One quantity can stand in several files. They are read in the order below and the first that can be read is taken:
  they are never added, because they are the same bytes. IPv4 and IPv6 octets of irdma are two quantities and are.
- IBTA counters stop at the width that the specification gives them, whatever the width of the file: at that value
  the count is a lower bound. Drivers with extended counters go beyond; what was seen beyond has no ceiling.
- What can go down by itself (numbers of open objects, settings) is no counter.
"""

from __future__ import annotations

from msgspec import Struct

WORD_BYTES = 4
TX, RX = "tx_bytes", "rx_bytes"


class Source(Struct, frozen=True):
    """Files of one port (below ``ports/<n>/``, or the network device for ``statistics/``) that add up to a quantity."""

    files: tuple[str, ...]
    factor: int = 1


SENT = (
    Source(("counters/port_xmit_data",), WORD_BYTES),
    Source(("counters_ext/port_xmit_data_64",), WORD_BYTES),
    Source(("hw_counters/tx_bytes",)),
    Source(("hw_counters/ip4OutOctets", "hw_counters/ip6OutOctets")),
    Source(("hw_counters/hw_tx_bytes_cnt",)),
    Source(("hw_counters/tx_rdma_ucast_bytes",)),
)
"""IBTA (mlx4, mlx5, hfi1, qib, ...), old 64-bit files, EFA, bnxt_re and MANA, irdma and i40iw, erdma, ionic."""

RECEIVED = (
    Source(("counters/port_rcv_data",), WORD_BYTES),
    Source(("counters_ext/port_rcv_data_64",), WORD_BYTES),
    Source(("hw_counters/rx_bytes",)),
    Source(("hw_counters/ip4InOctets", "hw_counters/ip6InOctets")),
    Source(("hw_counters/hw_rx_bytes_cnt",)),
    Source(("hw_counters/rx_rdma_ucast_bytes",)),
)

SOFT_SENT, SOFT_RECEIVED = Source(("statistics/tx_bytes",)), Source(("statistics/rx_bytes",))
"""A soft device (rxe, siw) counts no bytes: those of its network device include all else that goes through it."""

CEILINGS = {
    "excessive_buffer_overrun_errors": 15,
    "local_link_integrity_errors": 15,
    "link_downed": 255,
    "link_error_recovery": 255,
    "port_rcv_constraint_errors": 255,
    "port_xmit_constraint_errors": 255,
    "symbol_error": 65535,
    "port_rcv_errors": 65535,
    "port_rcv_remote_physical_errors": 65535,
    "port_rcv_switch_relay_errors": 65535,
    "port_xmit_discards": 65535,
    "VL15_dropped": 65535,
    "port_xmit_wait": 2**32 - 1,
    "port_xmit_data": 2**32 - 1,
    "port_rcv_data": 2**32 - 1,
    "port_xmit_packets": 2**32 - 1,
    "port_rcv_packets": 2**32 - 1,
}
"""IBTA 16.1.3.5 PortCounters: widths of 4, 8, 16 and 32 bits."""

GAUGES = frozenset({"lifespan", "num_fastreg_mrs", "load_time", "current_rate"})
GAUGE_PREFIXES = ("active_", "watermark_", "max_", "num_alloc_")

SAME_AS = {
    "port_rcv_data_64": "port_rcv_data",
    "port_xmit_data_64": "port_xmit_data",
    "port_rcv_packets_64": "port_rcv_packets",
    "port_xmit_packets_64": "port_xmit_packets",
    "port_multicast_rcv_packets": "multicast_rcv_packets",
    "port_multicast_xmit_packets": "multicast_xmit_packets",
    "port_unicast_rcv_packets": "unicast_rcv_packets",
    "port_unicast_xmit_packets": "unicast_xmit_packets",
}
"""Names below ``counters_ext`` for what stands below ``counters`` under another name."""

DATA = frozenset(
    file.rpartition("/")[2] for source in SENT + RECEIVED for file in source.files if source.factor == WORD_BYTES
)
"""Counters in words: they are published as bytes under ``tx_bytes`` and ``rx_bytes``, not once more in words."""

FABRIC_TOOL_WORDS = frozenset({"PortXmitData", "PortRcvData", "XmtData", "RcvData"})

FABRIC_TOOL_CEILINGS = {
    "ExcessiveBufferOverrunErrors": 15,
    "ExcBufOverrunErrors": 15,
    "LocalLinkIntegrityErrors": 15,
    "LinkIntegrityErrors": 15,
    "LinkDownedCounter": 255,
    "LinkDowned": 255,
    "LinkErrorRecoveryCounter": 255,
    "LinkRecovers": 255,
    "PortRcvConstraintErrors": 255,
    "RcvConstraintErrors": 255,
    "PortXmitConstraintErrors": 255,
    "XmtConstraintErrors": 255,
    "SymbolErrorCounter": 65535,
    "SymbolErrors": 65535,
    "PortRcvErrors": 65535,
    "RcvErrors": 65535,
    "PortRcvRemotePhysicalErrors": 65535,
    "RcvRemotePhysErrors": 65535,
    "PortRcvSwitchRelayErrors": 65535,
    "RcvSwRelayErrors": 65535,
    "PortXmitDiscards": 65535,
    "XmtDiscards": 65535,
    "VL15Dropped": 65535,
    "QP1Dropped": 65535,
    "PortXmitWait": 2**32 - 1,
    "XmtWait": 2**32 - 1,
    "PortXmitData": 2**32 - 1,
    "PortRcvData": 2**32 - 1,
    "PortXmitPkts": 2**32 - 1,
    "PortRcvPkts": 2**32 - 1,
    "XmtData": 2**32 - 1,
    "RcvData": 2**32 - 1,
    "XmtPkts": 2**32 - 1,
    "RcvPkts": 2**32 - 1,
}
"""The same counters as fabric tools call them, in newer and older releases."""


def is_counter(name: str) -> bool:
    """Whether a file is a cumulative counter that is published under its own name."""
    return name not in GAUGES and name not in DATA and not name.startswith(GAUGE_PREFIXES)


def bytes_of(name: str, value: int) -> int:
    """A data counter of a fabric tool or of sysfs in bytes; any other counter as it is."""
    return value * WORD_BYTES if name in FABRIC_TOOL_WORDS or name in DATA else value


def is_at_ceiling(name: str, value: int) -> bool:
    """Whether a value, taken by itself, is where its counter stops: what was counted since is unknown."""
    return value in (CEILINGS.get(name), FABRIC_TOOL_CEILINGS.get(name))
