"""One number that a switch told: of which queue of which port, in which column of ``switch-queues``.

Ranks tell apart several sources of one column (a depth now is better than a mean, a mean better than a high-water
mark): for each queue and column only readings of the lowest rank that was ever seen count, so kinds are never mixed in
a column. Counters of the port itself stand in the row of queue ``port``. Numbers may be JSON texts, grouped
(``1,234``), with an exponent as long as they are exact (``1.85e+07``), or ``N/A``, which is null: the switch has no
such counter.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal

from msgspec import Struct

Column = Literal["depth_bytes", "ecn_marked", "pfc_rx", "pfc_tx", "dropped", "crc_errors"]
PORT = "port"
LARGEST = 1 << 64
EXACT = 1 << 53
"""Up to here a number that went through floating point is still exact."""

_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+|\d{1,20}", re.ASCII)
_EXPONENT = re.compile(r"\d(?:\.\d{1,17})?[eE]\+?\d{1,2}", re.ASCII)


class Reading(Struct, frozen=True):
    """A number of one queue; ``value`` None: the switch says that it has none."""

    port: str
    queue: int | str
    column: Column
    value: int | None
    rank: int = 0


def parse_number(value: object) -> int | None:
    """A count, out of a number or a text; None: it is none (``N/A``, empty, negative, a fraction)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() and 0 <= value < LARGEST else None
    if isinstance(value, int):
        return value if 0 <= value < LARGEST else None
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _EXPONENT.fullmatch(text):
        number = Decimal(text)
        return int(number) if number < EXACT and number == number.to_integral_value() else None
    if _GROUPED.fullmatch(text):
        found = int(text.replace(",", ""))
        return found if found < LARGEST else None
    return None


def queue_name(text: str) -> int | str:
    """A queue by number where it has one: ``3``, ``UC3`` (unicast); others keep their name: ``MC10``, ``ALL20``."""
    found = re.fullmatch(r"(?:UC)?(\d{1,4})", text, re.ASCII)
    return int(found[1]) if found else text[:64]
