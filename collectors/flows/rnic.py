"""What do RNICs themselves hold? Rows of ``flow-tables`` of table ``rnic``, out of tc or of an adapter's JSON lines.

An adapter is any command (or file) that prints what a card's firmware holds, one flow a line:

    {"rnic": "mlx5_0", "flow": "<id>", "src": "10.0.0.1", "dst": "10.0.0.2", "tunnel": "192.0.2.2", "drop": false,
     "packets": 10, "bytes": 1000, "idle_s": 0.1}

``rnic`` and ``flow`` are needed. ``flow`` is the id that the virtual switch gives the flow (Open vSwitch: its ufid),
as the two tables are compared by it. ``src``, ``dst``: inner addresses; ``tunnel``: the outer destination; only needed
where the virtual switch does not know the flow. A line ``{"complete": false}`` says that more was there. Lines that
are no such thing are counted, not guessed at.

tc says what the driver has taken into the card, which is not a look into the card: an adapter's word counts more. A
chain of several stages is held if each of its stages is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct

from collectors.flows.acting import Deed, Way
from collectors.flows.chains import Chain
from collectors.flows.datapath import DatapathFlow
from collectors.flows.matching import Match, address
from collectors.flows.places import Pair, Resolver
from collectors.flows.rows import TEXT, flow_ids
from collectors.flows.tc import TcFlow
from collectors.plain_text import plain
from schemas.telemetry import FlowEntry

UNKNOWN = "rnic:unknown"


class CardFlow(Struct, frozen=True, kw_only=True):
    """One flow that a card holds, whoever told; ``in_hw`` None: tc does not tell (old kernels)."""

    rnic: str
    flow: str
    src: str | None = None
    dst: str | None = None
    tunnel: str | None = None
    drop: bool = False
    packets: int | None = None
    bytes: int | None = None
    idle_s: float | None = None
    in_hw: bool | None = True


class _End(Struct, frozen=True):
    complete: bool


class CardDump(Struct, frozen=True):
    """What an adapter told: its flows, whether that was all, and how many lines were no flow."""

    flows: tuple[CardFlow, ...]
    complete: bool
    refused: int


_FLOW = msgspec.json.Decoder(CardFlow)
_END = msgspec.json.Decoder(_End)
LARGEST = 1 << 63


def parse_cards(text: str) -> CardDump:
    """Reads an adapter's lines."""
    flows: list[CardFlow] = []
    complete, refused = True, 0
    for line in plain(text).splitlines():
        if not line.strip():
            continue
        try:
            flow = _FLOW.decode(line)
            if not flow.rnic or not flow.flow or not _is_sane(flow):
                raise ValueError("out of range")
            flows.append(flow)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            try:
                complete = _END.decode(line).complete and complete
            except (msgspec.MsgspecError, RecursionError):
                refused += 1
    return CardDump(tuple(flows), complete and not refused, refused)


def _is_sane(flow: CardFlow) -> bool:
    counts = [count for count in (flow.packets, flow.bytes) if count is not None]
    return all(0 <= count < LARGEST for count in counts) and (flow.idle_s is None or flow.idle_s >= 0.0)


def held_by_driver(chains: Iterable[Chain], filters: Iterable[TcFlow], resolver: Resolver) -> Iterator[CardFlow]:
    """What tc says of the virtual switch's chains: those whose stages the driver has all been asked to take.

    A chain's card is that of its local endpoint; chains whose pair is not known are left out, as nobody could say whose
    card it is. Several devices may hold one filter: in hardware on one is enough.
    """
    by_ufid: dict[str, TcFlow] = {}
    for held in filters:
        if held.ufid is not None and (held.ufid not in by_ufid or held.in_hw):
            by_ufid[held.ufid] = held
    for chain in chains:
        stages = [by_ufid.get(stage.flow) for stage in chain.stages]
        known = [stage for stage in stages if stage is not None]
        if len(known) < len(stages):
            continue
        for flow, pair in flow_ids(chain, resolver).items():
            rnic = _own_rnic(pair, resolver)
            if rnic is not None:
                yield _held(known, chain, flow, rnic)


def _held(stages: list[TcFlow], chain: Chain, flow: str, rnic: str) -> CardFlow:
    last, told = stages[-1], [stage.in_hw for stage in stages]
    return CardFlow(
        rnic=rnic,
        flow=flow,
        drop=chain.last.deed.drops,
        packets=last.packets,
        bytes=last.bytes,
        idle_s=last.idle_s,
        in_hw=False if False in told else None if None in told else True,
    )


def _own_rnic(pair: Pair, resolver: Resolver) -> str | None:
    ends = [resolver.endpoint(name) for name in pair]
    return next((end.rnic for end in ends if end is not None and end.host == resolver.places.host), None)


def card_rows(flows: Iterable[CardFlow], chains: Iterable[Chain], resolver: Resolver) -> dict[str, list[FlowEntry]]:
    """Rows by RNIC; every RNIC that has a local endpoint is there, with no rows if it holds none.

    Several rows for one flow (an adapter that knows Open vSwitch's ufid only): one for each pair that the virtual
    switch's rows have it for, under their ids.
    """
    rows: dict[str, list[FlowEntry]] = {rnic: [] for rnic in resolver.rnics}
    pairs = {flow: pair for chain in chains for flow, pair in flow_ids(chain, resolver).items()}
    by_root: dict[str, list[str]] = {}
    for flow in pairs:
        by_root.setdefault(flow.partition(">")[0], []).append(flow)
    for held in flows:
        names = [held.flow] if held.flow in pairs else by_root.get(held.flow, [held.flow])
        for name in names:
            rows.setdefault(held.rnic, []).append(_row(held, name, _pair(held, name, pairs, resolver), resolver))
    return rows


def _pair(held: CardFlow, name: str, pairs: Mapping[str, Pair], resolver: Resolver) -> Pair | None:
    """Whose flow it is: as the virtual switch says, else by its own addresses."""
    if name in pairs:
        return pairs[name]
    found = resolver.pairs(Chain((_as_flow(held),)))
    return found[0] if len(found) == 1 else None


def _as_flow(held: CardFlow) -> DatapathFlow:
    """A card's flow as if the virtual switch held it, so that its ends are looked up by the same rules."""
    outer = address(held.tunnel) if held.tunnel else None
    return DatapathFlow(
        flow=held.flow,
        match=Match(src=address(held.src or ""), dst=address(held.dst or "")),
        deed=Deed(ways=(Way("wire", outer),)),
        match_text="",
        actions_text="",
        packets=0,
        bytes=0,
        idle_s=None,
        offloaded=None,
        path=None,
        layer=None,
    )


def _row(held: CardFlow, name: str, pair: Pair | None, resolver: Resolver) -> FlowEntry:
    host = resolver.places.host
    words = {"src": held.src, "dst": held.dst, "tunnel": held.tunnel}
    return FlowEntry(
        flow=name,
        at=f"rnic:{host}/{held.rnic}",
        next=None if held.drop else _next(held, pair, resolver),
        src=pair[0] if pair else None,
        dst=pair[1] if pair else None,
        match=",".join(f"{word}={value}" for word, value in words.items() if value)[:TEXT],
        actions="drop" if held.drop else "forward",
        packets=held.packets,
        bytes=held.bytes,
        idle_s=held.idle_s,
        offloaded=held.in_hw,
        path=("hardware" if held.in_hw else "software") if held.packets and held.in_hw is not None else None,
    )


def _next(held: CardFlow, pair: Pair | None, resolver: Resolver) -> str:
    """Where the card sends it: to the peer's card, or up to the tunnel; a tunnel to another host is shown as it is."""
    host = resolver.places.host
    target = resolver.endpoint(pair[1]) if pair else None
    if target is None:
        return UNKNOWN
    if target.host == host:
        return f"tunnel:{host}"
    where = resolver.tunnel_to(address(held.tunnel)) if held.tunnel else None
    if where is None or where in (target.host, f"{target.host}/{target.rnic}"):
        return f"rnic:{target.host}/{target.rnic}"
    other, _, rnic = where.partition("/")
    return f"rnic:{other}/{rnic or target.rnic}"
