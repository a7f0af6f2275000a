"""GID tables as ``show_gids``, ``ibv_devinfo -v`` and ``hiroce3 gids`` print them, in one shape. Pure and total.

``show_gids`` separates by tabs and blanks and leaves the IPv4 column empty for addresses that are none; the first DEV
is the RDMA device, the last the network device. ``ibv_devinfo`` writes "GID[  3]: ::ffff:192.0.2.1, RoCE v2" below
a device and a port; older releases leave the kind out, which is known of InfiniBand ports only.
"""

from __future__ import annotations

import re

from collectors.plain_text import plain
from collectors.rnic.gid_tables import Gid, GidKind, parse_gid, parse_gid_kind

Port = tuple[str, int]

ROW = re.compile(
    r"(\S{1,64})\s+([0-9]{1,3})\s+([0-9]{1,5})\s+([0-9a-fA-F:.]{2,45})\s+(?:[0-9.]{7,15}\s+)?(v1|v2|ib|IB)(?:\s+(\S{1,32}))?"
)
VENDOR_ROW = re.compile(
    r"(\S{1,64})\s+(\S{1,32})\s+([0-9]{1,3})\s+([0-9]{1,5})\s+([0-9a-fA-F:.]{2,45})\s+(RoCE v[12]|IB)"
    r"(?:\s+[0-9.]{7,15})?(?:\s+(?:up|down))?"
)
DEVICE = re.compile(r"hca_id:\s*(\S{1,64})")
PORT = re.compile(r"port:\s*([0-9]{1,3})")
LINK_LAYER = re.compile(r"link_layer:\s*(\w{1,16})")
ENTRY = re.compile(r"GID\[\s*([0-9]{1,5})\s*\]:\s*([0-9a-fA-F:.]{2,45})(?:\s*,\s*(.{1,32}))?")


def parse_gid_listing(text: str) -> dict[Port, tuple[Gid, ...]]:
    """Tables by device and port; ("", 0) where none is told."""
    found: dict[Port, dict[tuple[int, GidKind], Gid]] = {}
    device, port, untold = "", 0, "ib"
    for raw in plain(text).splitlines():
        line = raw.strip()
        row, entry = ROW.fullmatch(line), ENTRY.fullmatch(line)
        if row is not None:
            _put(found, (row[1], int(row[2])), (row[3], row[4], row[5]), row[6] or "")
        elif (other := VENDOR_ROW.fullmatch(line)) is not None:
            _put(found, (other[1], int(other[3])), (other[4], other[5], other[6]), other[2])
        elif entry is not None:
            _put(found, (device, port), (entry[1], entry[2], entry[3] or untold), "")
        elif (named := DEVICE.fullmatch(line)) is not None:
            device, port, untold = named[1], 0, "ib"
        elif (numbered := PORT.fullmatch(line)) is not None:
            port, untold = int(numbered[1]), "ib"
        elif (layer := LINK_LAYER.fullmatch(line)) is not None:
            untold = "ib" if layer[1] == "InfiniBand" else "not told"
    return {key: tuple(sorted(rows.values(), key=lambda one: one.index)) for key, rows in found.items()}


def _put(
    found: dict[Port, dict[tuple[int, GidKind], Gid]], key: Port, cells: tuple[str, str, str], netdev: str
) -> None:
    gid = parse_gid(cells[1])
    if gid is not None:
        kind = parse_gid_kind(cells[2])
        found.setdefault(key, {})[int(cells[0]), kind] = Gid(int(cells[0]), gid, kind, netdev)
