"""What does the kernel know of its clock? ``adjtimex(2)`` with ``modes`` 0, which needs no right.

``STA_UNSYNC`` or the return value ``TIME_ERROR`` say that nobody corrects it. ``maxerror`` (us) is the bound that the
daemon set, grown by the kernel at 500 ppm since; ``offset`` is what the kernel's own loop has still to add to the
clock (ns with ``STA_NANO``), so the clock is behind by it. Cost: one system call, 5 us.
"""

from __future__ import annotations

import ctypes
import os

from msgspec import Struct

from collectors.clocks.estimates import Estimate

STA_UNSYNC, STA_NANO = 0x0040, 0x2000
TIME_ERROR = 5


class _Timex(ctypes.Structure):
    """``struct timex`` of 64-bit Linux."""

    _fields_ = [
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long),
        ("time", ctypes.c_long * 2),
        ("tick", ctypes.c_long),
        ("ppsfreq", ctypes.c_long),
        ("jitter", ctypes.c_long),
        ("shift", ctypes.c_int),
        ("stabil", ctypes.c_long),
        ("counts", ctypes.c_long * 4),
        ("tai", ctypes.c_int),
        ("unused", ctypes.c_int * 11),
    ]


class KernelClock(Struct, frozen=True):
    """Fields of ``struct timex`` that matter, and the call's return value."""

    state: int
    status: int
    offset: int
    max_error_us: int
    estimated_error_us: int


def read_kernel_clock() -> KernelClock:
    """Asks the kernel.

    Raises:
        OSError: it does not tell.
    """
    library = ctypes.CDLL(None, use_errno=True)
    timex = _Timex()
    state = library.adjtimex(ctypes.byref(timex))
    if state < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"adjtimex: {os.strerror(number)}")
    return KernelClock(state, timex.status, timex.offset, timex.maxerror, timex.esterror)


def judge_kernel_clock(clock: KernelClock, mono_us: int) -> Estimate:
    """What that means."""
    synced = clock.state != TIME_ERROR and not clock.status & STA_UNSYNC
    scale = 1e-3 if clock.status & STA_NANO else 1.0
    return Estimate(
        teller="kernel",
        at_us=mono_us,
        synced=synced,
        offset_us=-clock.offset * scale if clock.offset else 0.0,
        error_us=float(max(0, clock.max_error_us)),
    )
