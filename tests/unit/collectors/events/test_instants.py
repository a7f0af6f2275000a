"""When a line was written, in the words of many logs."""

from __future__ import annotations

import calendar

import pytest

from collectors.events.framing import parse_line
from collectors.events.log_files import notices_of
from tests.unit.collectors.events.hosts import NOW


@pytest.mark.parametrize(
    "stamp",
    [
        "Dec 1 14:54:40.5 h1 prog: ",
        "Dec  1 2025 14:54:40.5 h1 prog: ",
        "2025 Dec  1 14:54:40.500000 h1 prog: ",
        "Mon 2025-12-01 14:54:40.5 UTC h1 prog: ",
        "Mon 2025-12-01 15:54:40.5 +0100 h1 prog: ",
        "1764600880.500000 h1 prog: ",
        "[1764600880.500] [h1:7:0] ",
        "2025/12/01 14:54:40.5 ",
        "kern  :err   : 2025-12-01T14:54:40,500000+00:00 ",
        "\0" * 20_000 + "Dec  1 14:54:40.5 h1 prog: ",
    ],
)
def test_one_instant_in_the_words_of_many_logs(stamp: str) -> None:
    line = parse_line(f"{stamp}something went on", NOW.t_us)
    assert line.t_us == calendar.timegm((2025, 12, 1, 14, 54, 40)) * 1_000_000 + 500_000
    assert line.text.endswith("something went on") and line.host in (None, "h1")


def test_a_line_that_writes_its_year_is_not_taken_for_this_year_s() -> None:
    old = "2024 Dec 31 23:59:59.5 h1 systemd-networkd[1]: ib6: lost carrier"
    assert not list(notices_of([old], NOW, "host", 0))
    assert list(notices_of([old.replace("2024", "2025")], NOW, "host", 0))
