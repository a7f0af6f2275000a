"""Which way do the probes of a pair and source port go? A traceroute that stops as soon as the path is known; pure.

One packet at a time, with a time to live of 1, 2, ... and the ports of the probed flow, so the fabric hashes it as
it hashes the probes. Each hop's answer is put to the fabric map: when the hops lead to the destination's RNIC the
trace is done, so no packet of it reaches the destination. A silent hop ends the trace without a path. Each pair and
port is traced every ``every_s``; the last known path is kept through failures, since that is what a lost train wants
to know.

Cost: 2 us per look; a trace has as many packets as there are switches on the way.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from collectors.probing.paths import Fabric
from collectors.probing.transport import Peer
from schemas.instants import SECOND_US, micros
from schemas.probing import ProbeKind, ProbeResult

MOST_HOPS = 8
MOST_FLOWS = 4096
GAP_US = SECOND_US
"""Between two traces of an agent: switches, and Linux, answer one expired packet of a sender per second."""

AGAIN = 0.1
"""Share of the interval after which a trace that failed is tried again."""

Flow = tuple[str, str, int]
"""(src, dst, source port)"""


class Trace(Struct):
    """One traceroute under way. ``nodes``: the RNICs at both ends. ``about``: job, tenant and plan version."""

    flow: Flow
    peer: Peer
    kind: ProbeKind
    nodes: tuple[str, str]
    about: tuple[str, str | None, int]
    hops: list[str | None] = []
    sent: int = 0
    sent_us: int = 0

    @property
    def ttl(self) -> int:
        """Of the next packet."""
        return len(self.hops) + 1


class Tracer:
    """All traces of an agent, and what they found."""

    def __init__(self, every_s: float) -> None:
        self.fabric: Fabric | None = None
        self._every_us = micros(every_s)
        self._paths: dict[Flow, tuple[str, ...]] = {}
        self._next_us: dict[Flow, int] = {}
        self._free_us = 0
        self._under_way: dict[int, Trace] = {}
        self._results: list[tuple[Trace, ProbeResult]] = []

    def limit(self, every_s: float) -> None:
        """From now on a trace of each flow that often."""
        self._every_us = micros(every_s)
        self._next_us.clear()

    def path(self, flow: Flow) -> tuple[str, ...] | None:
        """The last known path."""
        return self._paths.get(flow)

    def take_fabric(self, fabric: Fabric) -> None:
        """Another map: paths are learnt anew."""
        if self.fabric is None or fabric.version > self.fabric.version:
            self.fabric = fabric
            self._paths.clear()
            self._next_us.clear()

    def wants(self, flow: Flow, nodes: tuple[str, str], mono_us: int) -> bool:
        """Whether a flow is to be traced now; if so, it is counted as begun."""
        if (
            not self._every_us
            or self.fabric is None
            or not (self.fabric.knows(nodes[0]) and self.fabric.knows(nodes[1]))
        ):
            return False
        if mono_us < max(self._free_us, self._next_us.get(flow, 0)):
            return False
        self._free_us = mono_us + GAP_US
        while len(self._next_us) >= MOST_FLOWS:
            oldest = next(iter(self._next_us))
            del self._next_us[oldest]
            self._paths.pop(oldest, None)
        self._next_us[flow] = mono_us + self._every_us
        return True

    def hurry(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Somebody asks for the paths of some pairs: their probed flows are traced again when they next are probed."""
        asked = set(pairs)
        for flow in [flow for flow in self._next_us if flow[:2] in asked]:
            self._next_us[flow] = 0

    def note_sent(self, seq: int, trace: Trace, mono_us: int) -> None:
        """A packet of a trace left."""
        trace.sent += 1
        trace.sent_us = mono_us
        self._under_way[seq] = trace

    def is_done(self, trace: Trace, t_us: int) -> bool:
        """Whether the hops so far lead to the destination, or there are too many; then the result is kept."""
        assert self.fabric is not None
        path = self.fabric.path(trace.nodes[0], trace.hops, trace.nodes[1])
        if path is not None:
            self._paths[trace.flow] = path
        if path is not None or len(trace.hops) >= MOST_HOPS:
            self._keep(trace, path, t_us)
            return True
        return False

    def note_hop(self, seq: int, hop: str) -> Trace | None:
        """A hop answered: the trace that it belongs to goes on."""
        trace = self._under_way.pop(seq, None)
        if trace is not None:
            trace.hops.append(hop)
        return trace

    def note_end(self, seq: int, t_us: int) -> bool:
        """A packet of a trace came through to the destination, or nowhere; True: it was one of a trace."""
        trace = self._under_way.pop(seq, None)
        if trace is None:
            return False
        self._keep(trace, None, t_us)
        return True

    def _keep(self, trace: Trace, path: tuple[str, ...] | None, t_us: int) -> None:
        if trace.sent == 0:
            return
        if path is None:
            self._next_us[trace.flow] = trace.sent_us + round(self._every_us * AGAIN)
        answered = min(len(trace.hops), trace.sent)
        result = ProbeResult(
            dst=trace.flow[1],
            t_us=t_us,
            kind="traceroute",
            outcome="reply" if answered else "lost",
            sent=trace.sent,
            lost=trace.sent - answered,
            rtt_us=(),
            sport=trace.flow[2],
            path=path,
        )
        self._results.append((trace, result))

    def expire(self, before_us: int, t_us: int) -> None:
        """Ends traces whose last packet left before an instant and was not answered."""
        for seq in [seq for seq, trace in self._under_way.items() if trace.sent_us < before_us]:
            self.note_end(seq, t_us)

    def take_results(self) -> list[tuple[Trace, ProbeResult]]:
        """What ended since it was asked last."""
        results, self._results = self._results, []
        return results
