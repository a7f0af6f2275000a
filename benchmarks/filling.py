"""A fleet's rows for ``clickhouse_queries.py``, made inside ClickHouse by arithmetic from row numbers."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

PAIRS, ROUND_S, JOBS = 10_000, 8, 10
HOUR_US = 3_600_000_000
ENVELOPE = "'agent:' || host AS producer_id, 'host' AS producer_kind, 'b1' AS boot, 'ptp' AS clock_source"


@dataclass(frozen=True)
class Fleet:
    """How many probe rows, from when to when, and the parameters that queries are asked with."""

    rows: int
    begin: datetime
    end: datetime
    cores: int = len(os.sched_getaffinity(0))
    examples: dict[str, Any] = field(
        default_factory=lambda: {
            **{"fabric": "fab-1", "job": "job-3", "src": "c-3-0/r0", "dst": "c-3-0/r1", "host": "h-3"},
            **{"incident": "incident-7", "lead_s": 60, "silent_s": 30.0, "deep_bytes": 100_000},
        }
    )

    @property
    def hours(self) -> float:
        """Length of the time."""
        return (self.end - self.begin).total_seconds() / 3600

    @property
    def begin_us(self) -> int:
        """Begin, us since the epoch."""
        return int(self.begin.timestamp()) * 1_000_000

    @classmethod
    def of(cls, client: Client, rows: int, now: datetime) -> Fleet:
        """The fleet that is in the database already, else one that ends at the last full hour."""
        [[count, first, last]] = client.query("SELECT count(), min(time), max(time) FROM probe_results").result_rows
        if count:
            return cls(count, first, last)
        end = now.replace(minute=0, second=0, microsecond=0)
        return cls(rows, end - timedelta(seconds=rows / PAIRS * ROUND_S), end)


def fill_probes(client: Client, fleet: Fleet, say: Callable[[str], None]) -> None:
    """Probe results, an insert for each hour; of 50 trains one loses some probes, of 5,000 one all."""
    per_hour = PAIRS * 3600 // ROUND_S
    for first in range(0, fleet.rows, per_hour):
        client.command(
            f"""INSERT INTO probe_results (t_us, fabric, job, tenant, src, dst, plan_version, kind, outcome, sent, lost,
                rtt_us, prober_delay_us, responder_delay_us, sport, path, producer_id, producer_kind, boot, seq, item,
                clock_source, clock_offset_us, clock_error_us, arrival_us, inserted_at)
            WITH number % {PAIRS} AS pair, intDiv(number, {PAIRS}) AS round, pair % {JOBS} AS of_job,
                intDiv(pair, {JOBS}) AS own, intDiv(own, 10) AS source, cityHash64(number) AS dice,
                {fleet.begin_us} + round * {ROUND_S * 1_000_000} + (cityHash64(pair) % 7000000) AS at_us
            SELECT at_us, 'fab-1', 'job-' || toString(of_job), 'tenant-' || toString(of_job % 4),
                concat('c-', toString(of_job), '-', toString(intDiv(source, 8)), '/r', toString(source % 8)),
                concat('c-', toString(of_job), '-', toString((intDiv(source, 8) + own % 10) % 13), '/r',
                    toString((source + 1) % 8)),
                3, 'rdma', multiIf(dice % 5000 = 0, 'lost', dice % 20011 = 0, 'not_sent', 'reply') AS what,
                if(what = 'not_sent', 0, 1000),
                multiIf(what = 'lost', 1000, what = 'reply' AND dice % 50 = 0, 1 + dice % 9, 0),
                if(what = 'reply', arrayMap(i -> round(12 + (cityHash64(number, i) % 100) / 20, 1), [1, 2, 3]), []),
                round(1 + (dice % 17) / 10, 1), round(1 + (dice % 13) / 10, 1), 49152 + pair % 16000,
                ['l' || toString(source), 'u' || toString(own % 320), 'd' || toString((own * 7) % 320),
                    'l' || toString((source + 1) % 104)],
                concat('agent:c-', toString(of_job), '-', toString(intDiv(source, 8)), '/probe-results'),
                'probing-agent',
                'b1', round * 8 + source % 8, own % 10, 'ptp', 1.5, 10., at_us + 900000 + dice % 100000,
                toDateTime(intDiv(at_us, 1000000) + 1, 'UTC')
            FROM numbers({first}, {min(per_hour, fleet.rows - first)})"""
        )
        say(f"{min(first + per_hour, fleet.rows):,} probe rows")


def fill(client: Client, fleet: Fleet) -> None:
    """All other tables that the queries read."""
    for table, (columns, select, rows) in _others(fleet).items():
        client.command(
            f"INSERT INTO {table} ({columns}, fabric, producer_id, producer_kind, boot, seq, item, clock_source, "
            f"clock_offset_us, clock_error_us, arrival_us) WITH {fleet.begin_us} AS t0 SELECT {select}, 'fab-1', 'p', "
            f"'host', 'b1', number, 0, 'ptp', 1.5, 10., t_us + 20000 + cityHash64(number) % 9000 FROM numbers({rows})"
        )


def _others(fleet: Fleet) -> dict[str, tuple[str, str, int]]:
    """Columns, expressions of ``number`` and ``t0``, and how many rows, by table."""
    seconds = int(fleet.hours * 3600)
    job, container = "'job-' || toString(number % 10)", "'c-' || toString(number % 10) || '-' || toString({0} % 13)"
    endpoint = f"{container.format('intDiv(number, 10)')} || '/r' || toString(intDiv(number, 130) % 8)"
    port = "'s-' || toString(number % 40) AS switch, toString(intDiv(number, 40) % 32) AS port"
    spoke = "'agent-' || toString(number % 130), 'h-' || toString(number % 130), 'ok'"
    return {
        "agent_health": (
            "t_us, agent, host, state, cpu_percent, rss_bytes, send_lag_us, dropped",
            f"t0 + intDiv(number, 130) * 10000000 AS t_us, {spoke}, 1 + (number % 9) / 10, "
            "33000000 + number % 1000000, 20000 + number % 10000, intDiv(number, 9000000)",
            130 * seconds // 10,
        ),
        "switch_queues": (
            "t_us, switch, port, queue, depth_bytes, ecn_marked, pfc_rx, pfc_tx, dropped, crc_errors",
            f"t0 + intDiv(number, 1280) * 20000000 AS t_us, {port}, '3', cityHash64(number) % 5000, number, 0, 0, "
            "intDiv(number, 500000), 0",
            1280 * seconds // 20,
        ),
        **_flows_and_jobs(job, endpoint, seconds),
        **_maps(job, container.format("intDiv(number, 10)"), seconds),
    }


def _flows_and_jobs(job: str, endpoint: str, seconds: int) -> dict[str, tuple[str, str, int]]:
    return {
        "flow_entries": (
            "t_us, host, `table`, complete, flow, at, next, src, dst, actions, offloaded, path",
            "t0 + intDiv(number, 130 * 40) * 300000000 AS t_us, 'h-' || toString(number % 130) AS host, 'vswitch', "
            "true, 'f-' || toString(intDiv(number, 130) % 40), 'vswitch:' || host, 'tunnel:' || host, 'a', 'b', "
            "'encap', "
            "cityHash64(number) % 3000 != 0, 'hardware'",
            130 * 40 * seconds // 300,
        ),
        "flow_snapshots": (
            "t_us, host, `table`, complete, flows",
            "t0 + intDiv(number, 130) * 300000000 AS t_us, 'h-' || toString(number % 130), 'vswitch', true, 40",
            130 * seconds // 300,
        ),
        "rnic_bursts": (
            "t_us, job, endpoint, start_us, bytes, direction",
            f"t0 + intDiv(number, 1040) * 20000000 AS t_us, {job}, {endpoint}, t_us - 1000000, 1000000 + "
            "number % 1000, 'tx'",
            1040 * seconds // 20,
        ),
        "job_progress": (
            "t_us, job, step, step_s",
            f"t0 + intDiv(number, 10) * 30000000 AS t_us, {job}, intDiv(number, 10), 30 + (number % 7) / 10",
            10 * seconds // 30,
        ),
    }


def _maps(job: str, container: str, seconds: int) -> dict[str, tuple[str, str, int]]:
    return {
        "endpoint_map": (
            "t_us, job, tenant, version, state, endpoint, container, host, rnic, rail, rank, switch_port, "
            "endpoint_state",
            f"t0 AS t_us, {job}, 't', 1, 'running', container || '/' || rnic, {container} AS container, "
            "'h-' || toString(number % 130), 'r' || toString(intDiv(number, 130) % 8) AS rnic, "
            "intDiv(number, 130) % 8, number, 's-1/1', 'ready'",
            1040,
        ),
        "job_states": (
            "t_us, job, tenant, version, state, endpoints",
            f"t0 AS t_us, {job}, 't', 1, 'running', 104",
            10,
        ),
        "fabric_links": (
            "t_us, version, link, a, b",
            "t0 AS t_us, 1, ['l', 'u', 'd'][1 + number % 3] || toString(intDiv(number, 3)), "
            "'s-' || toString(number % 40) || '/1', 's-' || toString((number + 1) % 40) || '/2'",
            960,
        ),
        **_conclusions(job, seconds),
    }


def _conclusions(job: str, seconds: int) -> dict[str, tuple[str, str, int]]:
    onset = f"t0 + number * {seconds * 1_000_000 // 2000} AS t_us"
    return {
        "skeletons": (
            "t_us, job, skeleton, version, state, confidence, coverage, edges",
            f"t0 + number AS t_us, {job}, 's', intDiv(number, 10), 'trusted', 0.9, 0.95, 1000",
            10_000,
        ),
        "probe_plans": (
            "t_us, job, plan, version, mode, round_s, probes, lower_bound_s, slots, probe.slot, probe.src, probe.dst, "
            "probe.sport",
            f"t0 + number AS t_us, {job}, 'p', intDiv(number, 10), 'skeleton', 8., 1000, 8., 100, "
            "arrayMap(i -> toUInt32(i / 10), range(1000)), arrayMap(i -> 'c-' || toString(i), range(1000)), "
            "arrayMap(i -> 'd-' || toString(i), range(1000)), arrayMap(i -> 49152, range(1000))",
            200,
        ),
        "device_events": (
            "t_us, device, event, severity, text",
            f"{onset}, 'rnic:h-' || toString(number % 130) || '/r1', 'port_down', 'error', 'down'",
            2000,
        ),
        "incidents": (
            "t_us, incident, state, kind, issue, component, component_class, confidence, jobs, symptom, onset_us, "
            "detected_us, localized_us, resolved_us, action_kind, evidence.topic, evidence.t_us, evidence.ref, "
            "evidence.text",
            f"{onset}, 'incident-' || toString(number % 1000), if(number < 1000, 'open', 'resolved'), 'network_fault', "
            "'crc_error', 'link:l' || toString(number % 97), 'switch', 0.9, [concat('job-', toString(number % 10))], "
            "'packet_loss', t0 + (number % 1000) * 1000000, t0 + (number % 1000) * 1000000 + 2000000, t_us, "
            "if(number < 1000, NULL, t_us), 'none', ['anomalies'], [t_us], ['a'], ['lost']",
            2000,
        ),
        "localization_steps": (
            "t_us, incident, pass_no, pass, verdict, test_no, test, result, detail",
            f"{onset}, 'incident-' || toString(number % 1000), 1, 'underlay', 'suspect', number, 'link', 'lossy', 'x'",
            20_000,
        ),
    }


MOMENTS = ("t_us", "arrival_us", "start_us", "onset_us", "detected_us", "localized_us", "resolved_us")
DATES = ("inserted_at", "source_at", "minute")
REPEATED = ("probe_results", "pair_minutes", "link_minutes", "outcome_minutes", "agent_health", "switch_queues")
REPEATED += ("flow_entries", "flow_snapshots", "rnic_bursts", "job_progress", "device_events")


def repeat(client: Client, fleet: Fleet, times: int, say: Callable[[str], None]) -> None:
    """Puts ``times`` copies of all that is measured, roll-ups too, before what is there, one before the other."""
    minutes = round(fleet.hours * 60)
    for table in REPEATED:
        columns = client.query(
            "SELECT name FROM system.columns WHERE database = currentDatabase() "
            f"AND table = '{table}' AND (default_kind = '' OR name = 'inserted_at')"
        ).result_rows
        names = [name for (name,) in columns]
        for copy in range(1, times + 1):
            moved = ", ".join(_moved(name, copy * minutes * 60) for name in names)
            source = f"(SELECT * FROM {table} WHERE {_of_now(table, fleet)})"
            quoted = ", ".join(f"`{name}`" for name in names)
            client.command(f"INSERT INTO {table} ({quoted}) SELECT {moved} FROM {source}")
        say(f"{table}: {times} copies")


def _moved(name: str, seconds: int) -> str:
    if name in MOMENTS:
        return f"`{name}` - {seconds * 1_000_000}"
    return f"`{name}` - {seconds}" if name in DATES else f"`{name}`"


def _of_now(table: str, fleet: Fleet) -> str:
    column = "minute" if table.endswith("_minutes") else "time"
    return f"{column} >= fromUnixTimestamp64Micro({fleet.begin_us - 60_000_000})"
