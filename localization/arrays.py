"""Names of the array types that the engines compute with, and sums over runs of an array."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Singles = npt.NDArray[np.float32]
"""Half the size: for what is kept of every pair and need not be exact."""


def sums_of_runs(values: Floats, lengths: Ints) -> Floats:
    """Sums of runs that follow one another, each as NumPy sums the run by itself.

    ``reduceat`` adds in another order, and the sum of a job's numbers must not depend on where in an array they stand.
    """
    ends = np.cumsum(lengths).tolist()
    return np.array([np.add.reduce(values[end - size : end]) for end, size in zip(ends, lengths.tolist(), strict=True)])


def runs_by(owner: Ints) -> Iterator[tuple[int, slice]]:
    """Where each owner's run lies, of an array that is in their order: (owner, slice)."""
    ends = [*(np.flatnonzero(owner[1:] != owner[:-1]) + 1).tolist(), len(owner)] if len(owner) else []
    begin = 0
    for end in ends:
        yield int(owner[begin]), slice(begin, end)
        begin = end
