"""An incident's backdrop out of ClickHouse: what was measured around it, on its fabric, with a minute before.

Rows are read as they were written; pairs are those of the incident's jobs, or of the whole fabric where it names no
job. Cost: one query per table, bounded by ``MOST_TRAINS`` newest trains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from schemas.diagnosis import Incident
from schemas.folding import DERIVED_CLOCK, derived_producer
from schemas.instants import SECOND_US
from schemas.maps import Ecmp, Endpoint, FabricMap, Link, Node
from schemas.skeletons import SkeletonUpdate
from skeletonhunter.reporting.backdrop import Backdrop, backdrop_from

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

LEAD_S, TAIL_S = 90, 60
LONGEST_S = 1800
MOST_TRAINS = 500_000


def history_of(client: Client, database: str, incident: Incident) -> list[Incident]:
    """The incident's states in order; earlier ones differ from the newest in what the timeline keeps of them."""
    query = f"""SELECT state, t_us, confidence FROM {database}.incident_timeline
        WHERE incident = {{name:String}} ORDER BY step"""
    rows = client.query(query, parameters={"name": incident.incident}).result_rows
    before = [
        msgspec.structs.replace(incident, state=state, t_us=t_us, confidence=confidence)
        for state, t_us, confidence in rows
    ]
    return [*before[:-1], incident]


def stored_backdrop(client: Client, database: str, incident: Incident) -> Backdrop:
    """What the tables hold of the time around the incident."""
    begin = incident.onset_us - LEAD_S * SECOND_US
    last = incident.resolved_us or incident.t_us
    end = min(max(last, incident.onset_us) + TAIL_S * SECOND_US, begin + LONGEST_S * SECOND_US)
    backdrop = backdrop_from(begin)
    ask = _Question(
        client, database, {"fabric": incident.fabric, "jobs": list(incident.jobs), "begin": begin, "end": end}
    )
    _add_trains(backdrop, ask)
    _add_queues(backdrop, ask)
    _add_maps(backdrop, ask)
    _add_skeletons(backdrop, ask, incident)
    return backdrop


class _Question:
    """Queries about one span of one fabric."""

    def __init__(self, client: Client, database: str, about: dict[str, Any]) -> None:
        self.client, self.database, self.about = client, database, about

    def rows(self, query: str, more: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """The rows of a query in which ``DB.`` stands before tables."""
        asked = query.replace("DB.", f"{self.database}.")
        found = self.client.query(asked, parameters={**self.about, **(more or {})}).result_rows
        return [tuple(row) for row in found]


IN_SPAN = "fabric = {fabric:String} AND t_us BETWEEN {begin:UInt64} AND {end:UInt64}"
OF_JOBS = "(empty({jobs:Array(String)}) OR has({jobs:Array(String)}, job))"


def _add_trains(backdrop: Backdrop, ask: _Question) -> None:
    query = f"""SELECT src, dst, t_us, sent, lost, rtt_us, path FROM DB.probe_results FINAL
        WHERE {IN_SPAN} AND {OF_JOBS} ORDER BY t_us DESC LIMIT {MOST_TRAINS}"""
    for src, dst, t_us, sent, lost, rtt_us, path in reversed(ask.rows(query)):
        backdrop.series.add_train((src, dst), t_us, (sent, lost), rtt_us)
        if path:
            backdrop.paths.setdefault((src, dst), {})[tuple(path)] = None


def _add_queues(backdrop: Backdrop, ask: _Question) -> None:
    second = f"intDiv(t_us - {{begin:UInt64}}, {SECOND_US}) AS second"
    query = f"""SELECT concat(switch, '/', port), {second}, max(depth_bytes)
        FROM DB.switch_queues FINAL WHERE {IN_SPAN} AND depth_bytes IS NOT NULL GROUP BY switch, port, second
        ORDER BY switch, port, second"""
    for port, second, depth in ask.rows(query):
        backdrop.depths.setdefault(port, {})[second] = depth


def _add_maps(backdrop: Backdrop, ask: _Question) -> None:
    nodes = ask.rows(_newest("fabric_nodes", "node, kind"))
    links = ask.rows(_newest("fabric_links", "link, a, b"))
    fabric = str(ask.about["fabric"])
    if nodes:
        backdrop.fabrics[fabric] = FabricMap(
            v=1,
            t_us=0,
            producer=derived_producer("report", fabric, 0),
            clock=DERIVED_CLOCK,
            fabric=fabric,
            version=0,
            nodes=tuple(Node(id=name, kind=kind) for name, kind in nodes),
            links=tuple(Link(id=name, a=a, b=b) for name, a, b in links),
            ecmp=Ecmp(method="traced"),
        )
    columns = "endpoint, container, host, rnic, rail, switch_port, endpoint_state"
    query = f"""SELECT {columns} FROM DB.endpoint_map FINAL WHERE fabric = {{fabric:String}} AND {OF_JOBS}
        ORDER BY version DESC LIMIT 1 BY endpoint"""
    for name, container, host, rnic, rail, switch_port, state in ask.rows(query):
        backdrop.endpoints[name] = Endpoint(
            endpoint=name, container=container, host=host, rnic=rnic, rail=rail, switch_port=switch_port, state=state
        )


def _newest(table: str, columns: str) -> str:
    """The rows of the newest map of the fabric."""
    newest = f"SELECT max(version) FROM DB.{table} WHERE fabric = {{fabric:String}}"
    return (
        f"SELECT {columns} FROM DB.{table} FINAL WHERE fabric = {{fabric:String}} AND version = ({newest}) ORDER BY ALL"
    )


EDGES = """SELECT a, b, kind FROM DB.skeleton_edges FINAL WHERE job = {job:String} AND version = {version:UInt64}
    ORDER BY a, b, kind"""


def _add_skeletons(backdrop: Backdrop, ask: _Question, incident: Incident) -> None:
    columns = (
        "job, skeleton, version, endpoint_map_version, state, confidence, coverage, period_s, `groups`, tp, pp, dp, ep"
    )
    query = f"""SELECT {columns} FROM DB.skeletons FINAL WHERE fabric = {{fabric:String}} AND {OF_JOBS}
        AND t_us <= {{end:UInt64}} ORDER BY version DESC LIMIT 1 BY job"""
    for row in ask.rows(query):
        job, skeleton, version, map_version, state, confidence, coverage, period_s, groups, *degrees = row
        edges = ask.rows(EDGES, {"job": job, "version": version})
        wire = {
            "v": 1,
            "t_us": incident.t_us,
            "producer": msgspec.to_builtins(derived_producer("report", incident.fabric, 0)),
            "clock": msgspec.to_builtins(DERIVED_CLOCK),
            "fabric": incident.fabric,
            "job": job,
            "skeleton": skeleton,
            "version": version,
            "supersedes": None,
            "endpoint_map_version": map_version,
            "state": state,
            "confidence": confidence,
            "coverage": coverage,
            "period_s": period_s,
            "groups": orjson.loads(groups),
            "edges": [list(edge) for edge in edges],
            "parallelism": dict(zip(("tp", "pp", "dp", "ep"), degrees, strict=True)),
            "reason": "",
            "evidence": {},
        }
        backdrop.skeletons[job] = msgspec.convert(wire, SkeletonUpdate)
