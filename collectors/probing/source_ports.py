"""Which UDP source port does an RDMA packet leave with? Per driver, because the verbs do not say.

RoCE v2 hides queue pairs in UDP, and switches choose among equal paths by its source port (IBTA RoCE v2 annex, A17).

- mlx5_core, hns3: 0xC000 or'ed with the low 14 bits of the flow label, folded with the upper 6 (Linux,
  ``rdma_flow_label_to_udp_sport``): any port from 49152 on can be asked for.
- rdma_rxe: 0xC000 + hash_32(queue pair number, 14), the flow label is ignored (Linux, ``rxe_qp_init_req``): a pool of
  queue pairs, each with its port.
- others: not known. One queue pair; results give no port.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

FIRST = 0xC000
POOL = 8
"""Queue pairs of a device whose ports follow their numbers: the plan's ports are spread over them."""

Rule = Literal["flow label", "queue pair", "unknown"]

_RULES: dict[str, Rule] = {"mlx5_core": "flow label", "hns3": "flow label", "rdma_rxe": "queue pair"}


def rule_of(driver: str) -> Rule:
    """How a driver chooses the port."""
    return _RULES.get(driver, "unknown")


def flow_label_for(sport: int) -> int:
    """The flow label that makes a packet leave from ``sport``; see ``port_of_label`` for one below 49152."""
    return sport & 0x3FFF


def port_of_label(label: int) -> int:
    """The port that a flow label (20 bits) makes."""
    return ((label & 0x3FFF) ^ ((label & 0xFC000) >> 14)) | FIRST


def port_of_queue_pair(qpn: int) -> int:
    """The port of a Soft-RoCE queue pair."""
    return FIRST + (((qpn * 0x61C88647) & 0xFFFFFFFF) >> (32 - 14))


def way_for(sport: int, rule: Rule, qpns: Sequence[int]) -> tuple[int, int, int | None]:
    """(queue pair of the pool, flow label, the port that the packet leaves from) for a wanted port."""
    label = flow_label_for(sport)
    if rule == "flow label":
        return 0, label, port_of_label(label)
    through = sport % len(qpns)
    return through, label, port_of_queue_pair(qpns[through]) if rule == "queue pair" else None
