"""``dmesg -H`` says how long after the line before one was written, and the minute where another one begins."""

from __future__ import annotations

from pathlib import Path

from collectors.events.framing import parse_line
from collectors.events.log_files import LogFile, notices_of
from collectors.events.relative_times import RelativeTimes
from collectors.events.wrapping import join_wrapped
from tests.unit.collectors.events.hosts import NEW_YEAR_US, NOW, devices

MINUTE_US = 60_000_000
PRINTED = """\
[Dec31 23:58] mlx5_core 0000:1a:00.0 eth2: Link down
[  +0.032073] EXT4-fs (vda): mounted filesystem
kern  :err   : [  +1.000000] mlx5_core 0000:1a:00.0 eth2: Link up
[Jan 1 00:00] mlx5_core 0000:9c:00.0 ib6: Link down
[ +12.500000] mlx5_core 0000:9c:00.0 ib6: Link up
"""


def test_lines_have_the_time_of_their_minute_and_what_was_added_since() -> None:
    found = list(notices_of(PRINTED.splitlines(), NOW, "host", 0))
    assert [(notice.code, t_us - NEW_YEAR_US) for notice, t_us in found] == [
        ("port_down", -2 * MINUTE_US),
        ("port_up", -2 * MINUTE_US + 1_032_073),
        ("port_down", 0),
        ("port_up", 10_000_000),  # it is of the present at the latest
    ]
    early = list(notices_of(PRINTED.splitlines()[1:3], NOW, "host", 0))
    assert [t_us for _, t_us in early] == [NOW.t_us], "before the first minute nothing is known"


def test_the_time_goes_on_from_one_reading_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "dmesg.log"
    path.write_text("")
    log = LogFile(path, devices)
    assert list(log.collect(NOW)) == []
    first, *rest = PRINTED.splitlines(keepends=True)
    path.write_text(first)
    (down,) = log.collect(NOW)
    path.write_text(first + "".join(rest[:2]))
    (up,) = log.collect(NOW)
    assert up.t_us - down.t_us == 1_032_073


def test_hosts_in_one_log_are_told_apart_and_lines_are_not_joined() -> None:
    times = RelativeTimes()
    lines = ("a: [Dec31 23:58] x", "b: [Dec31 23:59] x", "a: [  +2.000000] x", "b: [  +3.000000] x")
    told = [times.step(parse_line(line, NOW.t_us)).t_us for line in lines]
    assert [t_us - NEW_YEAR_US for t_us in told if t_us is not None] == [
        -120_000_000,
        -60_000_000,
        -118_000_000,
        -57_000_000,
    ]
    wrapped = ["[Dec31 23:58] mlx5_core 0000:1a:00.0: some words", "[  +0.000001] eth2: Link down"]
    assert join_wrapped(wrapped) == wrapped


def test_deltas_beside_a_time_are_left_out() -> None:
    line = parse_line("[Wed Dec 31 23:00:00 2025 <    0.000474>] mlx5_core 0000:1a:00.0 eth2: Link down", NOW.t_us)
    assert line.t_us == NEW_YEAR_US - 60 * MINUTE_US and line.text.startswith("mlx5_core")
