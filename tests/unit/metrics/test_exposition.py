"""The page that Prometheus reads, and the small server that gives it out."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from collectors.exposing import AddressError, answer, exposed
from schemas.metrics import METRICS, PREFIX, Reading, exposition, instant
from skeletonhunter.settings import SettingsError, load_settings


def readings() -> list[Reading]:
    return [
        Reading("sink_rows_total", 7),
        Reading("info", 1, ("sink", "0.1")),
        instant("newest_arrival_timestamp_seconds", 1_753_000_000_500_000, "sink", 'a"b\\c\nd'),
    ]


def test_the_page_has_help_kind_and_escaped_labels_in_the_order_of_declaration() -> None:
    assert exposition(readings()).splitlines() == [
        "# HELP skeletonhunter_info 1; which part this is",
        "# TYPE skeletonhunter_info gauge",
        'skeletonhunter_info{part="sink",version="0.1"} 1',
        "# HELP skeletonhunter_newest_arrival_timestamp_seconds when the newest message that was read came into Kafka",
        "# TYPE skeletonhunter_newest_arrival_timestamp_seconds gauge",
        'skeletonhunter_newest_arrival_timestamp_seconds{part="sink",topic="a\\"b\\\\c\\nd"} 1753000000.5',
        "# HELP skeletonhunter_sink_rows_total rows that ClickHouse has taken",
        "# TYPE skeletonhunter_sink_rows_total counter",
        "skeletonhunter_sink_rows_total 7",
    ]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ([Reading("no_such", 1)], KeyError),
        ([Reading("info", 1)], ValueError),
        ([Reading("sink_rows_total", 1), Reading("sink_rows_total", 2)], ValueError),
    ],
)
def test_what_is_not_declared_is_refused(wrong: list[Reading], error: type[Exception]) -> None:
    with pytest.raises(error):
        exposition(wrong)


def test_names_are_unique_and_follow_prometheus_conventions() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name
        assert not metric.help.endswith(".")
    assert PREFIX == "skeletonhunter_"


def test_other_paths_and_methods_are_told_so_and_what_changes_is_read_again() -> None:
    assert answer(b"GET / HTTP/1.1", readings).startswith(b"HTTP/1.1 404 ")
    assert answer(b"POST /metrics HTTP/1.1", readings).startswith(b"HTTP/1.1 405 ")
    assert answer(b"", readings).startswith(b"HTTP/1.1 405 ")
    assert answer(b"HEAD /metrics HTTP/1.1", readings).endswith(b"\r\n\r\n")
    tries: list[int] = []

    def changing() -> list[Reading]:
        tries.append(1)
        if len(tries) < 3:
            raise RuntimeError("dictionary changed size during iteration")
        return readings()

    assert answer(b"GET /metrics?x=1 HTTP/1.1", changing).startswith(b"HTTP/1.1 200 OK")
    assert len(tries) == 3

    def never() -> Iterator[Reading]:
        raise RuntimeError("dictionary changed size during iteration")

    assert answer(b"GET /metrics HTTP/1.1", never).startswith(b"HTTP/1.1 503 ")


@pytest.mark.sockets
def test_it_is_served_until_the_end_and_a_client_that_goes_away_or_talks_on_does_no_harm() -> None:
    with exposed("127.0.0.1:0", readings) as address:
        assert address is not None
        host, port = address.split(":")
        place = (host, int(port))
        socket.create_connection(place).close()
        with socket.create_connection(place) as flood:
            flood.sendall(b"x" * 20_000)
        with socket.create_connection(place) as client:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            got = b"".join(iter(lambda: client.recv(65536), b""))
        assert got.endswith(exposition(readings()).encode())
        with (
            pytest.raises(AddressError, match=rf"^metrics can't be served on {address}: .*in use"),
            exposed(address, readings),
        ):
            pass
    with pytest.raises(OSError):
        socket.create_connection(place)


def test_nothing_is_served_unless_an_address_is_set() -> None:
    assert load_settings(None, {}).metrics.address is None
    with exposed(None, readings) as address:
        assert address is None
    with pytest.raises(SettingsError, match=r"Expected `str` matching regex"):
        load_settings(None, {"SKELETONHUNTER_METRICS__ADDRESS": "localhost"})
