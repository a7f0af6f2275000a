"""Which packets does a flow match? The fields that say whose they are, out of Open vSwitch's notation.

Addresses are ``Net``: (value, mask) as numbers of 32 or 128 bits. A mask of zero matches everything, whatever value is
printed before it: the userspace datapath prints the address of the packet that made the flow there. A field that is not
printed is not matched. Of tagged frames (``eth_type(0x8100),vlan(..),encap(eth_type(0x0800),..)``, once or twice) the
type is that of what they carry, as tagged RoCE is RoCE.
"""

from __future__ import annotations

import re
import socket

from msgspec import Struct

from collectors.flows.brackets import inside

ROCE_PORT = 4791
UDP = 17
IP_TYPES = frozenset({0x0800, 0x86DD})
VLAN_TYPES = frozenset({0x8100, 0x88A8, 0x9100})
_MOST_BITS = 128


class Net(Struct, frozen=True):
    """A set of addresses: those equal to ``value`` in the bits of ``mask``; ``bits``: 32 or 128."""

    value: int
    mask: int
    bits: int

    def holds(self, other: Net) -> bool:
        """Whether an address (mask all ones) is in the set."""
        return self.bits == other.bits and not (self.value ^ other.value) & self.mask

    def meets(self, other: Net) -> bool:
        """Whether the two sets have an address in common."""
        return self.bits == other.bits and not (self.value ^ other.value) & self.mask & other.mask


class Match(Struct, frozen=True, kw_only=True):
    """What a flow matches; None: anything. ``is_group``: Ethernet frames to many (multicast, broadcast) only."""

    in_port: str | None = None
    recirc: int = 0
    eth_type: int | None = None
    protocol: int | None = None
    src: Net | None = None
    dst: Net | None = None
    udp_dst: int | None = None
    tunnel_src: Net | None = None
    tunnel_dst: Net | None = None
    tunnel_id: int | None = None
    is_group: bool = False

    def is_ip(self) -> bool:
        """Whether it may match IP packets."""
        return self.eth_type is None or self.eth_type in IP_TYPES

    def may_carry_rdma(self) -> bool:
        """Whether it may match RoCE packets (UDP to port 4791, to one receiver)."""
        return self.is_ip() and not self.is_group and self.protocol in (None, UDP) and self.udp_dst in (None, ROCE_PORT)


def address(text: str) -> Net | None:
    """One address, IPv4 or IPv6 (an IPv4 address inside IPv6, as RoCE GIDs have it, is IPv4); None: it is none."""
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    try:
        packed = socket.inet_pton(family, text)
    except (OSError, ValueError):
        return None
    if len(packed) == 16 and packed[:12] == b"\0" * 10 + b"\xff\xff":
        packed = packed[12:]
    bits = 8 * len(packed)
    return Net(int.from_bytes(packed, "big"), (1 << bits) - 1, bits)


def network(text: str) -> Net | None:
    """An address with or without ``/mask`` (an address, or a number of bits); None: everything, or no address."""
    base, _, mask_text = text.partition("/")
    found = address(base)
    if found is None or not mask_text:
        return found
    if mask_text.isdecimal() and len(mask_text) <= 3:
        length = min(int(mask_text), found.bits)
        mask = ((1 << length) - 1) << (found.bits - length)
    else:
        mask = _mask(mask_text, found.bits)
    return Net(found.value & mask, mask, found.bits) if mask else None


def _mask(text: str, bits: int) -> int:
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    try:
        return int.from_bytes(socket.inet_pton(family, text), "big") & ((1 << bits) - 1)
    except (OSError, ValueError):
        return (1 << bits) - 1


def number(text: str | None) -> int | None:
    """A number, decimal or ``0x``, without mask or with a full one; None: anything, or not one."""
    if text is None:
        return None
    value, _, mask = text.partition("/")
    if mask and not mask.lower().strip("0x"):
        return None
    return whole(value)


def whole(text: str) -> int | None:
    """A number of at most 64 bits, decimal or ``0x``; None: it is none."""
    if len(text) > 20 or not text.isascii():
        return None
    try:
        found = int(text, 16) if text[:2] in ("0x", "0X") else int(text)
    except ValueError:
        return None
    return found if 0 <= found < 1 << 64 else None


_IN_PORT = re.compile(r"(?<!\w)in_port\(([^()/]{1,64})(?:/[^()]*)?\)")
_RECIRC = re.compile(r"(?<!\w)recirc_id\(([^()]{1,32})\)")
_ETH_TYPE = re.compile(r"(?<!\w)eth_type\(([^()]{1,32})\)")
_ETH = re.compile(r"(?<!\w)eth\(([^()]*)\)")
_IP = re.compile(r"(?<!\w)ipv[46]\(([^()]*)\)")
_UDP = re.compile(r"(?<!\w)udp\(([^()]*)\)")
_TUNNEL = re.compile(r"(?<!\w)tunnel\(")
_PAIR = re.compile(r"(?:^|,)\s*([a-z][a-z0-9_]*)=([^,(){}]*)")


def pairs(text: str) -> dict[str, str]:
    """``name=value`` pairs of a field's argument; the first of two with the same name counts."""
    found: dict[str, str] = {}
    for name, value in _PAIR.findall(text):
        found.setdefault(name, value)
    return found


def parse_match(text: str) -> Match:
    """Reads a flow's match; what it does not know it leaves out."""
    tunnel: dict[str, str] = {}
    start = _TUNNEL.search(text)
    if start is not None:
        body, end = inside(text, start.end() - 1)
        tunnel, text = pairs(body), text[: start.start()] + text[end:]
    ip = pairs(found.group(1)) if (found := _IP.search(text)) else {}
    udp = pairs(found.group(1)) if (found := _UDP.search(text)) else {}
    port = _IN_PORT.search(text)
    return Match(
        in_port=port.group(1) if port else None,
        recirc=number(_first(_RECIRC, text)) or 0,
        eth_type=_carried_type(text),
        protocol=number(ip.get("proto")),
        src=network(ip.get("src", "")),
        dst=network(ip.get("dst", "")),
        udp_dst=number(udp.get("dst")),
        tunnel_src=network(tunnel.get("src", tunnel.get("ipv6_src", ""))),
        tunnel_dst=network(tunnel.get("dst", tunnel.get("ipv6_dst", ""))),
        tunnel_id=number(tunnel.get("tun_id")),
        is_group=_is_group(pairs(_first(_ETH, text) or "").get("dst", "")),
    )


def _carried_type(text: str) -> int | None:
    """The Ethernet type behind any VLAN tags; None: it is not matched."""
    types = (number(found) for found in _ETH_TYPE.findall(text))
    return next((found for found in types if found not in VLAN_TYPES), None)


def _is_group(text: str) -> bool:
    """Whether an Ethernet address, with or without mask, is of many receivers: lowest bit of the first octet."""
    base, _, mask = text.partition("/")
    octets = [whole(f"0x{each[:2]}") for each in (base, mask or "ff")]
    return all(octet is not None and octet & 1 for octet in octets)


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found.group(1) if found else None
