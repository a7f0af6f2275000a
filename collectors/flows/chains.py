"""Which flows follow each other? A packet that is recirculated passes several datapath flows: the stages of one chain.

A chain begins with a flow of ``recirc_id(0)`` and goes on at every flow whose ``recirc_id`` the last stage names,
whose port is the same and whose addresses meet (addresses count only until a stage rewrites them). It is offloaded
only if each stage that saw packets is; the first that is not is reported, since one software stage takes the whole
flow through software. Stages that never saw a packet prove nothing. Bounds: ``LONGEST`` stages, ``MOST`` chains a
root, so crafted tables cost little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from collectors.flows.datapath import DatapathFlow, Path

LONGEST = 8
MOST = 32


class Chain(Struct, frozen=True):
    """Stages that packets pass one after the other; ``open_end``: the last one recirculates to no known flow."""

    stages: tuple[DatapathFlow, ...]
    open_end: bool = False

    @property
    def flow(self) -> str:
        """Id: the first stage's, with the last one's when there are several."""
        first, last = self.stages[0].flow, self.stages[-1].flow
        return first if len(self.stages) == 1 else f"{first}+{last}"

    @property
    def last(self) -> DatapathFlow:
        """The stage that sends packets out, or drops them."""
        return self.stages[-1]

    def software_stage(self) -> DatapathFlow | None:
        """The first stage that is known to be in software."""
        return next((stage for stage in self.stages if stage.offloaded is False), None)

    @property
    def offloaded(self) -> bool | None:
        """Whether all stages are in hardware; None: not known of some, and none is known to be in software."""
        if self.software_stage() is not None:
            return False
        return True if all(stage.offloaded for stage in self.stages) else None

    @property
    def path(self) -> Path | None:
        """What packets were seen to take; None: none were, or it is not known."""
        if self.software_stage() is not None:
            return "software"
        return "hardware" if all(stage.path == "hardware" for stage in self.stages) else None

    @property
    def packets(self) -> int:
        """Packets that passed all of it: those of the last stage."""
        return self.last.packets

    @property
    def idle_s(self) -> float | None:
        """Seconds since a packet passed all of it."""
        return self.last.idle_s


def chains(flows: Iterable[DatapathFlow]) -> list[Chain]:
    """All chains of a dump, in its order; a stage that no root leads to is a chain of its own."""
    listed = list(flows)
    by_recirc: dict[int, list[DatapathFlow]] = {}
    for flow in listed:
        if flow.match.recirc:
            by_recirc.setdefault(flow.match.recirc, []).append(flow)
    found: list[Chain] = []
    reached: set[str] = set()
    for flow in listed:
        if not flow.match.recirc:
            found += _limited(_follow((flow,), by_recirc), reached)
    found += [
        Chain((flow,), bool(flow.deed.recirculates))
        for flow in listed
        if flow.match.recirc and flow.flow not in reached
    ]
    return found


def _limited(from_root: Iterator[Chain], reached: set[str]) -> Iterator[Chain]:
    for _, chain in zip(range(MOST), from_root, strict=False):
        reached.update(stage.flow for stage in chain.stages)
        yield chain


def _follow(passed: tuple[DatapathFlow, ...], by_recirc: dict[int, list[DatapathFlow]]) -> Iterator[Chain]:
    last = passed[-1]
    if not last.deed.recirculates:
        yield Chain(passed)
        return
    rewritten = any(stage.deed.rewrites for stage in passed)
    after = [
        flow
        for recirc in last.deed.recirculates
        for flow in by_recirc.get(recirc, ())
        if flow not in passed and _fits(last, flow, rewritten)
    ]
    if not after or len(passed) >= LONGEST:
        yield Chain(passed, open_end=True)
        return
    for flow in after:
        yield from _follow((*passed, flow), by_recirc)


def _fits(before: DatapathFlow, after: DatapathFlow, rewritten: bool) -> bool:
    """Whether packets of one stage can reach the other."""
    one, other = before.match, after.match
    if one.in_port is not None and other.in_port is not None and one.in_port != other.in_port and not before.deed.pops:
        return False
    if rewritten:
        return True
    ends = (one.src, other.src), (one.dst, other.dst)
    return all(a is None or b is None or a.meets(b) for a, b in ends)
