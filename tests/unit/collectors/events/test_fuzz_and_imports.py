"""A short run of the fuzzer over all parsers of this part, that it can fail, and what an import loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.collectors.events import fuzz_texts

LOADED = """
import sys
before = set(sys.modules)
import collectors.flows.collector, collectors.events.checks, collectors.events.kernel_log, collectors.events.log_files
import collectors.events.lldp, collectors.events.runtime, collectors.switches.gnmi, collectors.switches.sonic
import collectors.clocks.watch
ours = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(name for name in ours if name not in sys.stdlib_module_names))
"""


def test_no_parser_raises_on_random_inputs() -> None:
    assert fuzz_texts.fuzz(24_000, seed=7) == (24_000, "")


def test_every_parser_has_texts_that_it_knows() -> None:
    """A fuzzer whose seeds nobody understands would try nothing."""
    texts = fuzz_texts.seeds()
    for name, (parse, _) in fuzz_texts.PARSERS.items():
        assert fuzz_texts.understood(parse, texts), name


def test_lines_that_end_as_on_windows_mean_the_same() -> None:
    for path in sorted(fuzz_texts.DATA.glob("*/*.txt")):
        if path.parent.name not in ("flows", "events", "switches", "clocks"):
            continue
        plain = path.read_text()
        for name, (parse, _) in fuzz_texts.PARSERS.items():
            if name not in ("counters", "path"):
                assert outcome(parse, plain.replace("\n", "\r\n")) == outcome(parse, plain), f"{name} on {path.name}"


def outcome(parse: fuzz_texts.Parser, text: str) -> object:
    try:
        return parse(text)
    except ValueError:
        return "refused"


def test_the_fuzzer_finds_a_parser_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_texts, "PARSERS", {"whole": (lambda text: int(text or "0"), False)})
    tried, wrong = fuzz_texts.fuzz(1_000, seed=7)
    assert tried < 1_000 and wrong.startswith("whole: ValueError")


def test_these_parts_load_nothing_heavy() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) <= {"collectors", "msgspec", "schemas", "typing_extensions"}, "the last one comes with msgspec"
