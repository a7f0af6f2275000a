"""Whose are the ports and addresses that a flow table speaks of? Endpoints, hosts and RNICs, by the endpoint map.

Overlay addresses are unique within a job only, so a flow's local end is found first: by its virtual interface, which is
unique on a host, else by its address if one local endpoint alone has it. The far end is then looked for among the same
job's endpoints, by what the flow says of it: the inner address, and the host that the tunnel leads to.

A wildcarded flow may stand for several pairs (a rule that drops whatever leaves an interface); ``pairs`` gives all of
them, up to ``MOST_PAIRS`` a flow, ``peers`` first (the pairs that are probed or known to talk). Beyond that, none: a
row that is true of everybody says nothing of anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from collectors.flows.chains import Chain
from collectors.flows.matching import Net, address
from schemas.maps import Endpoint

MOST_PAIRS = 64
Pair = tuple[str, str]


class Places(Struct, frozen=True, kw_only=True):
    """What a host's agent knows of its surroundings.

    ``jobs``: endpoints by job; of jobs with an endpoint on this host. ``tunnels``: outer (tunnel) address ->
    ``<host>`` or ``<host>/<rnic>``. ``ports``: a port as the table prints it (number, representor) -> virtual
    interface as the endpoint map has it. ``peers``: pairs of endpoints that matter most; empty: not known.
    """

    host: str
    jobs: Mapping[str, tuple[Endpoint, ...]]
    tunnels: Mapping[str, str] = {}
    ports: Mapping[str, str] = {}
    peers: frozenset[Pair] = frozenset()


class _Known(Struct, frozen=True):
    """An endpoint, its job and its addresses."""

    endpoint: Endpoint
    job: str
    addresses: tuple[Net, ...]


class Resolver:
    """Looks up places; built once for a map, and used for every flow. Memory: about 1 kB an endpoint."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._tunnels = {found: where for text, where in places.tunnels.items() if (found := address(text)) is not None}
        self._jobs: dict[str, list[_Known]] = {}
        for job, endpoints in places.jobs.items():
            known = (_Known(endpoint, job, _addresses(endpoint)) for endpoint in endpoints if endpoint.state != "gone")
            self._jobs[job] = list(known)
        self._local = [each for job in self._jobs.values() for each in job if each.endpoint.host == places.host]
        self._by_address: dict[tuple[str, Net], list[_Known]] = {}
        for job, listed in self._jobs.items():
            for each in listed:
                for found in each.addresses:
                    self._by_address.setdefault((job, found), []).append(each)
        self._vifs = {each.endpoint.vif: each for each in self._local if each.endpoint.vif}
        self.rnics = sorted({each.endpoint.rnic for each in self._local})
        self._named = {each.endpoint.endpoint: each.endpoint for job in self._jobs.values() for each in job}

    def endpoint(self, name: str | None) -> Endpoint | None:
        """An endpoint by its id."""
        return self._named.get(name) if name is not None else None

    def vif(self, port: str | None) -> Endpoint | None:
        """The local endpoint behind a port of the virtual switch."""
        found = self._vif(port)
        return found.endpoint if found else None

    def tunnel_to(self, outer: Net | None) -> str | None:
        """``<host>`` or ``<host>/<rnic>`` that a tunnel leads to; None: not known."""
        return self._tunnels.get(outer) if outer is not None else None

    def pairs(self, chain: Chain) -> list[Pair]:
        """Pairs of endpoints whose RDMA packets the chain may carry, sorted; empty: none, not known, or too many."""
        if not all(stage.match.may_carry_rdma() for stage in chain.stages):
            return []
        first = chain.stages[0].match
        source = self._vif(first.in_port)
        if source is None and first.tunnel_dst is None and first.tunnel_src is None:
            source = self._only(self._local, first.src)
        pairs = self._incoming(chain) if source is None else self._outgoing(source, chain)
        wanted = [pair for pair in pairs if pair in self.places.peers] if len(pairs) > MOST_PAIRS else pairs
        return sorted(wanted) if len(wanted) <= MOST_PAIRS else []

    def _vif(self, port: str | None) -> _Known | None:
        if port is None:
            return None
        return self._vifs.get(self.places.ports.get(port, port))

    def _outgoing(self, source: _Known, chain: Chain) -> list[Pair]:
        """From a local endpoint to a local interface, or to wherever addresses and tunnel lead."""
        name = source.endpoint.endpoint
        near = [found for way in chain.last.deed.ways if (found := self._vif(way.port)) is not None]
        if near:
            return [(name, found.endpoint.endpoint) for found in near if found.endpoint.endpoint != name]
        inner = chain.stages[0].match.dst
        hosts = {
            where.partition("/")[0]
            for way in chain.last.deed.ways
            if (where := self.tunnel_to(way.tunnel_dst)) is not None
        }
        others = self._candidates(source.job, inner, hosts if inner is None or _is_wide(inner) else set())
        return [(name, other.endpoint.endpoint) for other in others if other.endpoint.endpoint != name]

    def _incoming(self, chain: Chain) -> list[Pair]:
        """Out of a tunnel, or from an address that is known, to a local interface or a local address."""
        first, last = chain.stages[0].match, chain.last
        tunnelled = (first.tunnel_src, first.tunnel_dst, first.tunnel_id) != (None, None, None)
        if not tunnelled and (first.src is None or _is_wide(first.src)):
            return []  # another port of this host, as far as anybody can tell
        targets = [found for way in last.deed.ways if (found := self._vif(way.port)) is not None]
        inner = last.match.dst or first.dst
        if inner is not None and not _is_wide(inner):
            by_address = self._only(self._local, inner)
            targets = [by_address] if by_address is not None else targets
        elif not targets and last.deed.drops and first.tunnel_src is not None:
            targets = [each for each in self._local if inner is None or _lives_in(each, inner)]
        origin = self.tunnel_to(first.tunnel_src)
        hosts = {origin.partition("/")[0]} if origin is not None else set()
        return [
            (source.endpoint.endpoint, target.endpoint.endpoint)
            for target in targets
            for source in self._candidates(target.job, first.src, hosts)
            if source.endpoint.host != self.places.host
        ]

    def _candidates(self, job: str, inner: Net | None, hosts: set[str]) -> list[_Known]:
        """Endpoints of a job that an inner address (None: any) and hosts (empty: any) allow."""
        exact = inner is not None and not _is_wide(inner)
        listed = self._by_address.get((job, inner), []) if exact and inner is not None else self._jobs.get(job, [])
        return [
            each
            for each in listed
            if (inner is None or _lives_in(each, inner)) and (not hosts or each.endpoint.host in hosts)
        ]

    def _only(self, among: Iterable[_Known], inner: Net | None) -> _Known | None:
        """The one endpoint that has an address; None: none, several, or any address will do."""
        if inner is None or _is_wide(inner):
            return None
        found = [each for each in among if inner in each.addresses]
        return found[0] if len(found) == 1 else None


def _addresses(endpoint: Endpoint) -> tuple[Net, ...]:
    """Overlay address and GID, each once."""
    found = [address(text) for text in (endpoint.ip, endpoint.gid) if text]
    return tuple(dict.fromkeys(each for each in found if each is not None))


def _lives_in(known: _Known, inner: Net) -> bool:
    return any(inner.holds(each) for each in known.addresses)


def _is_wide(inner: Net) -> bool:
    return inner.mask != (1 << inner.bits) - 1
