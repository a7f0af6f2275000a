"""GIDs from a tree like the kernel's: which is chosen, how it moves, and who sent a datagram."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.probing.gids import choose_gid, driver_of, gid_text, read_gid, read_gids, source_gid

V4, V6, LOCAL = "::ffff:10.0.0.1", "fd00::1", "fe80::1"


def tree(root: Path, entries: dict[int, tuple[str, str]], device: str = "mlx5_0", size: int = 8) -> Path:
    port = root / "class/infiniband" / device / "ports/1"
    (port / "gids").mkdir(parents=True)
    (port / "gid_attrs/types").mkdir(parents=True)
    for index in range(size):
        gid, kind = entries.get(index, ("::", ""))
        (port / f"gids/{index}").write_text(ipaddress.IPv6Address(gid).exploded + "\n")
        if kind:
            (port / f"gid_attrs/types/{index}").write_text(kind + "\n")
    return root


def chosen(root: Path, ip: str) -> str | None:
    gid = choose_gid(read_gids(root, "mlx5_0"), ip)
    return None if gid is None else f"{gid.index} {gid.type}"


def test_the_routable_entry_of_the_own_address_is_chosen(tmp_path: Path) -> None:
    entries = {
        0: (LOCAL, "IB/RoCE v1"),
        1: (LOCAL, "RoCE v2"),
        2: (V4, "IB/RoCE v1"),
        3: (V4, "RoCE v2"),
        5: (V6, "RoCE v2"),
    }
    root = tree(tmp_path, entries)
    (root / "class/infiniband/mlx5_0/ports/1/gids/uevent").write_text("")
    assert chosen(root, "10.0.0.1") == "3 RoCE v2"
    assert chosen(root, "fd00::1") == "5 RoCE v2"
    assert chosen(root, "10.9.9.9") == "3 RoCE v2"  # not there: the first that can be routed


def test_infiniband_has_no_roce_entry(tmp_path: Path) -> None:
    assert chosen(tree(tmp_path, {0: ("fe80::b8ce:f603:b5:1", "IB/RoCE v1")}), "10.0.0.1") == "0 IB/RoCE v1"


def test_no_entry_and_no_device(tmp_path: Path) -> None:
    assert chosen(tree(tmp_path, {}), "10.0.0.1") is None
    with pytest.raises(OSError, match="mlx5_7"):
        read_gids(tmp_path, "mlx5_7")


def test_one_entry_is_read_again(tmp_path: Path) -> None:
    root = tree(tmp_path, {3: (V4, "RoCE v2")})
    before = read_gid(root, "mlx5_0", 3)
    assert before is not None and str(before) == "0000:0000:0000:0000:0000:ffff:0a00:0001"
    (root / "class/infiniband/mlx5_0/ports/1/gids/3").write_text("0000:0000:0000:0000:0000:0000:0000:0000\n")
    assert read_gid(root, "mlx5_0", 3) is None
    (root / "class/infiniband/mlx5_0/ports/1/gids/3").write_text("nonsense\n")
    assert read_gid(root, "mlx5_0", 3) is None


def test_drivers(tmp_path: Path) -> None:
    root = tree(tmp_path, {}, "rxe0")
    (root / "class/infiniband/rxe0/parent").write_text("eth0\n")
    (root / "class/infiniband/mlx5_0/device").mkdir(parents=True)
    (root / "class/infiniband/mlx5_0/device/driver").symlink_to("../../bus/pci/drivers/mlx5_core")
    assert [driver_of(root, name) for name in ("rxe0", "mlx5_0", "none")] == ["rdma_rxe", "mlx5_core", ""]


def v4_header(source: bytes) -> bytes:
    header = bytearray(b"\x45\x00\x00\x7c\x00\x00\x40\x00\x40\x11\x00\x00" + source + bytes([10, 0, 0, 2]))
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, 20, 2))
    total = (total & 0xFFFF) + (total >> 16)
    header[10:12] = (~((total & 0xFFFF) + (total >> 16)) & 0xFFFF).to_bytes(2, "big")
    return bytes(header)


@given(source=st.binary(min_size=4, max_size=4), before=st.binary(min_size=20, max_size=20))
def test_who_sent_a_datagram_over_ipv4_whatever_stands_before(source: bytes, before: bytes) -> None:
    assert (
        gid_text(source_gid(before + v4_header(source)))
        == ipaddress.IPv6Address(bytes(10) + b"\xff\xff" + source).exploded
    )


@given(source=st.binary(min_size=16, max_size=16), target=st.binary(min_size=16, max_size=16))
def test_who_sent_a_datagram_over_ipv6(source: bytes, target: bytes) -> None:
    header = b"\x60\x00\x00\x00\x00\x64\x11\x40" + source + target
    assert source_gid(header) == source or header[20] == 0x45
