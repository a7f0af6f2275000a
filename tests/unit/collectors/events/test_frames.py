"""Frames of logs where the host, the length or the zone is not where a naive reader looks for it."""

from __future__ import annotations

import pytest

from collectors.events.classifying import classify
from collectors.events.framing import parse_line
from tests.unit.collectors.events.hosts import NEW_YEAR_US, NOW

WORDS = "mlx5_core 0000:1a:00.0 eth2: Link down"


@pytest.mark.parametrize(
    ("frame", "host", "program"),
    [
        ("Dec 31 23:00:00 {}", None, None),
        ("2025-12-31T23:00:00Z {}", None, None),
        ("1767222000.000000 {}", None, None),
        ("Dec 31 23:00:00 kernel: {}", None, "kernel"),
        ("97 <13>1 2025-12-31T23:00:00.000Z h1 kernel - - - {}", "h1", "kernel"),
        ("Wed Dec 31 23:00:00 2025 h1 kernel: {}", "h1", "kernel"),
        ("Wed Dec 31 23:00:00 2025: {}", None, None),
        ("Dec 31 23:00:00.000 UTC h1 kernel: {}", "h1", "kernel"),
        ("Dec 31 23:00:00 2025 h1 kernel: [   66.816635] {}", "h1", "kernel"),
        ("2025-12-31 23:00:00 h1 kernel: {}", "h1", "kernel"),
    ],
)
def test_whose_line_it_is(frame: str, host: str | None, program: str | None) -> None:
    line = parse_line(frame.format(WORDS), NOW.t_us)
    assert (line.host, line.program, line.text) == (host, program, WORDS)
    assert line.t_us == NEW_YEAR_US - 3_600_000_000
    found = classify(line)
    assert found is not None and found.subject.name == "0000:1a:00.0"


def test_a_host_that_a_colon_follows_keeps_its_name() -> None:
    line = parse_line("Dec 31 23:00:00 leaf-0: %LINK-3-UPDOWN: Interface Hu1/0/1, changed state to down", NOW.t_us)
    assert line.host == "leaf-0" and line.text.startswith("%LINK")
