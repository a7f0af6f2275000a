"""Who saw it, when, by which clock: the part that every message has.

Instants are integer microseconds since the Unix epoch, UTC (``t_us``). ``t_us`` of a message is the end of what the
message covers, by its producer's own clock, uncorrected. ``Clock.offset_us`` is the producer's own estimate of
(clock - reference) and ``Clock.error_us`` bounds what remains after that correction.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from schemas.instants import LATEST_US

Count = Annotated[int, Meta(ge=0)]
"""A number of things, or a cumulative counter: never negative."""

InstantUs = Annotated[int, Meta(ge=0, le=LATEST_US)]
"""Microseconds since the Unix epoch, UTC."""

Share = Annotated[float, Meta(ge=0.0, le=1.0)]
"""A part of one."""

Name = Annotated[str, Meta(min_length=1, max_length=512)]
"""An identifier; the empty string names nothing."""


class Value(Struct, frozen=True, kw_only=True, forbid_unknown_fields=False, gc=False):
    """Base of every immutable value of the contract; unknown fields are ignored so that old consumers read new data.

    Values are trees, so the collector of cycles does not look at them: with a fleet's messages waiting it would do
    little else.
    """


class Producer(Value, frozen=True, kw_only=True):
    """One stream of one agent under one boot; ``seq`` grows by one per message sent."""

    id: Name
    kind: Name
    boot: str
    seq: Count


class Clock(Value, frozen=True, kw_only=True):
    """How far the producer's clock may be off, microseconds."""

    source: Literal["ptp", "ntp", "none"]
    offset_us: float
    error_us: Annotated[float, Meta(ge=0.0)]


class Message(Value, frozen=True, kw_only=True):
    """The envelope: every value on every topic of ours has these fields."""

    v: Annotated[int, Meta(ge=1)]
    t_us: InstantUs
    producer: Producer
    clock: Clock
    fabric: Name


class JobMessage(Message, frozen=True, kw_only=True):
    """A message about one job."""

    job: Name
    tenant: str | None = None


def same_lengths(**columns: tuple[object, ...] | None) -> None:
    """Refuse columns of unequal length; columns that are None are absent.

    Raises:
        ValueError: naming the columns and their lengths.
    """
    if len({len(column) for column in columns.values() if column is not None}) > 1:  # runs per message: kept cheap
        listing = ", ".join(f"{name} has {len(column)}" for name, column in columns.items() if column is not None)
        raise ValueError(f"columns of one table must have one length: {listing}")


NESTING = 16
"""Levels of a free-form value; deeper ones are an attack on the readers' stacks, not a fact."""


def shallow(**items: object) -> None:
    """Refuse free-form values that are nested deeper than ``NESTING`` levels.

    Raises:
        ValueError: naming the field.
    """
    for name, item in items.items():
        level = [item]
        for _ in range(NESTING):
            level = [inner for outer in level for inner in _inside(outer)]
        if level:
            raise ValueError(f"{name} is nested deeper than {NESTING} levels")


def _inside(item: object) -> list[object]:
    if isinstance(item, dict):
        return list(item.values())
    return list(item) if isinstance(item, list | tuple) else []
