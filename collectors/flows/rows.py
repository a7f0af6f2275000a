"""What do flows say in the schema's words? Rows of ``flow-tables`` for each chain of the virtual switch.

A chain that leaves an endpoint gives ``vif:<src>`` -> ``vswitch:<host>`` -> ``tunnel:<host>`` ->
``rnic:<host>/<rnic>``; one that arrives ``tunnel:`` -> ``vswitch:`` -> ``vif:<dst>``. A drop is ``vswitch:`` -> null.
A tunnel that leads to another host than the receiver's is shown as it is: its row's next hop is that host's RNIC. Each
pair that a wildcarded chain stands for has rows of its own, with ``><dst>`` (or ``><src>><dst>``) added to the flow's
id when there are several.

Chains that cannot be about IP (ARP, LLDP, LACP) are left out: they are no part of any pair's way, and are never
offloaded. Chains of IP whose ends are not known keep one row with null ends. Where a way is not shown (the daemon
forwards each packet, or a recirculation leads to a flow that the dump lacks), rows of a known pair show the regular
way, rows of unknown ends ``vswitch:unknown``: null would say that packets are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.flows.acting import Way
from collectors.flows.chains import Chain
from collectors.flows.places import Pair, Resolver
from schemas.maps import Endpoint
from schemas.telemetry import FlowEntry

TEXT = 512
SOMEWHERE = "vswitch:unknown"


def rows_of(chain: Chain, resolver: Resolver) -> Iterator[FlowEntry]:
    """Rows of one chain; none if it is not about IP."""
    if not all(stage.match.is_ip() for stage in chain.stages):
        return
    pairs = resolver.pairs(chain)
    if not pairs:
        yield _unresolved(chain, resolver)
    for pair in pairs:
        yield from _rows_of_pair(chain, pair, _flow_id(chain, pair, pairs), resolver)


def flow_ids(chain: Chain, resolver: Resolver) -> dict[str, Pair]:
    """The ids that a chain's rows carry, with the pair of each: what the RNIC's table has to call them too."""
    pairs = resolver.pairs(chain)
    return {_flow_id(chain, pair, pairs): pair for pair in pairs}


def _flow_id(chain: Chain, pair: Pair, pairs: list[Pair]) -> str:
    if len(pairs) == 1:
        return chain.flow
    sources = {src for src, _ in pairs}
    return f"{chain.flow}>{pair[1]}" if len(sources) == 1 else f"{chain.flow}>{pair[0]}>{pair[1]}"


def _rows_of_pair(chain: Chain, pair: Pair, flow: str, resolver: Resolver) -> Iterator[FlowEntry]:
    host = resolver.places.host
    source, target = resolver.endpoint(pair[0]), resolver.endpoint(pair[1])
    if source is None or target is None:  # a pair of the resolver's own: it knows both
        return
    vswitch, tunnel = f"vswitch:{host}", f"tunnel:{host}"
    port = chain.stages[0].match.in_port or "any"
    if source.host == host:
        after = _way_out(chain, tunnel, resolver)
        yield _row(chain, (flow, pair), (f"vif:{pair[0]}", vswitch), (f"in_port({port})", "to the virtual switch"))
        yield _row(chain, (flow, pair), (vswitch, after), _words(chain))
        if after == tunnel:
            way = next(iter(chain.last.deed.ways), Way("not shown"))
            leads = _wire(way, source, target, resolver)
            yield _row(chain, (flow, pair), (tunnel, leads), (_tunnel_words(way), f"output:{way.port}"))
    else:
        yield _row(chain, (flow, pair), (tunnel, vswitch), (f"in_port({port})", "out of the tunnel"))
        yield _row(chain, (flow, pair), (vswitch, _way_in(chain, pair[1], resolver)), _words(chain))


def _way_out(chain: Chain, tunnel: str, resolver: Resolver) -> str | None:
    """Where the virtual switch sends packets of a local endpoint."""
    if chain.last.deed.drops:
        return None
    return _interface(chain, resolver) or tunnel


def _way_in(chain: Chain, target: str, resolver: Resolver) -> str | None:
    """Where the virtual switch sends packets that came from the wire."""
    return None if chain.last.deed.drops else _interface(chain, resolver) or f"vif:{target}"


def _interface(chain: Chain, resolver: Resolver) -> str | None:
    for way in chain.last.deed.ways:
        found = resolver.vif(way.port)
        if found is not None:
            return f"vif:{found.endpoint}"
    return None


def _wire(way: Way, source: Endpoint, target: Endpoint, resolver: Resolver) -> str:
    """The RNIC that a tunnel's packets go to next: the sender's own one, unless the tunnel leads to the wrong host."""
    where = resolver.tunnel_to(way.tunnel_dst)
    own = f"rnic:{source.host}/{source.rnic}"
    if where is None or where in (target.host, f"{target.host}/{target.rnic}"):
        return own
    host, _, rnic = where.partition("/")
    return f"rnic:{host}/{rnic or target.rnic}"


def _unresolved(chain: Chain, resolver: Resolver) -> FlowEntry:
    host = resolver.places.host
    came = resolver.vif(chain.stages[0].match.in_port)
    at = f"vswitch:{host}"
    after = None if chain.last.deed.drops else _interface(chain, resolver)
    if after is None and not chain.last.deed.drops:
        tunnelled = any(way.tunnel_dst is not None for way in chain.last.deed.ways)
        after = f"tunnel:{host}" if tunnelled else SOMEWHERE
    pair = (came.endpoint if came else None, None)
    return _row(chain, (chain.flow, pair), (at, after), _words(chain))


def _row(
    chain: Chain, who: tuple[str, tuple[str | None, str | None]], hop: tuple[str, str | None], words: tuple[str, str]
) -> FlowEntry:
    return FlowEntry(
        flow=who[0],
        at=hop[0],
        next=hop[1],
        src=who[1][0],
        dst=who[1][1],
        match=words[0][:TEXT],
        actions=words[1][:TEXT],
        packets=chain.packets,
        bytes=chain.last.bytes,
        idle_s=chain.idle_s,
        offloaded=chain.offloaded,
        path=chain.path,
    )


def _words(chain: Chain) -> tuple[str, str]:
    """Match and actions as printed, with the stage that keeps a chain in software."""
    actions = " | ".join(stage.actions_text for stage in chain.stages)
    software = chain.software_stage()
    if software is not None and len(chain.stages) > 1:
        number = chain.stages.index(software) + 1
        actions = f"[stage {number} of {len(chain.stages)}, {software.flow}, is in software] {actions}"
    return chain.stages[0].match_text, actions


def _tunnel_words(way: Way) -> str:
    return "any" if way.tunnel_id is None else f"tun_id={way.tunnel_id}"
