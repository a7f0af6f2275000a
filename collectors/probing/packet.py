"""What does a probe look like on the wire? One layout of 96 bytes for all kinds, over UDP and as RDMA payload.

| offset | bytes | field | |
|---|---|---|---|
| 0 | 4 | magic | ``SkHp`` |
| 4 | 1 | version | 1 |
| 5 | 1 | kind | 1 probe, 2 reply, 3 hello (where is your RDMA queue pair?), 4 here (its answer) |
| 6 | 2 | sport | UDP source port that the prober asked for; a replier uses the same where its device lets it |
| 8 | 8 | session | names one run of the prober, 63 random bits |
| 16 | 8 | seq | names the probe within the session; a reply repeats both |
| 24 | 8 | target | BLAKE2b of the probed endpoint's id: overlay addresses are not unique, only the right one answers |
| 32 | 8 | sent | T1, nanoseconds, of the prober |
| 40 | 8 | received | T2, nanoseconds, of the responder; 0 in a request |
| 48 | 8 | answered | T3, nanoseconds, of the responder; 0 in a request; in ``here`` the responder's own session |
| 56 | 16 | gid | of ``here``: the RDMA address of the responder; else zeros |
| 72 | 4 | qpn | of ``here``: its queue pair, 0 = none; of a reply: who took T2, 0 device, 1 kernel, 2 agent |
| 76 | 4 | qkey | of ``here``, and of a probe over RDMA: the sender's queue key |
| 80 | 16 | tag | BLAKE2b of the 80 bytes before, keyed with the fleet's key; zeros without a key |

Big-endian. Each instant is by some clock of the host that wrote it; only differences of one host's instants mean
anything. All kinds are of one length, so an answer is never larger than what asked for it and nobody can be flooded
through a responder. The key keeps strangers from asking and answering; it hides nothing and a recorded request can be
sent again, which costs one reply within the responder's rate limit.

Cost: 0.4 us to write or read, 0.9 us more with a key.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from functools import lru_cache

from msgspec import Struct

from collectors.digests import blake2b, compare_digest

MAGIC = b"SkHp"
VERSION = 1
LAYOUT = struct.Struct("!4sBBHQQQqqq16sII16s")
SIZE = LAYOUT.size
TAG_BYTES = 16
NO_GID = bytes(16)
NO_TAG = bytes(TAG_BYTES)


class Kind(IntEnum):
    """What a packet says."""

    PROBE = 1
    REPLY = 2
    HELLO = 3
    HERE = 4


ANSWERS = {Kind.PROBE: Kind.REPLY, Kind.HELLO: Kind.HERE}
_KINDS = {int(kind): kind for kind in Kind}


class Packet(Struct, frozen=True, kw_only=True):
    """One packet; see the table above."""

    kind: Kind
    sport: int
    session: int
    seq: int
    target: int
    sent_ns: int
    received_ns: int = 0
    answered_ns: int = 0
    gid: bytes = NO_GID
    qpn: int = 0
    qkey: int = 0


@lru_cache(maxsize=65_536)
def target_of(endpoint: str) -> int:
    """The 64 bits that stand for an endpoint's id."""
    return int.from_bytes(blake2b(endpoint.encode(), digest_size=8).digest(), "big")


def write_packet(packet: Packet, key: bytes | None = None) -> bytes:
    """The packet's 96 bytes.

    Raises:
        ValueError: a number does not fit into its field.
    """
    p = packet
    numbers = (p.sport, p.session, p.seq, p.target, p.sent_ns, p.received_ns, p.answered_ns)
    try:
        body = LAYOUT.pack(MAGIC, VERSION, p.kind, *numbers, p.gid, p.qpn, p.qkey, NO_TAG)
    except struct.error as error:
        raise ValueError(f"a packet's field does not fit: {error}") from None
    return body if key is None else body[:-TAG_BYTES] + _tag(body, key)


def read_packet(data: bytes, key: bytes | None = None) -> Packet:
    """The packet in ``data``.

    Raises:
        ValueError: it is none of ours, or its tag is not of ``key``.
    """
    if len(data) != SIZE:
        raise ValueError(f"a packet has {SIZE} bytes, not {len(data)}")
    magic, version, kind, sport, session, seq, target, sent, received, answered, gid, qpn, qkey, tag = LAYOUT.unpack(
        data
    )
    if magic != MAGIC or version != VERSION:
        raise ValueError(f"not a packet of version {VERSION}")
    if kind not in _KINDS:
        raise ValueError(f"a packet of unknown kind {kind}")
    if key is not None and not compare_digest(tag, _tag(data, key)):
        raise ValueError("the packet's tag is not of our key")
    return Packet(
        kind=_KINDS[kind],
        sport=sport,
        session=session,
        seq=seq,
        target=target,
        sent_ns=sent,
        received_ns=received,
        answered_ns=answered,
        gid=gid,
        qpn=qpn,
        qkey=qkey,
    )


def _tag(data: bytes, key: bytes) -> bytes:
    return blake2b(data[:-TAG_BYTES], digest_size=TAG_BYTES, key=key).digest()
