"""Messages of the pipeline about itself: how far time has come, and what could not be read."""

from __future__ import annotations

from schemas.envelope import Count, InstantUs, Name, Value


class Tick(Value, frozen=True, kw_only=True):
    """Topic ``ticks``: "time has come to ``t_us``, and all that was sent before lies below these offsets".

    One message per partition. ``source`` is ``clock`` (what entered the pipeline) or ``<stage>/<partition>`` (that a
    stage's partition has handled the tick, and all it sent on). ``offsets`` maps a topic to the offset, in the tick's
    own partition, below which everything must have been read before the tick is acted upon. ``final``: the recording
    has ended here, nothing more will come. ``t_us`` is arrival time, not event time.
    """

    v: int = 1
    t_us: InstantUs
    source: Name
    offsets: dict[str, Count]
    final: bool = False


class DeadLetter(Value, frozen=True, kw_only=True):
    """Topic ``<topic>-dlq``, key as of the record: a record that could not be used, whole, with the reason.

    ``key`` is the record's own, bytes that are not UTF-8 written as ``\\xff``.
    """

    v: int = 1
    topic: Name
    partition: Count
    offset: Count
    key: str | None
    reason: str
    detail: str
    arrival_us: InstantUs
    value_base64: str
