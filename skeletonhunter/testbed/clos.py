"""How is a cluster cabled? Rail-optimised Clos fabrics: a leaf (or two) per rail and segment, spines, perhaps cores.

RNICs of one rail meet in the leaf of their segment. All leaves of a pod are cabled to all its spines; with more than
one pod, spine n of each pod is cabled to the cores of plane n.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from schemas.maps import Node, NodeKind
from skeletonhunter.testbed.fabric import Fabric, build_fabric, rnic_name, rnic_node

Cables = list[tuple[str, str]]


@dataclass(frozen=True)
class RailSpec:
    """``hosts`` x ``rails`` RNICs; per segment of ``hosts_per_leaf`` hosts and rail a leaf, two with ``dual_tor``.

    ``segments_per_pod`` None = one pod, no cores; else ``cores_per_plane`` cores join the spines of equal number.
    """

    fabric: str
    hosts: tuple[str, ...]
    rails: int = 8
    hosts_per_leaf: int = 8
    spines: int = 4
    salt: str = "0"
    dual_tor: bool = False
    segments_per_pod: int | None = None
    cores_per_plane: int = 2

    @property
    def segments(self) -> int:
        """Segments that the hosts fill."""
        return -(-len(self.hosts) // self.hosts_per_leaf)

    def leaves_of(self, segment: int, rail: int) -> tuple[str, ...]:
        """The leaf or the two leaves of a segment's rail."""
        name = f"leaf-{segment}-{rail}"
        return (f"{name}a", f"{name}b") if self.dual_tor else (name,)

    def leaf_of(self, host_index: int, rail: int) -> str:
        """The (first) leaf that the RNIC of that rail is cabled to."""
        return self.leaves_of(host_index // self.hosts_per_leaf, rail)[0]

    def switch_port(self, host_index: int, rail: int) -> str:
        """The leaf's port of the RNIC's first uplink."""
        return f"{self.leaf_of(host_index, rail)}/{host_index % self.hosts_per_leaf + 1}"

    def spines_of(self, segment: int) -> list[str]:
        """The spines of a segment's pod."""
        if self.segments_per_pod is None:
            return [f"spine-{number}" for number in range(self.spines)]
        pod = segment // self.segments_per_pod
        return [f"spine-{pod}-{number}" for number in range(self.spines)]


def rail_fabric(spec: RailSpec) -> Fabric:
    """The fabric of a spec: access links first, then leaf to spine, then spine to core."""
    segments = range(spec.segments)
    leaves = [leaf for segment in segments for rail in range(spec.rails) for leaf in spec.leaves_of(segment, rail)]
    spines = list(dict.fromkeys(spine for segment in segments for spine in spec.spines_of(segment)))
    cores = _cores(spec)
    rnics = [rnic_node(host, rnic_name(rail)) for host in spec.hosts for rail in range(spec.rails)]
    kinds: list[tuple[NodeKind, list[str]]] = [("core", cores), ("spine", spines), ("leaf", leaves), ("rnic", rnics)]
    nodes = tuple(Node(id=name, kind=kind) for kind, names in kinds for name in names)
    return build_fabric(spec.fabric, nodes, _access(spec) + _uplinks(spec) + _core_links(spec, spines), spec.salt)


def _cores(spec: RailSpec) -> list[str]:
    if spec.segments_per_pod is None or spec.segments <= spec.segments_per_pod:
        return []
    return [f"core-{plane}-{number}" for plane in range(spec.spines) for number in range(spec.cores_per_plane)]


def _access(spec: RailSpec) -> Cables:
    cables = []
    for index, host in enumerate(spec.hosts):
        for rail in range(spec.rails):
            for port, leaf in enumerate(spec.leaves_of(index // spec.hosts_per_leaf, rail), start=1):
                place = index % spec.hosts_per_leaf + 1
                cables.append((f"{rnic_node(host, rnic_name(rail))}/{port}", f"{leaf}/{place}"))
    return cables


def _uplinks(spec: RailSpec) -> Cables:
    cables = []
    free: dict[str, count[int]] = {}
    for segment in range(spec.segments):
        for rail in range(spec.rails):
            for leaf in spec.leaves_of(segment, rail):
                for number, spine in enumerate(spec.spines_of(segment)):
                    port = next(free.setdefault(spine, count(1)))
                    cables.append((f"{leaf}/{spec.hosts_per_leaf + number + 1}", f"{spine}/{port}"))
    return cables


def _core_links(spec: RailSpec, spines: list[str]) -> Cables:
    if not _cores(spec):
        return []
    cables = []
    free: dict[str, count[int]] = {}
    below = 1000
    for spine in spines:
        plane = int(spine.rpartition("-")[2])
        for number in range(spec.cores_per_plane):
            core = f"core-{plane}-{number}"
            cables.append((f"{spine}/{below + number}", f"{core}/{next(free.setdefault(core, count(1)))}"))
    return cables
