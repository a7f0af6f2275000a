"""Flow tables of the small fabric: every host's virtual switch and RNICs, as they should be or as a test edits them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import msgspec

from schemas.telemetry import FlowEntry, FlowTables
from tests.small_fabric import HOSTS, RAILS, endpoint, envelope, pairs


@dataclass(frozen=True)
class Tables:
    """Flow tables of all hosts every 5 s. ``edit``: changes a row, or drops it (None), by (second, table, row)."""

    seconds: int
    edit: Callable[[int, str, FlowEntry], FlowEntry | None] = field(default=lambda second, table, row: row)

    def messages(self) -> list[FlowTables]:
        found = []
        for number, second in enumerate(range(4, self.seconds + 1, 5)):
            for host in range(HOSTS):
                for place, (rnic, rows) in enumerate(self._of(host)):
                    table = "vswitch" if rnic is None else "rnic"
                    kept = [row for each in rows if (row := self.edit(second, table, each)) is not None]
                    body = envelope(f"agent:h{host}/flows", second + 0.01 * place, number * 8 + place)
                    found.append(
                        FlowTables(**body, host=f"h{host}", rnic=rnic, table=table, complete=True, flows=tuple(kept))
                    )
        return found

    def _of(self, host: int) -> list[tuple[str | None, list[FlowEntry]]]:
        tables: dict[str | None, list[FlowEntry]] = {None: []} | {f"mlx5_{r}": [] for r in range(RAILS)}
        for number, (src, dst) in enumerate(pairs()):
            if src[0] == host:
                tables[None] += [row for row in chain(number, src, dst) if not row.at.startswith("rnic")][:3]
                tables[f"mlx5_{src[1]}"].append(chain(number, src, dst)[3])
            if dst[0] == host:
                tables[f"mlx5_{dst[1]}"].append(chain(number, src, dst)[4])
                tables[None] += chain(number, src, dst)[5:]
        return list(tables.items())


def chain(number: int, src: tuple[int, int], dst: tuple[int, int]) -> list[FlowEntry]:
    """The seven rows of a flow, from interface to interface."""
    rnics = f"rnic:h{src[0]}/mlx5_{src[1]}", f"rnic:h{dst[0]}/mlx5_{dst[1]}"
    far = f"h{dst[0]}"
    places = [f"vif:{endpoint(*src)}", f"vswitch:h{src[0]}", f"tunnel:h{src[0]}", *rnics, f"tunnel:{far}"]
    places += [f"vswitch:{far}", f"vif:{endpoint(*dst)}"]
    row = FlowEntry(
        flow=f"flow-{number}", at=places[0], next=places[1], src=endpoint(*src), dst=endpoint(*dst), offloaded=True,
        path="hardware", packets=1000, match="any", actions="out",
    )  # fmt: skip
    return [msgspec.structs.replace(row, at=at, next=after) for at, after in pairwise(places)]


def snapshot(second: int, rows: list[int], complete: bool = True, packets: int = 5) -> FlowTables:
    """What the virtual switch of host 0 holds: a row of each of these flows to host 2."""
    flows = tuple(msgspec.structs.replace(chain(n, (0, 0), (2, 0))[2], packets=packets) for n in rows)
    body = envelope("agent:h0/flows", float(second), second)
    return FlowTables(**body, host="h0", rnic=None, table="vswitch", complete=complete, flows=flows)
