"""A short run of the fuzzer, that it can fail, and what an import loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.collectors.rnic import fuzz_parsers

LOADED = """
import sys
before = set(sys.modules)
import collectors.rnic, collectors.rnic.parts
ours = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(name for name in ours if name not in sys.stdlib_module_names))
"""


def test_no_parser_raises_on_random_inputs() -> None:
    assert fuzz_parsers.fuzz(20_000, seed=7) == (20_000, "")


def test_the_fuzzer_finds_a_parser_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_parsers, "PARSERS", (int,))
    tried, raised = fuzz_parsers.fuzz(1_000, seed=7)
    assert tried < 1_000 and "ValueError" in raised


def test_the_collectors_load_nothing_heavy() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) <= {"collectors", "msgspec", "schemas", "typing_extensions"}, "the last one comes with msgspec"
