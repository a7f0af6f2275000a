"""Verbs from pyverbs, whatever its version: loaded when RDMA is really used, since the import takes time and memory.

Debian's pyverbs 44 keeps constants in ``pyverbs.enums``, version 59 in ``pyverbs.libibverbs_enums``, some only
inside their enumeration. Errors of pyverbs are no ``OSError``; ``as_os_errors`` makes them one with the number that
the library reports.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

MISSING = (
    "RDMA probing needs pyverbs: install the extra (pip install 'skeletonhunter[rdma]') or the distribution's package "
    '(python3-pyverbs), or set transport = "udp"'
)


class NoVerbsError(OSError):
    """pyverbs is not there or does not fit the system's libraries; the text says what to do."""


class Verbs:
    """The classes and constants that probing uses."""

    def __init__(self) -> None:
        try:
            self.device = import_module("pyverbs.device")
            self.pd = import_module("pyverbs.pd")
            self.cq = import_module("pyverbs.cq")
            self.qp = import_module("pyverbs.qp")
            self.mr = import_module("pyverbs.mr")
            self.wr = import_module("pyverbs.wr")
            self.addr = import_module("pyverbs.addr")
            self.error: type[Exception] = import_module("pyverbs.pyverbs_error").PyverbsError
            self._enums = _import_enums()
        except ImportError as error:
            found = "" if isinstance(error, ModuleNotFoundError) and error.name == "pyverbs" else f" ({error})"
            raise NoVerbsError(errno.ENOPKG, MISSING + found) from None

    def constant(self, name: str) -> int:
        """A constant of the verbs by its C name.

        Raises:
            NoVerbsError: this version of pyverbs does not have it.
        """
        places: list[Any] = [self._enums, *(v for v in vars(self._enums).values() if isinstance(v, type))]
        for place in places:
            value = getattr(place, name, None)
            if value is not None:
                return int(value)
        raise NoVerbsError(errno.ENOPKG, f"this version of pyverbs has no {name}; {MISSING}")

    @contextmanager
    def as_os_errors(self, what: str) -> Iterator[None]:
        """Turns an error of pyverbs into ``OSError``, saying what was tried."""
        try:
            yield
        except self.error as error:
            raise OSError(_number(error), f"{what}: {error}") from None


def _import_enums() -> ModuleType:
    try:
        return import_module("pyverbs.libibverbs_enums")
    except ModuleNotFoundError:
        return import_module("pyverbs.enums")


def _number(error: Exception) -> int:
    """The error number, which pyverbs keeps as an attribute or only writes into the text."""
    code = getattr(error, "error_code", None)
    if isinstance(code, int) and code:
        return code
    written = re.search(r"[Ee]rrno:? ?(\d+)", str(error))
    return int(written.group(1)) if written else errno.EIO
