"""The probe's packet: what is written is read, nothing else is, and no answer is larger than what asked for it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.probing.pacing import Fairness
from collectors.probing.packet import SIZE, Kind, Packet, read_packet, target_of, write_packet
from collectors.probing.responder import Responder

U64 = st.integers(0, 2**64 - 1)
I64 = st.integers(0, 2**63 - 1)
U32 = st.integers(0, 2**32 - 1)
PACKETS = st.builds(
    Packet,
    kind=st.sampled_from(Kind),
    sport=st.integers(0, 65535),
    session=U64,
    seq=U64,
    target=U64,
    sent_ns=I64,
    received_ns=I64,
    answered_ns=I64,
    gid=st.binary(min_size=16, max_size=16),
    qpn=U32,
    qkey=U32,
)
KEYS = st.none() | st.binary(min_size=1, max_size=64)


@given(PACKETS, KEYS)
def test_what_is_written_is_read(packet: Packet, key: bytes | None) -> None:
    data = write_packet(packet, key)
    assert len(data) == SIZE == 96
    assert read_packet(data, key) == packet


@given(st.binary(max_size=200), KEYS)
def test_anything_else_is_refused_with_a_reason(data: bytes, key: bytes | None) -> None:
    with pytest.raises(ValueError, match="packet"):
        read_packet(data, key)


def test_damaged_packets_are_read_or_refused_but_nothing_else() -> None:
    draw = random.Random(7)
    whole = write_packet(Packet(kind=Kind.PROBE, sport=1, session=2, seq=3, target=4, sent_ns=5))
    read = 0
    for _ in range(30_000):
        data = bytearray(whole)
        for _ in range(draw.randrange(1, 6)):
            data[draw.randrange(SIZE)] = draw.randrange(256)
        try:
            size = draw.choice((SIZE, SIZE, draw.randrange(SIZE)))
            read += isinstance(read_packet(bytes(data[:size])), Packet)
        except ValueError as error:
            assert "packet" in str(error)
    assert 1_000 < read < 29_000


@given(PACKETS, st.integers(0, SIZE - 1), st.integers(1, 255))
def test_with_a_key_a_changed_byte_is_found(packet: Packet, at: int, change: int) -> None:
    data = bytearray(write_packet(packet, b"k" * 32))
    data[at] ^= change
    with pytest.raises(ValueError, match="packet"):
        read_packet(bytes(data), b"k" * 32)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "has 96 bytes, not 0"),
        (bytes(96), "not a packet of version 1"),
        (b"SkHp\x02" + bytes(91), "not a packet of version 1"),
        (b"SkHp\x01\x09" + bytes(90), "unknown kind 9"),
    ],
)
def test_reasons(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_packet(data)


def test_a_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        write_packet(Packet(kind=Kind.PROBE, sport=70_000, session=0, seq=0, target=0, sent_ns=0))


def responder(rate: float = 1000.0, each: float = 1000.0, key: bytes | None = None) -> Responder:
    return Responder("c1/r", 99, key, Fairness(rate, each))


@given(PACKETS)
def test_an_answer_is_never_larger_and_never_answers_an_answer(packet: Packet) -> None:
    answer = responder().answer(packet, "asker", 1, "kernel")
    if answer is not None:
        assert len(write_packet(answer)) <= len(write_packet(packet))
        assert (packet.kind, answer.kind) in ((Kind.PROBE, Kind.REPLY), (Kind.HELLO, Kind.HERE))
        assert responder().answer(answer, "asker", 1, "kernel") is None


def ask(one: Responder, asker: str, kind: Kind = Kind.PROBE, endpoint: str = "c1/r") -> Packet | None:
    request = Packet(kind=kind, sport=1, session=5, seq=6, target=target_of(endpoint), sent_ns=7)
    return one.answer(request, asker, 8, "kernel")


def test_a_reply_repeats_the_question_and_says_who_took_the_time() -> None:
    reply = ask(responder(), "a")
    assert reply is not None
    assert (reply.session, reply.seq, reply.sent_ns, reply.received_ns, reply.qpn) == (5, 6, 7, 8, 1)


def test_a_probe_meant_for_another_endpoint_is_not_answered() -> None:
    one = responder()
    assert ask(one, "a", endpoint="c2/r") is None
    assert one.refused.misdirected == 1


def test_answers_are_limited_in_all_and_for_each_asker() -> None:
    one = responder(rate=100.0, each=10.0)
    assert sum(ask(one, "greedy") is not None for _ in range(50)) <= 11
    assert ask(one, "modest") is not None
    assert one.refused.over_rate >= 39
    assert sum(ask(one, f"asker {n}") is not None for n in range(500)) <= 105
