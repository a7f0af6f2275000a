"""Random inputs for every parser of the RNIC collectors: none may raise.

    python tests/unit/collectors/rnic/fuzz_parsers.py [--inputs 1000000] [--seed 1]

An input is a true text with bytes changed, dropped, doubled or put in, or random bytes; each goes to one parser.
Prints one JSON object; ends with 1 and the input when a parser raised.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[4]))

from collectors.rnic.counter_text import parse_counter
from collectors.rnic.ethtool import parse_names, parse_values
from collectors.rnic.fabric_text import parse_cables, parse_ibqueryerrors, parse_perfquery
from collectors.rnic.gid_tables import parse_gid, parse_gid_kind
from collectors.rnic.gid_text import parse_gid_listing
from collectors.rnic.pcie import parse_link_speed, parse_link_width
from collectors.rnic.port_text import (
    parse_guid,
    parse_link_layer,
    parse_net_speed,
    parse_pci_address,
    parse_physical_state,
    parse_rate,
    parse_state,
)
from collectors.rnic.tool_text import parse_ethtool, parse_hw_counters, parse_side_by_side, snapshots

DATA = Path(__file__).parents[3] / "data" / "collectors" / "rnic"
Parser = Callable[[bytes], object]


def of_text(parse: Callable[[str], object]) -> Parser:
    """A parser of text takes what the readers make of bytes."""
    return lambda raw: parse(raw.decode("utf-8", "replace"))


def names_and_values(raw: bytes) -> object:
    """Both answers of the kernel about statistics."""
    return parse_values(raw, parse_names(raw, len(raw) % 60))


PARSERS: tuple[Parser, ...] = (
    parse_counter,
    names_and_values,
    *(
        of_text(parse)
        for parse in (
            parse_gid,
            parse_gid_kind,
            parse_gid_listing,
            parse_link_speed,
            parse_link_width,
            parse_guid,
            parse_link_layer,
            parse_net_speed,
            parse_pci_address,
            parse_physical_state,
            parse_rate,
            parse_state,
            parse_ethtool,
            parse_hw_counters,
            parse_perfquery,
            parse_ibqueryerrors,
            parse_cables,
            snapshots,
            parse_side_by_side,
        )
    ),
)
SHORT = (
    *(b"18126345378\n", b"N/A (no PMA)\n", b"1,234", b"1.85e+07", b"0x1f", b"-4,272", b"100 Gb/sec (4X EDR)\n"),
    *(
        b"4: ACTIVE\n",
        b"5: LinkUp\n",
        b"InfiniBand\n\n",
        b"b83f:d203:00b1:0001",
        b"32.0 GT/s PCIe\n",
        b"16\n",
        b"200000\n",
    ),
    *(b"fe80:0000:0000:0000:0000:00ff:fe00:0009\n", b"::ffff:198.51.100.1", b"RoCE v2\n", b"/sys/x/0000:9c:00.0"),
    b"     rx_prio0_packets: 4939000000\t\t|\t     rx_prio0_packets: 4943000000     DIFF: 4000000\n",
    b" GUID 0x00000000000000a7 port ALL: [LinkDownedCounter == 25 (25.000)] [PortXmitWait == 14681376621 (13.673G)]\n",
    b"mlx5_2\t1\t3\t0000:0000:0000:0000:0000:ffff:c633:6401\t198.51.100.1  \tv2\teth4\n",
)
STRANGE = b"\0\n\r\t :/.,-+eExX09[]()\xff\xc3\xa9"


def change(raw: bytes, draw: random.Random) -> bytes:
    """A few bytes changed, dropped, doubled or put in."""
    text = bytearray(raw)
    for _ in range(draw.randrange(1, 5)):
        place = draw.randrange(len(text) + 1)
        kind = draw.randrange(4)
        if kind == 0:
            text[place:place] = bytes([draw.choice(STRANGE)])
        elif kind == 1:
            text[place : place + 1] = bytes([draw.randrange(256)])
        elif kind == 2:
            del text[place : place + draw.randrange(1, 6)]
        else:
            text[place:place] = text[place : place + draw.randrange(1, 12)]
    return bytes(text)


def fuzz(inputs: int, seed: int) -> tuple[int, str]:
    """(inputs tried, what raised if anything did)."""
    draw = random.Random(seed)
    seeds = [*SHORT, *(path.read_bytes()[:400] for path in sorted(DATA.glob("*.txt")))]
    for number in range(inputs):
        raw = change(draw.choice(seeds), draw) if draw.random() < 0.9 else draw.randbytes(draw.randrange(80))
        try:
            PARSERS[number % len(PARSERS)](raw)
        except Exception as error:
            return number + 1, f"{PARSERS[number % len(PARSERS)]} raised {error!r} on {raw!r}"
    return inputs, ""


def main() -> int:
    """Runs and prints."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--inputs", type=int, default=1_000_000)
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    began = time.process_time()
    tried, raised = fuzz(asked.inputs, asked.seed)
    spent_s = round(time.process_time() - began, 1)
    sys.stdout.write(json.dumps({"inputs": tried, "seed": asked.seed, "processor_s": spent_s, "raised": raised}) + "\n")
    return 1 if raised else 0


if __name__ == "__main__":
    sys.exit(main())
