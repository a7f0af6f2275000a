"""Tables of switches that are printed as JSON."""

from __future__ import annotations

import json

from collectors.switches.readings import Reading
from collectors.switches.tables import queue_counters


def test_wred_counters_as_json() -> None:
    queue = {"ecnmarkedbytes": "9", "ecnmarkedpacket": "1,234", "wreddropbytes": "N/A", "wreddroppacket": "N/A"}
    known = {"Ethernet0": {"UC3": queue, "cached_time": "x"}, "time": "y"}
    assert list(queue_counters(json.dumps(known))) == [Reading("Ethernet0", 3, "ecn_marked", 1234)]
