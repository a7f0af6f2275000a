"""What the kernel puts into the error queue, whole and damaged."""

from __future__ import annotations

import random
import socket
import struct

from hypothesis import given
from hypothesis import strategies as st

from collectors.probing.udp_socket import (
    EXTENDED_ERROR,
    IP_RECVERR,
    IPV6_RECVERR,
    ORIGIN_ICMP,
    ORIGIN_TIMESTAMPING,
    SO_TIMESTAMPING,
    IcmpError,
    SendStamp,
    _read_error,
)

TARGET = ("10.0.0.2", 17171)


def recverr(origin: int, number: int = 0, errno: int = 0, offender: bytes = b"") -> tuple[int, int, bytes]:
    return socket.IPPROTO_IP, IP_RECVERR, EXTENDED_ERROR.pack(errno, origin, 11, 0, 0, 0, number) + offender


def test_a_send_stamp_names_its_packet() -> None:
    stamp = socket.SOL_SOCKET, SO_TIMESTAMPING, struct.pack("@qqqqqq", 17, 5, 0, 0, 0, 0)
    assert _read_error(b"", [stamp, recverr(ORIGIN_TIMESTAMPING, 9)], ()) == SendStamp(9, 17_000_000_005)


def test_an_icmp_answer_names_its_sender_and_the_packet() -> None:
    offender = struct.pack("@H", socket.AF_INET) + b"\0\0" + bytes([10, 11, 1, 2]) + bytes(8)
    found = _read_error(b"quoted", [recverr(ORIGIN_ICMP, 0, 113, offender)], TARGET)
    assert found == IcmpError(113, "10.11.1.2", b"quoted", TARGET)
    v6 = struct.pack("@H", socket.AF_INET6) + bytes(6) + bytes(15) + b"\1" + bytes(4)
    found = _read_error(b"", [recverr(ORIGIN_ICMP, 0, 113, v6)], TARGET)
    assert isinstance(found, IcmpError) and found.offender == "::1"


def test_local_errors_say_nothing_of_the_network() -> None:
    assert _read_error(b"", [recverr(1)], TARGET) is None
    assert _read_error(b"", [], TARGET) is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from([socket.IPPROTO_IP, socket.SOL_SOCKET, socket.IPPROTO_IPV6]),
            st.sampled_from([IP_RECVERR, IPV6_RECVERR, SO_TIMESTAMPING]),
            st.binary(max_size=64),
        ),
        max_size=4,
    )
)
def test_whatever_comes_is_read_or_left(ancillary: list[tuple[int, int, bytes]]) -> None:
    found = _read_error(random.Random(1).randbytes(40), ancillary, TARGET)
    assert found is None or isinstance(found, SendStamp | IcmpError)
