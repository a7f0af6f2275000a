"""What planning is tuned by."""

from __future__ import annotations

from msgspec import Struct


class PlannerParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """To be filled by the engine."""
