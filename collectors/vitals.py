"""What does the agent itself use? Processor time of all its threads and ended children, and resident memory.

Linux: ``getrusage`` and ``/proc/self/statm``. Cost: 10 us.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def processor_s() -> float:
    """Processor seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def resident_bytes(proc: Path = Path("/proc")) -> int | None:
    """Resident memory of this process; None where it can't be read."""
    try:
        return int((proc / "self/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return None
