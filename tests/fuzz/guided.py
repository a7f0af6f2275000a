"""The same targets, with inputs that are guided by which code they reach: atheris (libFuzzer), where it is installed.

python -m tests.fuzz.guided TARGET [options of libFuzzer] CORPUS      one target, in this process
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

OURS = ["schemas", "collectors", "streams", "skeleton", "probe_planner", "localization", "skeletonhunter"]


def run_guided(executions: int, seconds: float, names: list[str]) -> int:
    """Fuzzes each target in a process of its own, with its share of the executions; 1 = a fault, 2 = no atheris."""
    from tests.fuzz.targets import CORPUS, TARGETS

    if importlib.util.find_spec("atheris") is None:
        sys.stderr.write("NOT RUN: guided fuzzing needs the package atheris: pip install 'skeletonhunter[fuzz]'\n")
        return 2
    chosen, faults, tried, done, ends_s = names or list(TARGETS), [], 0, 0, time.monotonic() + seconds
    for name in chosen:
        if time.monotonic() > ends_s:
            break
        done += 1
        with TemporaryDirectory(prefix="guided-") as folder:
            for number, raw in enumerate(TARGETS[name].seeds()):
                (Path(folder) / f"seed-{number}").write_bytes(raw)
            if (CORPUS / name).is_dir():
                shutil.copytree(CORPUS / name, folder, dirs_exist_ok=True)
            options = [f"-runs={max(1, executions // len(chosen))}", f"-artifact_prefix={folder}/fault-"]
            if seconds != float("inf"):
                options.append(f"-max_total_time={max(1, round(seconds / len(chosen)))}")
            command = [
                sys.executable,
                "-m",
                "tests.fuzz.guided",
                name,
                "-verbosity=0",
                "-print_final_stats=1",
                *options,
            ]
            ended = subprocess.run([*command, folder], capture_output=True, text=True, check=False)
        tried += _executed(ended.stderr)
        sys.stderr.write(f"{name}: {_executed(ended.stderr)} executions\n")
        if ended.returncode:
            faults.append(name)
            sys.stderr.write(f"{name}: {ended.stdout[-3000:]}{ended.stderr[-3000:]}\n")
    sys.stdout.write(json.dumps({"executions": tried, "targets": done, "guided": True, "faults": faults}) + "\n")
    return int(bool(faults))


def _executed(told: str) -> int:
    label = "stat::number_of_executed_units:"
    return sum(int(line.removeprefix(label)) for line in told.splitlines() if line.startswith(label))


def fuzz_one() -> None:
    """Hands this process over to libFuzzer."""
    import atheris

    with atheris.instrument_imports(include=OURS):
        from tests.fuzz.targets import TARGETS, fault
    target = TARGETS[sys.argv.pop(1)]

    def one(raw: bytes) -> None:
        wrong = fault(target, raw)
        if wrong:
            raise AssertionError(wrong)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    fuzz_one()
