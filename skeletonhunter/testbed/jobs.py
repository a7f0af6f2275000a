"""Who trains with whom? A 3D-parallel job: its ranks, endpoints, true groups and true edges.

Ranks are counted tp fastest, then pp, then dp: rank = (dp * PP + pp) * TP + tp. Tensor parallelism stays inside the
host (NVLink), so ranks of one tp position are on one rail. Edges: a clique over the data-parallel peers of a (pp, tp),
and adjacent stages of the same (dp, tp), without wrap-around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from skeletonhunter.testbed.fabric import RailSpec, rnic_name, rnic_node

Edge = tuple[str, str, str]


@dataclass(frozen=True)
class Placed:
    """One rank in its place. ``index`` of the endpoint in its job is its rank."""

    endpoint: str
    container: str
    host: str
    rnic: str
    rail: int
    rank: int
    ip: str
    switch_port: str
    dp: int
    pp: int

    @property
    def node(self) -> str:
        """Node id of its RNIC in the fabric."""
        return rnic_node(self.host, self.rnic)

    @property
    def address(self) -> tuple[str, str]:
        """What ``Fabric.path`` wants: node and IP."""
        return self.node, self.ip


@dataclass(frozen=True)
class DenseJob:
    """A dense job of TP x PP x DP ranks, one container of TP ranks per host."""

    job: str
    tenant: str
    tp: int
    pp: int
    dp: int
    placed: tuple[Placed, ...]

    def groups(self, kind: str) -> list[list[str]]:
        """``dp`` = replicas of a (pp, tp); ``pp`` = stages of a (dp, tp); ``position`` = all of a stage."""
        if kind == "position":
            return [[p.endpoint for p in self.placed if p.pp == stage] for stage in range(self.pp)]
        found: dict[tuple[int, int], list[str]] = {}
        for p in self.placed:
            found.setdefault((p.rail, p.pp if kind == "dp" else p.dp), []).append(p.endpoint)
        return [found[key] for key in sorted(found)]

    def edges(self) -> list[Edge]:
        """The pairs that communicate over the fabric, each once, ends in ascending order."""
        edges: set[Edge] = set()
        for group in self.groups("dp"):
            edges.update((a, b, "dp") for a in group for b in group if a < b)
        for chain in self.groups("pp"):
            edges.update((min(pair), max(pair), "pp") for pair in pairwise(chain))
        return sorted(edges)

    def endpoint_rows(self) -> list[dict[str, object]]:
        """The endpoints as the endpoint map lists them, all ready."""
        return [
            {
                "endpoint": p.endpoint,
                "container": p.container,
                "host": p.host,
                "rnic": p.rnic,
                "rail": p.rail,
                "rank": p.rank,
                "vif": f"vf{p.rail}",
                "ip": p.ip,
                "gid": gid_of(p.ip),
                "switch_port": p.switch_port,
                "state": "ready",
            }
            for p in self.placed
        ]


def gid_of(ip: str) -> str:
    """The RoCE v2 GID of an IPv4 address (IPv4-mapped IPv6, written in full)."""
    a, b, c, d = (int(part) for part in ip.split("."))
    return f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"


def place_dense(
    names: tuple[str, str], degrees: tuple[int, int, int], spec: RailSpec, hosts: Sequence[int]
) -> DenseJob:
    """A job (``names`` = job, tenant; ``degrees`` = tp, pp, dp); container n runs on host number ``hosts[n]``."""
    tp, pp, dp = degrees
    placed = []
    for number, host_index in enumerate(hosts[: pp * dp]):
        host, container = spec.hosts[host_index], f"c-{number:03d}"
        for rail in range(tp):
            leaf = spec.leaf_of(host_index, rail)
            placed.append(
                Placed(
                    endpoint=f"{container}/{rnic_name(rail)}",
                    container=container,
                    host=host,
                    rnic=rnic_name(rail),
                    rail=rail,
                    rank=number * tp + rail,
                    ip=f"10.{rail}.{number // 250}.{number % 250 + 1}",
                    switch_port=f"{leaf}/{host_index % spec.hosts_per_leaf + 1}",
                    dp=number // pp,
                    pp=number % pp,
                )
            )
    return DenseJob(*names, tp, pp, dp, tuple(placed))
