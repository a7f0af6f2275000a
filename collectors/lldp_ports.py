"""What is a port called that tells of itself by LLDP? Its id if that is a name, else its description.

An id may be a name (``ifname``, ``local``), the port's MAC address, or a number: Junos sends its SNMP index as
``local``, and the name with the logical unit as description (``local 539``, ``ge-0/0/12.0``). Descriptions are often
an operator's own words, so that one counts in place of a number only where it looks like a name.
"""

from __future__ import annotations

import re

NAMED = frozenset({"ifname", "local", "ifalias", ""})
_NAME = re.compile(r"[A-Za-z][A-Za-z-]*\d+(?:[/:.]\d+)*")
_UNIT = re.compile(r"([a-z]{2}-\d+/\d+/\d+(?::\d+)?)\.\d+")


def port_name(kind: str, value: str, description: str) -> str:
    """The name; ``kind``: of the id, as lldpctl calls it ("" = not told); "" = there is none."""
    if kind not in NAMED or (value.isdecimal() and _NAME.fullmatch(description)):
        value, description = description, value
    found = value or description
    unit = _UNIT.fullmatch(found)
    return unit[1] if unit else found
