"""What detection and localization are tuned by."""

from __future__ import annotations

from msgspec import Struct


class DetectionParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """To be filled by the engine."""


class LocalizationParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """To be filled by the engine."""
