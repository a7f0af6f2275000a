"""Names of the array types that the engines compute with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Singles = npt.NDArray[np.float32]
"""Half the size: for what is kept of every pair and need not be exact."""
