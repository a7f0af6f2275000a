"""Which flows does Open vSwitch's datapath hold? Output of ``ovs-appctl dpctl/dump-flows``, short and with ``-m``.

A line is ``[ufid:ID, ]MATCH, packets:N, bytes:N, used:S, [offloaded:yes|partial, dp:tc|ovs, ]actions:A[,
dp-extra-info:..]``. Vendors add to it: counters of their own behind ``bytes`` (``dpe_packets:N, dpe_bytes:N,used:S``),
a reason behind the actions (``dp-offload-info:'match unsupported: ..'``). Only ``-m`` prints ufid, ``offloaded`` and
``dp``; ``type=offloaded`` lists hardware flows without saying so, hence ``listing``. Without a ufid the id is a hash of
the match, as a flow is what it matches. Lines that are no flow (headings, log lines, comments, a line cut off) are left
out; a flow that several PMD threads hold is one flow with summed counters.

Meaning of the marks: ``offloaded:yes`` = the driver took it; ``partial`` = only the matching is done there; ``dp:tc``
alone = the kernel's tc forwards it; ``dp:ovs`` = the datapath does. All but the first are software. A flow that never
saw a packet proves nothing of a path. Cost: about 60 us a line.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from collectors.digests import blake2b
from collectors.flows.acting import Deed, parse_actions
from collectors.flows.matching import Match, parse_match
from collectors.plain_text import plain

Listing = Literal["all", "offloaded"]
Path = Literal["hardware", "software"]
_LINE = re.compile(
    r"^(?:ufid:(?P<ufid>[0-9a-fA-F-]{8,64}),?\s*)?(?P<match>.*?),\s*packets:(?P<packets>\d{1,20}),"
    r" bytes:(?P<bytes>\d{1,20}),(?: ?[a-z_]{1,32}:\d{1,20},){0,8} ?used:(?:(?P<used>\d{1,12}(?:\.\d{1,9})?)s|never)"
    r"(?P<marks>[^()]*?), actions:(?P<actions>.*)$"
)
_MARK = re.compile(r"(offloaded|dp):([a-z-]+)")
_REMARK = re.compile(r", ?dp-[a-z-]{1,32}:")
_UNMATCHED = re.compile(r"(?<!\w)\w+\((?:[a-z]+=)?(?:0x)?0+/(?:0x)?0+(?:,[a-z]+=(?:0x)?0+/(?:0x)?0+)*\),?")
LONGEST_LINE = 20_000
HASHED = "match-"
"""What ids begin with that are made of the match."""


class DatapathFlow(Struct, frozen=True, kw_only=True):
    """One flow of the datapath; ``offloaded`` and ``path`` None: not known."""

    flow: str
    match: Match
    deed: Deed
    match_text: str
    actions_text: str
    packets: int
    bytes: int
    idle_s: float | None
    offloaded: bool | None
    path: Path | None
    layer: str | None


def parse_flow(line: str, listing: Listing = "all") -> DatapathFlow | None:
    """Reads one line; None: it is not a flow."""
    line = line.strip()
    found = _LINE.match(line) if len(line) <= LONGEST_LINE and "(" in line else None
    if found is None:
        return None
    marks = dict(_MARK.findall(found["marks"]))
    text = _UNMATCHED.sub("", found["match"]).strip(", ")
    actions = _REMARK.split(found["actions"], maxsplit=1)[0].strip()
    deed = parse_actions(actions)
    used = found["used"]
    offloaded, path = _judge(marks, listing, deed, used is not None and found["packets"].strip("0") != "")
    return DatapathFlow(
        flow=found["ufid"] or f"{HASHED}{blake2b(found['match'].strip().encode(), digest_size=8).hexdigest()}",
        match=parse_match(found["match"]),
        deed=deed,
        match_text=text,
        actions_text=actions,
        packets=int(found["packets"]),
        bytes=int(found["bytes"]),
        idle_s=float(used) if used is not None else None,
        offloaded=offloaded,
        path=path,
        layer=marks.get("dp"),
    )


def _judge(marks: dict[str, str], listing: Listing, deed: Deed, seen: bool) -> tuple[bool | None, Path | None]:
    """(believed offloaded, path taken) of a flow; ``seen``: packets took it."""
    if listing == "offloaded" or marks.get("offloaded") == "yes":
        return True, "hardware" if seen else None
    if not seen:
        return None, None
    if deed.userspace or "offloaded" in marks or "dp" in marks:
        return False, "software"
    return None, None


def parse_dump(text: str, listing: Listing = "all", most: int = 20_000) -> tuple[list[DatapathFlow], bool]:
    """Reads a dump: its flows in the order of their first line, and whether there were more than ``most``."""
    flows: dict[str, DatapathFlow] = {}
    for line in plain(text).splitlines():
        flow = parse_flow(line, listing)
        if flow is None:
            continue
        if flow.flow not in flows and len(flows) >= most:
            return list(flows.values()), True
        known = flows.get(flow.flow)
        flows[flow.flow] = flow if known is None else _add(known, flow)
    return list(flows.values()), False


def _is_short(flow: DatapathFlow) -> bool:
    """Whether it came without an id."""
    return flow.flow.startswith(HASHED)


def _add(one: DatapathFlow, other: DatapathFlow) -> DatapathFlow:
    idle = [each.idle_s for each in (one, other) if each.idle_s is not None]
    seen = one if one.packets else other
    return replace(
        one,
        packets=one.packets + other.packets,
        bytes=one.bytes + other.bytes,
        idle_s=min(idle) if idle else None,
        offloaded=seen.offloaded,
        path=seen.path,
    )


def mark_offloaded(flows: list[DatapathFlow], offloaded: list[DatapathFlow]) -> list[DatapathFlow]:
    """Flows of a dump without marks, told apart by whether the list of offloaded flows holds them too.

    For versions of Open vSwitch whose dump carries none: what is not in that list and saw packets is in software. A
    list in the other form (only ``-m`` prints ids) can't be compared, and says nothing.
    """
    held = {flow.flow for flow in offloaded}
    if offloaded and {_is_short(flow) for flow in flows}.isdisjoint(_is_short(flow) for flow in offloaded):
        return flows
    marked = []
    for flow in flows:
        seen = flow.packets > 0 and flow.idle_s is not None
        if flow.layer is not None or flow.offloaded is not None:
            marked.append(flow)
        elif flow.flow in held:
            marked.append(replace(flow, offloaded=True, path="hardware" if seen else None))
        else:
            marked.append(replace(flow, offloaded=False, path="software") if seen else flow)
    return marked
