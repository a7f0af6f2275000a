"""Instants and windows: integer microseconds since the Unix epoch, windows aligned to multiples of their width."""

from __future__ import annotations

SECOND_US = 1_000_000
LATEST_US = 2**53 - 1
"""The latest instant of the contract: in the year 2255, exact in consumers that know floats only."""


def window_start(t_us: int, width_us: int) -> int:
    """Start of the window (start, start + width] that ``t_us`` belongs to.

    Windows are open at the start and closed at the end, because a message's ``t_us`` is the end of what it covers: a
    message stamped exactly on a boundary belongs to the window that ends there.
    """
    return -(-t_us // width_us) * width_us - width_us


def window_end(t_us: int, width_us: int) -> int:
    """End of the window that ``t_us`` belongs to, see ``window_start``."""
    return -(-t_us // width_us) * width_us


def seconds(duration_us: int) -> float:
    """A duration in seconds."""
    return duration_us / SECOND_US


def micros(duration_s: float) -> int:
    """A duration in whole microseconds."""
    return round(duration_s * SECOND_US)
