"""Whatever stands in the files of a card, the collectors survive it, and the other card is read."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.rnic.parts import rnic_parts
from collectors.rnic.settings import RnicSettings
from tests.unit.collectors.rnic.trees import at, card, columns, placed, put

FILES = (
    *("counters/port_xmit_data", "counters/port_rcv_data", "counters/symbol_error", "hw_counters/out_of_sequence"),
    *(
        "counters_ext/port_xmit_data_64",
        "state",
        "phys_state",
        "rate",
        "link_layer",
        "gids/0",
        "gids/3",
        "counters/link_downed",
    ),
    *("gid_attrs/types/0", "gid_attrs/types/3", "gid_attrs/ndevs/0"),
)
OTHERS = ("node_guid", "fw_ver", "board_id", "hca_type", "parent")
LINKS = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")

garbage = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [b"", b"\n", b"N/A (no PMA)\n", b"4294967295\n", b"-1\n", b"1e400", b"../../etc\n", b"a/b\0c", b"\xff" * 30]
    ),
    st.integers(0, 2**70).map(lambda number: b"%d\n" % number),
)
rounds = st.lists(
    st.dictionaries(st.sampled_from((*FILES, *OTHERS, *LINKS)), garbage, max_size=8), min_size=1, max_size=4
)


@settings(deadline=None, max_examples=30)
@given(rounds)
def test_garbage_in_any_file_harms_nobody(contents: list[dict[str, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        sys = Path(name)
        sick = card(sys, "mlx5_0", "0000:01:00.0", dict.fromkeys(FILES, 1), **dict.fromkeys(OTHERS, "x"))
        card(sys, "mlx5_1", "0000:02:00.0", {"counters/port_xmit_data": 7, "counters/port_rcv_data": 8})
        for link in LINKS:
            put(sys, f"devices/pci0000:01/0000:01:00.0/{link}", "16")
        asked = RnicSettings(message_s=1.0, devices_s=0.5, gids_s=1.0, pcie_s=1.0, ethtool_s=1.0, burst_message_s=1.0)
        parts = rnic_parts(lambda: placed("mlx5_0", "mlx5_1"), sys, asked)
        observed = []
        for second, texts in enumerate([contents[0], *contents]):
            for file, content in texts.items():
                folder = sick.parent.parent if file in LINKS else sick if file in OTHERS else sick / "ports/1"
                (folder / file).write_bytes(content)
            for part in (parts.counters, parts.bursts, parts.state):
                observed += list(part.collect(at(second)))
        healthy = columns(observed, "mlx5_1")
        assert healthy["tx_bytes"] == [28] * len(healthy["t_us"]) and len(healthy["t_us"]) == len(contents) + 1
        assert all(value is None or value >= 0 for value in columns(observed, "mlx5_0")["tx_bytes"])
