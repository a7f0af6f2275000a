"""The GID table of a port from sysfs: often the part that is in use, now and then all of it.

A RoCE port has 256 slots of which a few are filled, and each costs 15 us to read. So the slots up to a little beyond
the highest filled one are read at each look, all of them once a minute. Types and network devices are read only for a
slot whose GID is new. A slot without type (EINVAL: it belongs to another namespace) is left out.
"""

from __future__ import annotations

import os

from collectors.rnic.attributes import names_in, read_text
from collectors.rnic.gid_tables import Gid, parse_gid, parse_gid_kind
from collectors.rnic.port_text import first_line

BEYOND = 8
FULL_US = 60_000_000


class GidReader:
    """The table of one port below ``ports/<n>``."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: dict[int, Gid] = {}
        self._slots: tuple[int, ...] = ()
        self._full_us = 0

    def read(self, mono_us: int) -> tuple[Gid, ...] | None:
        """The filled slots in order; None when the table can't be read, which says nothing of its content."""
        if not os.access(f"{self._folder}/gids", os.R_OK):
            return None
        if mono_us >= self._full_us or not self._known:
            self._full_us = mono_us + FULL_US
            numbers = [int(name) for name in names_in(f"{self._folder}/gids") if name.isdigit() and len(name) < 6]
            self._slots = tuple(sorted(numbers))
            limit = len(self._slots)
        else:
            limit = max(self._known) + BEYOND
        for slot in self._slots:
            if slot <= limit or slot in self._known:
                self._look(slot)
        return tuple(self._known[slot] for slot in sorted(self._known))

    def _look(self, slot: int) -> None:
        gid = parse_gid(read_text(f"{self._folder}/gids/{slot}") or "")
        if gid is None:
            self._known.pop(slot, None)
            return
        known = self._known.get(slot)
        if known is not None and known.gid == gid:
            return
        kind = read_text(f"{self._folder}/gid_attrs/types/{slot}")
        if kind is None:
            self._known.pop(slot, None)
            return
        netdev = first_line(read_text(f"{self._folder}/gid_attrs/ndevs/{slot}") or "")
        self._known[slot] = Gid(slot, gid, parse_gid_kind(kind), netdev)
