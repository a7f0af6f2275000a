"""Source ports of RDMA packets: the kernel's formulas."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collectors.probing.source_ports import flow_label_for, port_of_label, port_of_queue_pair, rule_of


@given(st.integers(49152, 65535))
def test_any_port_from_49152_on_can_be_asked_for(sport: int) -> None:
    assert port_of_label(flow_label_for(sport)) == sport


@given(st.integers(0, 2**20 - 1))
def test_labels_make_ports_of_the_dynamic_range(label: int) -> None:
    assert 49152 <= port_of_label(label) <= 65535


def test_ports_of_soft_roce_as_seen_on_the_wire() -> None:
    """Queue pairs 17 to 20 of a guest, and the ports that tcpdump showed there."""
    assert [port_of_queue_pair(qpn) for qpn in (17, 18, 19, 20)] == [57236, 63494, 53368, 59626]


def test_rules() -> None:
    assert [rule_of(d) for d in ("mlx5_core", "rdma_rxe", "irdma", "")] == [
        "flow label",
        "queue pair",
        "unknown",
        "unknown",
    ]
