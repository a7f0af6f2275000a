"""A part of the agent: dumps the flow tables of its host at intervals, and at once when an anomaly asks.

It wants to be asked every ``LOOK_S``, and reads when its time has come or somebody has asked.

Sources, each optional: Open vSwitch's datapath (``ovs``), tc on the representors and uplinks (``tc`` with ``{dev}``
for the device), an adapter that looks into the cards (``cards``; it counts more than tc). Without marks in the dump
(an Open vSwitch that does not print them), the list of offloaded flows is read too. Bounds: seconds and bytes of each
command, flows of each table; what is cut goes out with ``complete`` false and ``truncated`` saying why.

A command that fails fails the whole reading (the agent says so and asks again later): half of the truth, one table
without the other, would look like a mismatch between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from collectors.commands import run
from collectors.flows.chains import Chain, chains
from collectors.flows.datapath import DatapathFlow, mark_offloaded, parse_dump
from collectors.flows.known import Surroundings
from collectors.flows.places import Resolver
from collectors.flows.rnic import CardFlow, card_rows, held_by_driver, parse_cards
from collectors.flows.rows import rows_of
from collectors.flows.snapshots import History, Policy
from collectors.flows.tc import TcFlow, parse_filters
from collectors.observing import Now, Observed
from collectors.part_settings import OVS, OVS_OFFLOADED
from schemas.maps import EndpointMap
from schemas.probing import ProbePlan
from schemas.telemetry import FlowEntry

TC = ("tc", "-s", "-j", "filter", "show", "dev", "{dev}", "ingress")
TC_JSON = frozenset({"-j", "-js", "-json", "--json"})

LOOK_S = 1.0
MOST_ROWS = 600
"""Rows of one message, as brokers take about a megabyte. A larger table takes several of one instant."""


class FlowSources(Struct, frozen=True, kw_only=True):
    """Commands that print the tables; None or empty: not asked. ``devices``: whose filters tc prints."""

    ovs: tuple[str, ...] | None = OVS
    ovs_offloaded: tuple[str, ...] | None = OVS_OFFLOADED
    tc: tuple[str, ...] = TC
    devices: tuple[str, ...] = ()
    cards: tuple[str, ...] | None = None


class FlowBounds(Struct, frozen=True, kw_only=True):
    """What a reading may cost."""

    timeout_s: float = 5.0
    max_bytes: int = 16_000_000
    max_flows: int = 20_000


class _Reading(Struct):
    """What the commands of one reading printed, and why each table is not whole (empty: it is)."""

    flows: list[DatapathFlow] = []
    cards: list[CardFlow] = []
    filters: list[TcFlow] = []
    cut_vswitch: list[str] = []
    cut_cards: list[str] = []


class FlowCollector:
    """Dumps tables; ``places`` is what is known of whom they are about, kept by the maps and plans that come."""

    name = "flow-tables"

    def __init__(
        self,
        places: Surroundings,
        sources: FlowSources,
        period_s: float = 10.0,
        bounds: FlowBounds | None = None,
        policy: Policy | None = None,
    ) -> None:
        self.period_s = min(period_s, LOOK_S)
        self._every_us, self._due_us = round(period_s * 1e6), 0
        self._places, self._sources = places, sources
        self._bounds, self._policy = bounds or FlowBounds(), policy or Policy()
        self._histories: dict[str | None, History] = {}
        self._resolver: Resolver | None = None
        self._asked = False

    def take_map(self, endpoint_map: EndpointMap) -> None:
        """Whose ports and addresses there are."""
        self._places.take_map(endpoint_map)

    def take_plan(self, plan: ProbePlan) -> None:
        """Which pairs are probed."""
        self._places.take_plan(plan)

    def demand(self) -> None:
        """An anomaly wants to know: the next reading is sent whole."""
        self._asked = True

    def collect(self, now: Now) -> Iterator[Observed]:
        """Reads all tables once, if it is time.

        Raises:
            OSError: a command failed.
            ValueError: tc printed what is not JSON.
        """
        if now.mono_us < self._due_us and not self._asked:
            return
        asked, self._asked = self._asked, False
        self._due_us = now.mono_us + self._every_us - self._every_us // 20  # who asks a little early is not put off
        reading = self._read()
        places = self._places()
        resolver = self._resolver
        if resolver is None or resolver.places is not places:
            resolver = self._resolver = Resolver(places)
        linked = chains(reading.flows)
        vswitch = [row for chain in linked for row in rows_of(chain, resolver)]
        found: list[Observed] = []
        if self._sources.ovs is not None:
            found += self._facts((now, asked), (places.host, None), vswitch, reading.cut_vswitch)
        if self._sources.cards is not None or self._sources.devices:
            for rnic, rows in sorted(self._card_rows(reading, linked, resolver).items()):
                found += self._facts((now, asked), (places.host, rnic), rows, reading.cut_cards)
        yield from found

    def _read(self) -> _Reading:
        reading, sources = _Reading(), self._sources
        if sources.ovs is not None:
            reading.flows = self._dump(sources.ovs, reading.cut_vswitch)
            if sources.ovs_offloaded is not None and reading.flows and not any(flow.layer for flow in reading.flows):
                text = self._run(sources.ovs_offloaded, reading.cut_vswitch)
                reading.flows = mark_offloaded(reading.flows, parse_dump(text, "offloaded")[0])
        for device in sources.devices:
            reading.filters += self._filters(device, reading.cut_cards)
        if sources.cards is not None:
            dump = parse_cards(self._run(sources.cards, reading.cut_cards))
            reading.cards = list(dump.flows)
            if not dump.complete:
                reading.cut_cards.append(f"adapter ({dump.refused} lines refused)")
        return reading

    def _filters(self, device: str, cut: list[str]) -> list[TcFlow]:
        """Filters of a device. Many releases of tc print actions (police) and other filters (u32) as text in the midst
        of their JSON, which then is none: they are asked again for text.
        """
        command = [word.replace("{dev}", device) for word in self._sources.tc]
        as_text = [word for word in command if word not in TC_JSON]
        try:
            return parse_filters(self._run(command, cut) or "[]", device)
        except ValueError:
            if as_text == command:
                raise
        return parse_filters(self._run(as_text, cut), device)

    def _dump(self, command: Sequence[str], cut: list[str]) -> list[DatapathFlow]:
        flows, more = parse_dump(self._run(command, cut), most=self._bounds.max_flows)
        if more:
            cut.append("flows")
        return flows

    def _run(self, command: Sequence[str], cut: list[str]) -> str:
        output = run(command, self._bounds.timeout_s, self._bounds.max_bytes)
        if output.cut is not None:
            cut.append(output.cut)
            if output.text[:1] == "[":  # half of a JSON list is no list
                return ""
        return output.text

    def _card_rows(self, reading: _Reading, linked: list[Chain], resolver: Resolver) -> dict[str, list[FlowEntry]]:
        cards = reading.cards
        if self._sources.cards is None:
            cards = list(held_by_driver(linked, reading.filters, resolver))
        return card_rows(cards, linked, resolver)

    def _facts(
        self, when: tuple[Now, bool], whose: tuple[str, str | None], rows: list[FlowEntry], cut: list[str]
    ) -> Iterator[Observed]:
        now, asked = when
        host, rnic = whose
        history = self._histories.setdefault(rnic, History(self._policy))
        diff = history.step(rows, bool(cut), asked)
        if diff is None:
            return
        stream = "flow-tables" if rnic is None else f"flow-tables/{rnic}"
        table = {"host": host, "rnic": rnic, "table": "vswitch" if rnic is None else "rnic"}
        starts = range(0, max(1, len(diff.rows)), MOST_ROWS)
        for start in starts:
            fields: dict[str, Any] = {
                **table,
                "complete": diff.complete and start == starts[-1],
                "flows": [asdict(row) for row in diff.rows[start : start + MOST_ROWS]],
            }
            if cut:
                fields["truncated"] = ", ".join(dict.fromkeys(cut))
            yield Observed("flow-tables", stream, now.t_us, fields)
