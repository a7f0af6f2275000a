"""Random inputs for every parser of flow tables, log lines, configurations, switches and clocks.

    python tests/unit/collectors/events/fuzz_texts.py [--inputs 1000000] [--seed 1]

An input is a true text (or one of its lines) with pieces changed, dropped, doubled, swapped or put in, or random
text; each goes to one parser. A parser may say ``ValueError``, if it is one that is documented to; anything else is a
fault, and so is an input that takes longer than a second. Prints one JSON object; ends with 1 and the input when a
parser raised.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[4]))

from collectors.clocks.chrony import parse_tracking
from collectors.clocks.ptp import parse_pmc, parse_ptp_log
from collectors.events.bonds import judge_bond, parse_bond
from collectors.events.classifying import classify
from collectors.events.containers import parse_container_event
from collectors.events.framing import parse_kmsg, parse_line
from collectors.events.hugepages import locked_memory
from collectors.events.lldp import parse_neighbours
from collectors.events.qos import parse_dcb_pfc, parse_mlnx_qos
from collectors.events.wrapping import join_wrapped
from collectors.flows.chains import chains
from collectors.flows.datapath import parse_dump
from collectors.flows.places import Places, Resolver
from collectors.flows.rnic import card_rows, parse_cards
from collectors.flows.rows import rows_of
from collectors.flows.tc import parse_filters
from collectors.switches.counters_db import readings_of_db, storms_of_db
from collectors.switches.openconfig import parse_path, readings_of
from collectors.switches.settings_db import judge_settings, parse_table
from collectors.switches.tables import (
    nexus_pauses,
    pfc_counters,
    queue_counters,
    queue_watermarks,
    software_version,
    watchdog,
)
from schemas.maps import Endpoint

DATA = Path(__file__).parents[3] / "data" / "collectors"
NOW_US = 1_767_225_610_000_000
LONGEST_S = 1.0
ENDS = (("c1", "h1", "vf0_rep", "10.0.1.5"), ("c2", "h2", "vf9_rep", "10.0.0.9"))
RESOLVER = Resolver(
    Places(
        host="h1",
        jobs={
            "j": tuple(
                Endpoint(endpoint=f"{c}/m", container=c, host=h, rnic="m", rail=0, vif=vif, ip=ip, state="ready")
                for c, h, vif, ip in ENDS
            )
        },
        tunnels={"198.51.100.2": "h2"},
    )
)
Parser = Callable[[str], object]


def flow_tables(text: str) -> object:
    """The whole way from a dump to rows."""
    linked = chains(parse_dump(text)[0])
    return [list(rows_of(chain, RESOLVER)) for chain in linked]


def cards(text: str) -> object:
    return card_rows(parse_cards(text).flows, [], RESOLVER)


def log_line(source: str) -> Parser:
    """A line out of its frame, and what it says."""
    return lambda text: [classify(parse_line(line, NOW_US), source) for line in join_wrapped(text.split("\n")[:8])]  # type: ignore[arg-type]


def bond(text: str) -> object:
    found = parse_bond(text, "bond0")
    return None if found is None else (found, judge_bond(found))


def counters(text: str) -> object:
    """A path and a JSON value, as gNMI brings them."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    return (
        readings_of(text[:200], value),
        list(readings_of_db(["Ethernet68", text[:40]], value)),
        list(storms_of_db([], value)),
    )


def switch_settings(text: str) -> object:
    """One text as all three tables."""
    table = parse_table(text)
    return table, list(judge_settings("leaf-0", (table, table, table), frozenset({3})))


def all_of(parse: Callable[[str], Iterable[object]]) -> Parser:
    return lambda text: list(parse(text))


PARSERS: dict[str, tuple[Parser, bool]] = {
    "flow tables": (flow_tables, False),
    "tc": (lambda text: parse_filters(text, "dev"), True),
    "cards": (cards, False),
    "host line": (log_line("host"), False),
    "switch line": (log_line("switch"), False),
    "job line": (log_line("job"), False),
    "kmsg": (parse_kmsg, False),
    "container": (parse_container_event, False),
    "bond": (bond, False),
    "lldp": (parse_neighbours, True),
    "mlnx_qos": (parse_mlnx_qos, False),
    "dcb": (parse_dcb_pfc, True),
    "limits": (locked_memory, False),
    "queue counters": (all_of(queue_counters), True),
    "pfc counters": (all_of(pfc_counters), False),
    "watermarks": (all_of(queue_watermarks), False),
    "watchdog": (all_of(watchdog), False),
    "nexus": (all_of(nexus_pauses), False),
    "version": (software_version, False),
    "counters": (counters, False),
    "switch settings": (switch_settings, True),
    "path": (parse_path, False),
    "chrony": (lambda text: parse_tracking(text, 0), True),
    "pmc": (parse_pmc, False),
    "ptp log": (parse_ptp_log, False),
}
"""Name -> parser, and whether it may refuse with ``ValueError``."""

PIECES = (
    *("", "0", "-1", "1,234", "N/A", "99999999999999999999999", "1e308", "NaN", "null", "0x", "é", "２", "\ud7ff"),
    *("\x00", "\n", " ", "(", ")", "{", "}", "[", "]", '"', ",", ":", "=", "/"),
    *("recirc(0x1)", "tunnel(", "ufid:", "[[[[[["),
)


def seeds() -> list[str]:
    """True texts, whole (if short) and by line."""
    folders = ("flows", "events", "switches", "clocks")
    texts = [path.read_text() for path in sorted(DATA.glob("*/*")) if path.parent.name in folders]
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    records = [f"4,1,{number},-;{line}" for number, line in enumerate(lines[:50])]
    return [*(text for text in texts if len(text) < 3_000), *lines, *(line.split("\t")[-1] for line in lines), *records]


def mutated(text: str, draw: random.Random) -> str:
    """A text with some pieces changed."""
    for _ in range(draw.randint(0, 4)):
        start = draw.randint(0, len(text))
        end = min(len(text), start + draw.randint(0, 12))
        kind = draw.random()
        if kind < 0.4:
            piece = draw.choice(PIECES)
        elif kind < 0.6:
            piece = text[start:end] * 2
        elif kind < 0.8:
            piece = "".join(chr(draw.randint(1, 0x2FF)) for _ in range(draw.randint(1, 4)))
        else:
            piece = text[start:end][::-1]
        text = text[:start] + piece + text[end:]
    return text


def understood(parse: Parser, texts: list[str]) -> list[str]:
    """The texts that a parser makes something of."""

    def result(text: str) -> object:
        try:
            return parse(text)
        except ValueError:
            return None

    nothing = result("")
    return [text for text in texts if result(text) not in (nothing, None)]


def fuzz(inputs: int, seed: int) -> tuple[int, str]:
    """(inputs tried, what went wrong; empty: nothing). Most inputs come from what the parser understands."""
    draw = random.Random(seed)
    known, parsers = seeds(), list(PARSERS.items())
    own = {name: understood(parse, known) or known for name, (parse, _) in parsers}
    for number in range(inputs):
        name, (parse, may_refuse) = parsers[number % len(parsers)]
        text = mutated(draw.choice(own[name] if draw.random() < 0.8 else known), draw)
        began = time.process_time()
        try:
            parse(text)
        except ValueError as error:
            if not may_refuse:
                return number, f"{name}: {error!r} on {text!r}"
        except Exception as error:
            return number, f"{name}: {error!r} on {text!r}"
        if time.process_time() - began > LONGEST_S:
            return number, f"{name}: took {time.process_time() - began:.1f} s on {text!r}"
    return inputs, ""


def main() -> int:
    """Runs by command."""
    options = argparse.ArgumentParser()
    options.add_argument("--inputs", type=int, default=1_000_000)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    began = time.process_time()
    tried, wrong = fuzz(chosen.inputs, chosen.seed)
    told = {"inputs": tried, "parsers": len(PARSERS), "cpu_s": round(time.process_time() - began, 1), "wrong": wrong}
    sys.stdout.write(json.dumps(told) + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
