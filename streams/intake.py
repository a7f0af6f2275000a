"""The short way of a record into a stage: of those whose like was just there, a batch in one pass. Pure.

Nearly all records are the next ones of streams that are known, in time, and nobody contests who speaks. For them the
checks of ``schemas.codec``, ``streams.claims`` and ``streams.sequencer`` come down to comparisons, made here in one
loop. A record of which one of them fails goes the long way, ``StageFold.admit``, which makes all checks and has the
words for what is wrong. What both ways leave behind is the same.

Cost, with what is around it in ``PartitionRunner``: 5.5 us per record of probe results, where the long way takes 8.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.codec import FUTURE_BOUND_US
from schemas.envelope import Message, Value
from schemas.topics import topic as topic_spec
from streams.fold import StageFold
from streams.records import Record
from streams.sequencer import FAR_US


def take_usual(
    fold: StageFold, held: dict[int, int], batch: Sequence[tuple[Record, Value | None]], begin: int, come_us: int
) -> int:
    """Takes in records of one topic, from number ``begin`` on, up to the first that has to go the long way; returns its
    number. ``batch``: each with what was read of it; ``held``: see ``OffsetLedger.held``; ``come_us``: see ``admit``.
    """
    topic, now_us = batch[0][0].topic, fold.now_us
    key_field, is_raw, far_us = topic_spec(topic).key, topic in fold.raw, max(now_us, come_us) + FAR_US
    claims, sequencers = fold.claims, fold.sequencers
    for at in range(begin, len(batch)):
        (_, _, offset, key, _, arrival_us), value = batch[at]
        if not isinstance(value, Message) or value.t_us > far_us or value.t_us - arrival_us > FUTURE_BOUND_US:
            return at
        name: str = getattr(value, key_field)
        sequencer = sequencers.get(name)
        if sequencer is None or key != name.encode():
            return at
        if is_raw and not claims[name].go_on(topic, value, now_us):
            return at
        second = sequencer.admit_next(topic, value)
        if second is None:
            return at
        held.setdefault(second, offset)
    return len(batch)
