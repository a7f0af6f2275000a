"""The GID table of a port from sysfs: the filled slots at every look, all of them now and then.

A RoCE port has 256 slots of which a few are filled, and opening one costs 15 us. So the filled ones stay open and are
compared as they are; when one has changed, and once a minute, the whole table is read. A GID in use that moves or goes
is therefore seen at the next look, one that is merely added within a minute. A slot without type (EINVAL: it belongs to
another namespace) is left out.
"""

from __future__ import annotations

import os
from zlib import crc32

from collectors.rnic.attributes import Attribute, names_in, read_text
from collectors.rnic.gid_tables import Gid, parse_gid, parse_gid_kind
from collectors.rnic.port_text import first_line

FULL_US = 60_000_000
SPREAD_US = 20_000_000
"""Ports do not read their whole tables at the same look."""


class GidReader:
    """The table of one port below ``ports/<n>``."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._table: tuple[Gid, ...] | None = None
        self._filled: list[tuple[Attribute, bytes]] = []
        self._full_us = 0
        self._spread_us = crc32(folder.encode()) % SPREAD_US

    def read(self, mono_us: int) -> tuple[Gid, ...] | None:
        """The filled slots in order; None when the table can't be read, which says nothing of its content."""
        if self._table and mono_us < self._full_us and not self._has_changed():
            return self._table
        self.close()
        if not os.access(f"{self._folder}/gids", os.R_OK):
            self._table = None
            return None
        self._full_us = mono_us + FULL_US + self._spread_us
        slots = sorted(int(name) for name in names_in(f"{self._folder}/gids") if name.isdigit() and len(name) < 6)
        self._table = tuple(entry for slot in slots if (entry := self._look(slot)) is not None)
        return self._table

    def close(self) -> None:
        """Lets go of the files."""
        for attribute, _ in self._filled:
            attribute.close()
        self._filled = []

    def _has_changed(self) -> bool:
        try:
            return any(attribute.read() != content for attribute, content in self._filled)
        except OSError:
            return True

    def _look(self, slot: int) -> Gid | None:
        path = f"{self._folder}/gids/{slot}"
        gid = parse_gid(read_text(path) or "")
        kind = read_text(f"{self._folder}/gid_attrs/types/{slot}") if gid is not None else None
        if gid is None or kind is None:
            return None
        attribute = Attribute(path)
        try:
            self._filled.append((attribute, attribute.read()))
        except OSError:
            return None
        netdev = first_line(read_text(f"{self._folder}/gid_attrs/ndevs/{slot}") or "")
        return Gid(slot, gid, parse_gid_kind(kind), netdev)
