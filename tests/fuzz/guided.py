"""The same targets, with inputs that are guided by which code they reach: atheris (libFuzzer), where it is installed.

python -m tests.fuzz.guided TARGET [options of libFuzzer] CORPUS      one target, in this process

Half of the variations are libFuzzer's, half those of ``tests.fuzz.mutating``: messages are decoded by compiled code,
which shows no coverage, so libFuzzer alone hardly ever gets past the first brace. Costs two to three times as much an
input as plain fuzzing.
"""

from __future__ import annotations

import importlib.util
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

OURS = ["schemas", "collectors", "streams", "skeleton", "probe_planner", "localization", "skeletonhunter"]
FAULT = "fault-"
"""How names of files begin in which libFuzzer leaves an input that did harm."""


def run_guided(executions: int, seconds: float, names: list[str], keep: str, pool: str) -> int:
    """Fuzzes each target in a process of its own, with its share of the executions; 1 = a fault, 2 = no atheris.

    ``keep`` and ``pool`` are folders, or empty: for inputs that did harm, and for those that reached something new,
    from which the next run goes on.
    """
    from tests.fuzz.targets import TARGETS

    if importlib.util.find_spec("atheris") is None:
        sys.stderr.write("NOT RUN: guided fuzzing needs the package atheris: pip install 'skeletonhunter[fuzz]'\n")
        return 2
    shares = shared(executions, names or list(TARGETS))
    faults, tried, done, ends_s = [], 0, 0, time.monotonic() + seconds
    for name, share in shares.items():
        begun_s = time.monotonic()
        if begun_s > ends_s:
            break
        with ExitStack() as stack:
            folder = Path(pool, name) if pool else Path(stack.enter_context(TemporaryDirectory(prefix="guided-")))
            begin(folder, name)
            ended = _one_target(name, share, (ends_s - begun_s) / (len(shares) - done), folder)
            kept(folder.glob(f"{FAULT}*"), keep and Path(keep, name))
        done += 1
        tried += _executed(ended.stderr)
        took_s = time.monotonic() - begun_s
        sys.stderr.write(f"{name}: {_executed(ended.stderr)} of {share} executions in {took_s:.0f} s\n")
        if ended.returncode:
            faults.append(name)
            sys.stderr.write(f"{name}: {ended.stdout[-3000:]}{ended.stderr[-3000:]}\n")
    sys.stdout.write(json.dumps({"executions": tried, "targets": done, "guided": True, "faults": faults}) + "\n")
    return int(bool(faults))


def shared(executions: int, names: list[str]) -> dict[str, int]:
    """How often each target is tried: fewer times what takes long, in the proportions of plain fuzzing."""
    from tests.fuzz.targets import TARGETS

    rows = executions / sum(TARGETS[name].in_a_row for name in names)
    return {name: max(1, round(rows * TARGETS[name].in_a_row)) for name in names}


def begin(folder: Path, name: str) -> None:
    """Puts the seeds and the corpus of a target where libFuzzer finds them, beside what an earlier run left."""
    from tests.fuzz.targets import CORPUS, TARGETS

    folder.mkdir(parents=True, exist_ok=True)
    for number, raw in enumerate(TARGETS[name].seeds()):
        (folder / f"seed-{number}").write_bytes(raw)
    if (CORPUS / name).is_dir():
        shutil.copytree(CORPUS / name, folder, dirs_exist_ok=True)


def kept(found: Iterable[Path], folder: Path | str) -> None:
    """Moves inputs that did harm out of the pool, into ``folder`` unless that is empty."""
    for path in found:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder)
        path.unlink()


def _one_target(name: str, executions: int, seconds: float, folder: Path) -> subprocess.CompletedProcess[str]:
    options = ["-verbosity=0", "-print_final_stats=1", f"-runs={executions}", f"-artifact_prefix={folder}/{FAULT}"]
    if seconds != float("inf"):
        options.append(f"-max_total_time={max(1, round(seconds))}")
    command = [sys.executable, "-m", "tests.fuzz.guided", name, *options, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


def _executed(told: str) -> int:
    label = "stat::number_of_executed_units:"
    return sum(int(line.removeprefix(label)) for line in told.splitlines() if line.startswith(label))


def fuzz_one() -> None:
    """Hands this process over to libFuzzer."""
    import atheris

    with atheris.instrument_imports(include=OURS):
        from tests.fuzz.__main__ import judged
        from tests.fuzz.mutating import mutated
        from tests.fuzz.targets import TARGETS, corpus
    name = sys.argv.pop(1)
    others = [*corpus(name), *TARGETS[name].seeds()] or [b""]

    def one(raw: bytes) -> None:
        wrong = judged(name, raw)
        if wrong:
            raise AssertionError(wrong)

    def vary(raw: bytes, longest: int, seed: int) -> bytes:
        draw = random.Random(seed)
        varied = mutated(raw, draw.choice(others), draw)[:longest] if draw.random() < 0.5 else b""
        return varied or bytes(atheris.Mutate(raw, longest))

    atheris.Setup(sys.argv, one, custom_mutator=vary)
    atheris.Fuzz()


if __name__ == "__main__":
    fuzz_one()
