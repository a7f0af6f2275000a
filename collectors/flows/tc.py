"""Which flows did the driver take into the RNIC? ``tc -s [-j] filter show dev DEV ingress``, flower filters only.

Both forms are read: JSON (``-j``; ``options.keys``, ``options.actions``) and text (blocks that begin with ``filter``; a
chain that is not told is 0, a protocol that was asked for is not printed).
A filter is in hardware if tc prints ``in_hw``; ``not_in_hw`` says that the kernel forwards it in software; neither
(old kernels, ``skip_hw``) is not known, but for ``skip_hw``, which is software. Statistics are those of the last
action, as packets pass all of them; newer kernels split them by hardware and software, and then more software than
hardware packets show a path in software whatever the flag says.

Open vSwitch writes its ufid into the filter as a cookie: its bytes, which it prints itself as words of the host's byte
order (little-endian here), so that ``ufid`` swaps each four bytes. Cost: about 30 us a filter.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
from msgspec import Struct

from collectors.flows.acting import Deed, Way
from collectors.flows.matching import UDP, Match, address, network, whole
from collectors.plain_text import plain

Path = Literal["hardware", "software"]
ETH_TYPES = {"ipv4": 0x0800, "ip": 0x0800, "ipv6": 0x86DD, "arp": 0x0806}
PROTOCOLS = {"udp": UDP, "tcp": 6, "icmp": 1, "sctp": 132, "icmpv6": 58}


class TcFlow(Struct, frozen=True, kw_only=True):
    """One flower filter of a device; ``ufid``: Open vSwitch's id of it, None: it has no such cookie."""

    device: str
    preference: int
    chain: int
    handle: int
    ufid: str | None
    match: Match
    deed: Deed
    match_text: str
    in_hw: bool | None
    packets: int | None
    bytes: int | None
    idle_s: float | None
    path: Path | None

    @property
    def flow(self) -> str:
        """Its id: Open vSwitch's, or what names the filter on its device."""
        return self.ufid or f"tc-{self.device}-{self.preference}-{self.chain}-{self.handle:x}"


def ufid_of_cookie(cookie: str) -> str | None:
    """Open vSwitch's id out of a filter's cookie of 16 bytes; None: it is another kind of cookie."""
    if len(cookie) != 32:
        return None
    try:
        data = bytes.fromhex(cookie)
    except ValueError:
        return None
    if len(data) != 16:
        return None
    text = "".join(data[at : at + 4][::-1].hex() for at in range(0, 16, 4))
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def parse_filters(text: str, device: str) -> list[TcFlow]:
    """Reads the filters of a device, in JSON or text.

    Raises:
        ValueError: it begins like JSON and is none.
    """
    text = plain(text)
    if text.lstrip()[:1] in ("[", "{"):
        return _from_json(text, device)
    return _from_text(text, device)


def _from_json(text: str, device: str) -> list[TcFlow]:
    try:
        listed = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"tc's filters of {device}: not JSON: {error}") from error
    found = [_filter(item, device) for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return [flow for flow in found if flow is not None]


def _filter(item: dict[str, Any], device: str) -> TcFlow | None:
    options = item.get("options")
    if item.get("kind") != "flower" or not isinstance(options, dict) or "handle" not in options:
        return None
    keys = {str(name): value for name, value in _mapping(options.get("keys")).items()}
    raw = options.get("actions")
    actions = [action for action in raw if isinstance(action, dict)] if isinstance(raw, list) else []
    stats = _mapping(actions[-1].get("stats")) if actions else {}
    cookie = next((str(action["cookie"]) for action in actions if "cookie" in action), "")
    state = True if options.get("in_hw") else False if options.get("not_in_hw") or options.get("skip_hw") else None
    used = _count(actions[-1].get("last_used")) if actions else None
    names = dict.fromkeys((*keys, "protocol"), None) and {
        **keys,
        "eth_type": keys.get("eth_type", item.get("protocol")),
    }
    return _flow(
        (device, _count(item.get("pref")) or 0, _count(item.get("chain")) or 0, _count(options["handle"]) or 0),
        {name: _word(value) for name, value in names.items() if value is not None},
        _deed_of_json(actions),
        (state, ufid_of_cookie(cookie)),
        ({name: _count(value) for name, value in stats.items()}, used),
    )


def _flow(
    place: tuple[str, int, int, int],
    keys: dict[str, str],
    deed: Deed,
    state: tuple[bool | None, str | None],
    counted: tuple[dict[str, int | None], int | None],
) -> TcFlow:
    stats, used = counted
    hardware, software, packets = stats.get("hw_packets"), stats.get("sw_packets"), stats.get("packets")
    if packets is None and hardware is not None and software is not None:
        packets = hardware + software
    path: Path | None = None
    if packets and hardware is not None and software is not None:
        path = "hardware" if hardware >= software else "software"
    elif packets and state[0] is not None:
        path = "hardware" if state[0] else "software"
    return TcFlow(
        device=place[0],
        preference=place[1],
        chain=place[2],
        handle=place[3],
        ufid=state[1],
        match=_match(keys, place[2]),
        deed=deed,
        match_text=",".join(f"{name}={value}" for name, value in keys.items()),
        in_hw=state[0],
        packets=packets,
        bytes=stats.get("bytes"),
        idle_s=None if used is None else float(used),
        path=path,
    )


def _match(keys: dict[str, str], chain: int) -> Match:
    protocol = keys.get("ip_proto", "").lower()
    kind = keys.get("eth_type", "").lower()
    return Match(
        recirc=chain,
        eth_type=ETH_TYPES.get(kind, whole(kind)),
        protocol=PROTOCOLS.get(protocol, whole(protocol)),
        src=network(keys.get("src_ip", "")),
        dst=network(keys.get("dst_ip", "")),
        udp_dst=whole(keys.get("dst_port", "")),
        tunnel_src=network(keys.get("enc_src_ip", "")),
        tunnel_dst=network(keys.get("enc_dst_ip", "")),
        tunnel_id=whole(keys.get("enc_key_id", "")),
    )


class _Steps:
    """A filter's actions, gathered."""

    def __init__(self) -> None:
        self.ways: list[Way] = []
        self.chains: list[int] = []
        self.tunnel: tuple[str | None, int | None] = (None, None)
        self.dropped = False

    def out(self, port: str) -> None:
        """A packet leaves by a device."""
        outer, number = self.tunnel
        self.ways.append(Way(port[:64], address(outer) if outer else None, number))

    def deed(self) -> Deed:
        """What they do together; no action at all lets packets go on, so a drop must be said."""
        if not (self.ways or self.chains or self.dropped):
            return Deed(ways=(Way("on"),))
        return Deed(tuple(self.ways), tuple(self.chains))


def _deed_of_json(actions: list[dict[str, Any]]) -> Deed:
    steps = _Steps()
    for action in actions:
        kind, control = action.get("kind"), _mapping(action.get("control_action"))
        if kind == "tunnel_key" and action.get("mode") == "set":
            steps.tunnel = _word(action.get("dst_ip")), _count(action.get("key_id"))
        elif kind == "mirred" and action.get("to_dev"):
            steps.out(_word(action["to_dev"]))
        elif kind == "gact" and control.get("type") == "drop":
            steps.dropped = True
        elif kind == "gact" and control.get("type") == "goto":
            steps.chains.append(_count(control.get("chain")) or 0)
    return steps.deed()


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: object) -> str:
    return value if isinstance(value, str) else str(value)[:64]


def _count(value: object) -> int | None:
    """A number that may be printed as text, or as hexadecimal."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value >= 0 else None
    return whole(value) if isinstance(value, str) else None


_HEAD = re.compile(
    r"^filter\b(?:.*? protocol (\S+))?(?: .*?)? pref (\d+) flower(?: chain (\d+))?(?: handle (0x[0-9a-f]+))?", re.M
)
_KEY = re.compile(r"^  ([a-z_]+) (\S+)$", re.M)
_ACTION = re.compile(r"^\s*action order \d+:\s*(.*(?:\n(?!\s*action order|filter\b).*)*)", re.M)
_SENT = re.compile(r"Sent (?:(software|hardware) )?(\d{1,20}) bytes (\d{1,20}) pkt")


def _from_text(text: str, device: str) -> list[TcFlow]:
    text = text.replace("\r\n", "\n")
    starts = [found.start() for found in re.finditer(r"^filter\b", text, re.M)]
    blocks = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=False)]
    found = [_block(block, device) for block in blocks]
    return [flow for flow in found if flow is not None]


def _block(block: str, device: str) -> TcFlow | None:
    head = _HEAD.match(block)
    if head is None or head[4] is None:
        return None
    before = block.partition("action order")[0]
    keys = {**({"eth_type": head[1]} if head[1] else {}), **dict(_KEY.findall(before))}
    words = set(before.split())
    state = True if "in_hw" in words else False if words & {"not_in_hw", "skip_hw"} else None
    cookie = re.search(r"\bcookie ([0-9a-f]{2,32})\b", block)
    actions = _ACTION.findall(block)
    used = re.search(r"\bused (\d{1,12}) sec\b", actions[-1]) if actions else None
    return _flow(
        (device, int(head[2][:9]), int((head[3] or "0")[:9]), whole(head[4]) or 0),
        keys,
        _deed_of_text(actions),
        (state, ufid_of_cookie(cookie[1]) if cookie else None),
        (_sent(actions[-1]) if actions else {}, int(used[1]) if used else None),
    )


def _sent(action: str) -> dict[str, int | None]:
    stats: dict[str, int | None] = {}
    for kind, octets, packets in _SENT.findall(action):
        prefix = {"software": "sw_", "hardware": "hw_"}.get(kind, "")
        stats |= {f"{prefix}bytes": int(octets), f"{prefix}packets": int(packets)}
    return stats


def _deed_of_text(actions: list[str]) -> Deed:
    steps = _Steps()
    for action in actions:
        if action.startswith("tunnel_key") and re.match(r"tunnel_key\s+set", action):
            outer, number = re.search(r"\bdst_ip (\S+)", action), re.search(r"\bkey_id (\d+)", action)
            steps.tunnel = (outer[1] if outer else None), (whole(number[1]) if number else None)
        elif found := re.match(r"mirred \(\w+ \w+ to device (\S+?)\)", action):
            steps.out(found[1])
        elif re.match(r"gact action drop", action):
            steps.dropped = True
        elif found := re.match(r"gact action goto chain (\d{1,9})", action):
            steps.chains.append(int(found[1]))
    return steps.deed()
