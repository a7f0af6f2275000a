"""Lines that were cut, or counted in place of being written again."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.events.classifying import classify
from collectors.events.framing import parse_line
from collectors.events.log_files import MOST_REPEATED, notices_of
from collectors.events.notices import Notice
from collectors.events.wrapping import join_wrapped
from tests.unit.collectors.events.hosts import NOW, text


def notice(line: str) -> Notice | None:
    return classify(parse_line(line, NOW.t_us))


def catalogue() -> list[tuple[str, str, str]]:
    rows = [line.split("\t") for line in text("kernel_lines.tsv").splitlines()[1:]]
    return [(code, about, line) for code, about, line in rows]


def test_a_message_that_a_terminal_wrapped_is_read_whole() -> None:
    pasted = [
        "    mlx5_core 0000:9c:00.0: port_module:252:(pid 0): Port module",
        "    event[error]: module 0, Cable error, Power budget exceeded",
        "[  913.000001] mlx5_core 0000:1a:00.0 eth2: Link down",
    ]
    joined = join_wrapped(pasted)
    assert len(joined) == 2
    found = notice(joined[0])
    assert found is not None and found.values["reason"] == "Power budget exceeded"
    assert join_wrapped([pasted[0], pasted[2]]) == [pasted[0], pasted[2]]


@given(st.data())
def test_a_driver_s_line_means_the_same_wherever_it_was_wrapped(data: st.DataObject) -> None:
    whole = data.draw(
        st.sampled_from(
            [
                line
                for code, about, line in catalogue()
                if code.startswith(("pcie_degraded warning", "module")) and "rnic" in about
            ]
        )
    )
    head = re.search(r"\d\d\.\d: ", whole)
    assert head is not None
    cuts = sorted(data.draw(st.sets(st.integers(head.end() + 1, len(whole) - 1), min_size=1, max_size=2)))
    parts = [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, None], strict=True)]
    (joined,) = join_wrapped([parts[0], *(f"    {part}" for part in parts[1:])])
    expected, found = notice(whole), notice(joined)
    assert (
        expected is not None and found is not None and (found.code, found.subject) == (expected.code, expected.subject)
    )


def test_lines_that_stand_for_themselves_are_never_joined() -> None:
    alone = "mlx5_core 0000:1a:00.0: some new message"
    for following in (
        "ib6: lost carrier",
        "    NETDEV WATCHDOG: eth2 (mlx5_core): transmit queue 3 timed out",
        "",
        "x",
    ):
        assert join_wrapped([alone, following]) == [alone, following]
    assert join_wrapped([]) == []


@pytest.mark.parametrize(
    "frame",
    [
        "Dec 31 23:59:58 h1 systemd-networkd[539]: message repeated 5 times: [ {}]",
        "2025-12-31T23:59:58.5Z h1 systemd-networkd[539]: message repeated 5 times: [{}]",
        "Dec 31 23:59:58 h1 kernel: [  913.000001] message repeated 5 times: [ [  912.000001] {}]",
    ],
)
@pytest.mark.parametrize("words", ["ib6: Lost carrier", "mlx5_core 0000:9c:00.0 ib6: Link down"])
def test_flaps_that_syslog_counted_in_place_of_writing_them_are_counted(frame: str, words: str) -> None:
    found = [each for each, _ in notices_of([frame.format(words)], NOW, "host", 0)]
    assert [each.code for each in found] == ["port_down"] * 5 and found[0].values["times"] == 5
    assert found[0].text == words
    escaped = frame.format(f"{words}#015")
    assert [each.text for each, _ in notices_of([escaped], NOW, "host", 0)] == [words] * 5, "of a sender with CRLF"
    many = frame.format(words).replace("5 times", "9999 times")
    flood = [each for each, _ in notices_of([many], NOW, "host", 0)]
    assert len(flood) == MOST_REPEATED and flood[0].values["times"] == 9999
