"""Fuzzes every parser, codec and HTTP surface of the program: no input may do more than be refused.

    python -m tests.fuzz [--executions 10000000] [--seconds 60] [--seed 1] [--target NAME ...] [--keep FOLDER]
    python -m tests.fuzz --guided [--pool FOLDER] [...]    the same targets, guided by coverage (needs atheris)

Prints one JSON object; ends with 1 and the input when something raised what it may not. ``--keep`` writes that input
into a folder; it belongs into ``tests/fuzz/corpus/<target>`` when the fault is mended. Every input of the corpus is
tried in each run, and by the test suite. ``--pool`` keeps what guided fuzzing found worth varying, so that the next run
goes on from it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from hashlib import sha256
from pathlib import Path

Fault = tuple[str, str, bytes]
"""(target, what went wrong, input)."""


def main() -> int:
    """Runs by command."""
    asked = _options().parse_args()
    if asked.guided:
        from tests.fuzz.guided import run_guided

        return run_guided(asked.executions, asked.seconds, asked.target, asked.keep, asked.pool)
    from tests.fuzz.targets import TARGETS

    began = time.process_time()
    names = asked.target or list(TARGETS)
    tried, faults = fuzz(names, asked.executions, asked.seconds, asked.seed)
    for name, wrong, raw in faults:
        if asked.keep:
            path = Path(asked.keep) / name / sha256(raw).hexdigest()[:16]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw)
        sys.stderr.write(f"{name}: {wrong}\n")
    told = {"executions": tried, "targets": len(names), "seed": asked.seed, "faults": len(faults)}
    sys.stdout.write(json.dumps(told | {"cpu_s": round(time.process_time() - began, 1)}) + "\n")
    return int(bool(faults))


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--executions", type=int, default=10_000_000)
    options.add_argument("--seconds", type=float, default=float("inf"))
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--target", action="append", default=[])
    options.add_argument("--keep", default="")
    options.add_argument("--guided", action="store_true")
    options.add_argument("--pool", default="")
    return options


def fuzz(names: list[str], executions: int, seconds: float, seed: int) -> tuple[int, list[Fault]]:
    """(inputs tried, faults); the corpus first, then variations. A target rests after its first fault."""
    from tests.fuzz.mutating import mutated
    from tests.fuzz.targets import TARGETS, corpus

    draw, ends_s, tried = random.Random(seed), time.monotonic() + seconds, 0
    pools = {name: [*corpus(name), *TARGETS[name].seeds()] or [b""] for name in names}
    faults = [(name, wrong, raw) for name in names for raw in corpus(name) if (wrong := judged(name, raw))]
    while tried < executions and time.monotonic() < ends_s:
        lively = [name for name in names if name not in {name for name, _, _ in faults}]
        if not lively:
            break
        for name in lively:
            pool = pools[name]
            for _ in range(TARGETS[name].in_a_row):
                raw = mutated(draw.choice(pool), draw.choice(pool), draw)
                tried += 1
                if wrong := judged(name, raw):
                    faults.append((name, wrong, raw))
                    break
    return tried, faults


def judged(name: str, raw: bytes) -> str:
    """What went wrong with an input, or how long it took if that was too long; empty: nothing."""
    from tests.fuzz.targets import TARGETS, fault

    began = time.process_time()
    wrong = fault(TARGETS[name], raw)
    took_s = time.process_time() - began
    return wrong or (f"took {took_s:.1f} s on {raw!r:.2000}" if took_s > TARGETS[name].longest_s else "")


if __name__ == "__main__":
    sys.exit(main())
