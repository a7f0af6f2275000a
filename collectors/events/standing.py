"""Which of the things that are wrong are to be told now? A fold over what is found wrong at each look.

A thing is told when it becomes wrong, again after ``AGAIN_S`` (readers forget events after some minutes), and once
more, as ``info``, when it is right. What it is about is its code, its subject and what tells it from others of the same
subject.
"""

from __future__ import annotations

from collections.abc import Iterable

from collectors.events.notices import Notice
from collectors.observing import Now

AGAIN_S = 600.0
Key = tuple[str, str, str]
APART = ("netdev", "size_kb")


class Standing:
    """What is wrong by now. Memory: one entry for each thing that is wrong."""

    def __init__(self) -> None:
        self._told: dict[Key, tuple[Notice, int]] = {}

    def step(self, wrong: Iterable[Notice], now: Now) -> list[Notice]:
        """What to tell after a look that found all that is ``wrong``."""
        found = {_key(each): each for each in wrong}
        mended = [_mended(each) for key, (each, _) in self._told.items() if key not in found]
        new = {key: each for key, each in found.items() if self._is_due(key, each, now)}
        kept = {key: self._told[key] for key in found if key not in new}
        self._told = kept | {key: (each, now.mono_us) for key, each in new.items()}
        return [*mended, *new.values()]

    def _is_due(self, key: Key, notice: Notice, now: Now) -> bool:
        told = self._told.get(key)
        return told is None or told[0].text != notice.text or now.mono_us - told[1] >= AGAIN_S * 1e6


def _key(notice: Notice) -> Key:
    apart = next((str(notice.values[name]) for name in APART if name in notice.values), "")
    return notice.code, notice.subject.name, apart


def _mended(notice: Notice) -> Notice:
    return Notice(
        code=notice.code,
        severity="info",
        subject=notice.subject,
        text=f"no more: {notice.text}",
        values={**notice.values, "mended": True},
    )
