"""What does a line or a check say? A code, how bad it is, and what it is about, before it is known which component
that is.

Severity: ``error`` = it does not work, ``warning`` = it works less well or may stop, ``info`` = no fault by itself. The
text is kept as it came, since a person will want the device's own words.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Severity = Literal["info", "warning", "error"]
SubjectKind = Literal["pci", "netdev", "rdma", "vswitch", "host", "container", "port", "switch", "config"]
Value = str | int | float | bool
TEXT = 1_000


class Subject(Struct, frozen=True):
    """What a notice is about, by the name that its source uses; ``known_only``: of no interest if it is no RNIC's."""

    kind: SubjectKind
    name: str = ""
    known_only: bool = False


class Notice(Struct, frozen=True, kw_only=True):
    """One thing that was said."""

    code: str
    severity: Severity
    subject: Subject
    text: str
    values: dict[str, Value] = {}


class Line(Struct, frozen=True, kw_only=True):
    """One line of a log without its frame. ``t_us``, ``host``, ``program``: as the frame says, None: it does not.

    ``priority``: syslog's 0 (worst) to 7 (debug). ``since_boot_us``: the kernel's own time stamp. ``times``: how
    often it came, where syslog counted it in place of writing it again. ``after_us``: since the line before, where
    ``dmesg -H`` says only that.
    """

    text: str
    t_us: int | None = None
    host: str | None = None
    program: str | None = None
    priority: int | None = None
    since_boot_us: int | None = None
    times: int = 1
    after_us: int | None = None
