"""How is a fabric's state written down small and soon? Columns of narrow numbers, and lists of names as MessagePack.

A checkpoint holds every route and a minute of trains; as Python objects and 64-bit numbers these are large, and slow to
write. What follows from the rest is left out and worked out again when the state is read.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from localization.arrays import Ints

Name = TypeVar("Name", bound=Hashable)
Narrow = npt.NDArray[np.signedinteger[Any]]
"""Integers of any size."""


def narrow(values: Ints) -> Narrow:
    """The same numbers, each in as few bytes as all of them need."""
    low, high = values.min(initial=0), values.max(initial=0)
    kinds: tuple[type[np.signedinteger[Any]], ...] = (np.int8, np.int16, np.int32)
    for kind in kinds:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind)
    return values


def wide(values: Narrow) -> Ints:
    """Narrow numbers as they were."""
    return values.astype(np.int64)


def steps(ascending: Ints) -> Narrow:
    """Numbers that mostly grow by little, as the steps from one to the next."""
    return narrow(np.diff(ascending, prepend=0))


def climbed(taken: Narrow) -> Ints:
    """The numbers whose steps these are."""
    return np.cumsum(taken, dtype=np.int64)


def by_number(names: Sequence[Name]) -> dict[Name, int]:
    """Names, or paths, that are numbered in their order."""
    return {name: number for number, name in enumerate(names)}
