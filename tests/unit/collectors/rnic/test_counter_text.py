"""Texts that should be counters: any bytes give a number or a reason."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.rnic.counter_text import LARGEST, Unread, parse_counter, reason_of
from collectors.rnic.quantities import bytes_of, is_counter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"0\n", 0),
        (b"18126345378\n", 18126345378),
        (b"18126345378", 18126345378),
        (b" 42 \r\n", 42),
        (b"1,234", 1234),
        (b"0x1f", 31),
        (b"1.8527668e+07", 18527668),
        (b"1e3", 1000),
        (b"18446744073709551615", LARGEST),
        (b"18446744073709551616", Unread.TOO_LARGE),
        (b"0" * 50 + b"7", 7),
        (b"9" * 5000, Unread.TOO_LARGE),
        (b"N/A (no PMA)\n", Unread.UNSUPPORTED),
        (b"N/A", Unread.UNSUPPORTED),
        (b"n/a", Unread.UNSUPPORTED),
        (b"", Unread.EMPTY),
        (b"\n\n", Unread.EMPTY),
        (b"-4,272", Unread.NEGATIVE),
        (b"-1", Unread.NEGATIVE),
        (b"0.00", Unread.TEXT),
        (b"1.85", Unread.TEXT),
        (b"1,85", Unread.TEXT),
        (b"1.234.567", Unread.TEXT),
        (b"1_000", Unread.TEXT),
        (b"+5", Unread.TEXT),
        (b"1.5e+00", Unread.ROUNDED),
        (b"1e99", Unread.ROUNDED),
        (b"Invalid argument", Unread.TEXT),
        ("٣".encode(), Unread.TEXT),
        (b"used:never", Unread.TEXT),
    ],
)
def test_texts_for_numbers(text: bytes, expected: int | Unread) -> None:
    assert parse_counter(text) == expected
    assert type(parse_counter(text)) is type(expected)


@given(st.integers(0, LARGEST), st.sampled_from(["", "\n", "\r\n", " \n", "\0"]))
def test_whole_numbers_are_read_as_they_are(number: int, end: str) -> None:
    assert parse_counter(f"{number}{end}".encode()) == number
    assert parse_counter(f"{number:,}{end}".encode()) == number


@given(st.binary(max_size=64))
def test_any_bytes_give_a_number_or_a_reason(text: bytes) -> None:
    value = parse_counter(text)
    assert isinstance(value, Unread) or 0 <= value <= LARGEST


@given(st.integers(1, 2**70))
def test_a_negative_number_is_never_a_counter(number: int) -> None:
    assert parse_counter(f"-{number}".encode()) is Unread.NEGATIVE


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENODEV, Unread.GONE),
        (errno.EINVAL, Unread.UNSUPPORTED),
        (errno.EOPNOTSUPP, Unread.UNSUPPORTED),
        (errno.EACCES, Unread.DENIED),
        (errno.ENOENT, Unread.ABSENT),
        (errno.EIO, Unread.FAILED),
    ],
)
def test_failures_have_reasons(number: int, reason: Unread) -> None:
    assert reason_of(OSError(number, "x")) is reason


def test_data_counters_are_words_and_nothing_else_is() -> None:
    assert bytes_of("PortXmitData", 5) == bytes_of("port_rcv_data", 5) == 20
    assert bytes_of("tx_bytes", 5) == bytes_of("port_rcv_packets", 5) == 5


@pytest.mark.parametrize("name", ["lifespan", "active_qps", "watermark_mrs", "port_xmit_data"])
def test_settings_and_numbers_of_objects_are_no_counters(name: str) -> None:
    assert not is_counter(name)
    assert is_counter("port_xmit_wait")
