"""Do huge pages and locked memory suffice for RDMA? ``/proc/meminfo``, ``<sys>/kernel/mm/hugepages`` and a process'
limits.

Page sizes are kB, as the kernel names its folders. A NUMA node without pages where others have some counts, too: the
RNIC of that node has none nearby. Locked memory: ``Max locked memory`` of ``/proc/<pid>/limits``, bytes; in rootless
containers the shown limit may not be the real one, so a high limit proves nothing, and only a low one is told (field
case K01).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from collectors.events.notices import Notice, Subject

_FOLDER = re.compile(r"hugepages-(\d{1,9})kB")
_LOCKED = re.compile(r"(?m)^Max locked memory\s+(unlimited|\d{1,19})\s")


class HugePages(Struct, frozen=True):
    """Pages of one size: in all, and by NUMA node."""

    size_kb: int
    total: int
    by_node: dict[int, int]


def read_hugepages(sys: Path) -> dict[int, HugePages]:
    """Huge pages of every size, by size in kB."""
    nodes: dict[int, dict[int, int]] = {}
    for path in sorted((sys / "devices" / "system" / "node").glob("node[0-9]*/hugepages/hugepages-*kB")):
        number = path.parent.parent.name.removeprefix("node")
        size = _FOLDER.fullmatch(path.name)
        count = _number(path / "nr_hugepages")
        if size and count is not None and number.isdecimal():
            nodes.setdefault(int(size[1]), {})[int(number)] = count
    found: dict[int, HugePages] = {}
    for path in sorted((sys / "kernel" / "mm" / "hugepages").glob("hugepages-*kB")):
        size = _FOLDER.fullmatch(path.name)
        count = _number(path / "nr_hugepages")
        if size and count is not None:
            found[int(size[1])] = HugePages(int(size[1]), count, nodes.get(int(size[1]), {}))
    return found


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(errors="replace").strip())
    except (OSError, ValueError):
        return None


def locked_memory(limits: str) -> int | None:
    """Bytes that a process may lock, out of ``/proc/<pid>/limits``; None: unlimited, or not told."""
    found = _LOCKED.search(limits)
    return int(found[1]) if found and found[1] != "unlimited" else None


def judge_hugepages(wanted: dict[int, int], found: dict[int, HugePages]) -> Iterator[Notice]:
    """Sizes of which fewer pages are there than wanted ({size in kB: number}), or none on one of the nodes."""
    for size, number in sorted(wanted.items()):
        pages = found.get(size)
        total = pages.total if pages else 0
        empty = [node for node, count in (pages.by_node if pages else {}).items() if not count]
        if total >= number and not (empty and len(empty) < len(pages.by_node if pages else {})):
            continue
        text = f"huge pages of {size} kB: {total}, expected {number}"
        if total >= number:
            text = f"huge pages of {size} kB: none on NUMA node {', '.join(map(str, empty))}"
        yield Notice(
            code="hugepage_mismatch",
            severity="warning",
            subject=Subject("config"),
            text=text,
            values={"size_kb": size, "total": total, "expected": number},
        )


def judge_locked_memory(container: str, limits: str, least_bytes: int) -> Notice | None:
    """A container's limit of locked memory that is too low for registering buffers; None: it is not known to be."""
    limit = locked_memory(limits)
    if limit is None or limit >= least_bytes:
        return None
    return Notice(
        code="limits_exceeded",
        severity="warning",
        subject=Subject("container", container),
        text=f"{container} may lock {limit} bytes of memory, {least_bytes} are needed",
        values={"limit_bytes": limit, "needed_bytes": least_bytes},
    )
