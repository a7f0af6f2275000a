"""The dashboard of the monitor itself: is it blind anywhere, and does it harm anybody?"""

from __future__ import annotations

from skeletonhunter.reference.panels import Board, Panel, stat

MONITOR = Board(
    uid="skeletonhunter-monitor",
    title="SkeletonHunter: monitor health",
    description="Agents, clocks, data that is missing, late or refused, what probing costs, and whether alerts get "
    "through.",
    choices=(),
    panels=(
        stat(
            "Troubles of the monitor",
            "SELECT count() AS troubles FROM incidents_current\nWHERE $__timeFilter(onset_time)\n"
            "    AND kind IN ('agent_missing', 'agent_starved', 'clock_bad', 'collector_gap')",
            description="Silent or starved agents, bad clocks, gaps in the data: what they cover is not judged.",
        ),
        stat(
            "Agents heard of",
            "SELECT uniqExact(agent) AS agents FROM agent_health\nWHERE $__timeFilter(time)",
        ),
        stat(
            "Processor time of an agent, highest",
            "SELECT max(cpu_percent) AS cpu_percent FROM agent_health\nWHERE $__timeFilter(time)",
            unit="percent",
            description="Percent of one core.",
        ),
        stat(
            "Memory of an agent, highest",
            "SELECT max(rss_bytes) AS rss_bytes FROM agent_health\nWHERE $__timeFilter(time)",
            unit="bytes",
        ),
        Panel(
            title="Agents, by state",
            look="timeseries",
            width=12,
            height=8,
            sql="SELECT $__timeInterval(time) AS time, state, uniqExact(agent) AS agents\n"
            "FROM agent_health FINAL\nWHERE $__timeFilter(time)\nGROUP BY time, state\nORDER BY time",
        ),
        Panel(
            title="Clocks: bound of the error, worst",
            look="timeseries",
            width=12,
            height=8,
            unit="µs",
            sql="SELECT $__timeInterval(time) AS time, clock_source, max(clock_error_us) AS error_us\n"
            "FROM agent_health FINAL\nWHERE $__timeFilter(time)\nGROUP BY time, clock_source\nORDER BY time",
        ),
        Panel(
            title="Agents that were heard longest ago",
            look="table",
            width=12,
            height=8,
            sql="SELECT agent, argMax(host, t_us) AS host, argMax(state, t_us) AS state, max(time) AS last_heard,\n"
            "    round(max(cpu_percent), 2) AS most_cpu_percent, max(dropped) AS dropped,\n"
            "    round(max(send_lag_us) / 1000, 1) AS most_lag_ms\n"
            "FROM agent_health FINAL\nWHERE $__timeFilter(time)\nGROUP BY agent\nORDER BY last_heard\nLIMIT 20",
        ),
        Panel(
            title="What became of probes",
            look="timeseries",
            width=12,
            height=8,
            description="Trains a second, by outcome: what could not be sent says nothing of the network.",
            sql="SELECT $__timeInterval(time) AS time, outcome, count() AS trains\n"
            "FROM probe_results FINAL\nWHERE $__timeFilter(time)\nGROUP BY time, outcome\nORDER BY time",
        ),
        Panel(
            title="Trouble of the monitor",
            look="table",
            width=12,
            height=8,
            sql="SELECT onset_time, state, kind, component, round(confidence, 2) AS sure, resolved_time, incident\n"
            "FROM incidents_current\nWHERE kind IN ('agent_missing', 'agent_starved', 'clock_bad', 'collector_gap')\n"
            "    AND $__timeFilter(onset_time)\nORDER BY onset_us DESC\nLIMIT 50",
        ),
        Panel(
            title="From event to row",
            look="timeseries",
            width=12,
            height=8,
            unit="s",
            description="Arrival in Kafka less event time of heartbeats: clocks, the way, and spools that are emptied.",
            sql="SELECT $__timeInterval(time) AS time,\n"
            "    median((toInt64(arrival_us) - toInt64(t_us)) / 1e6) AS median_s,\n"
            "    max((toInt64(arrival_us) - toInt64(t_us)) / 1e6) AS longest_s\n"
            "FROM agent_health FINAL\nWHERE $__timeFilter(time)\nGROUP BY time\nORDER BY time",
        ),
        Panel(
            title="Probe plans",
            look="table",
            width=12,
            height=8,
            sql="SELECT job, max(time) AS planned, argMax(mode, t_us) AS mode, argMax(probes, t_us) AS probes,\n"
            "    round(argMax(round_s, t_us), 2) AS round_s, round(argMax(lower_bound_s, t_us), 2) AS lower_bound_s,\n"
            "    round(argMax(link_coverage, t_us), 3) AS link_coverage\n"
            "FROM probe_plans FINAL\nWHERE $__timeFilter(time)\nGROUP BY job\nORDER BY job\nLIMIT 100",
        ),
        Panel(
            title="Records that could not be used",
            look="table",
            width=12,
            height=8,
            sql="SELECT topic, reason, count() AS records, max(time) AS last, any(detail) AS for_example\n"
            "FROM dead_letters FINAL\nWHERE $__timeFilter(time)\nGROUP BY topic, reason\nORDER BY records DESC",
        ),
        Panel(
            title="Alerts",
            look="table",
            width=24,
            height=7,
            description="What became of what was to be told; a target that fails wakes nobody.",
            sql="SELECT target, outcome, count() AS tellings, sum(attempts) AS attempts, max(time) AS last,\n"
            "    argMax(why, t_us) AS last_reason\nFROM alert_deliveries FINAL\nWHERE $__timeFilter(time)\n"
            "GROUP BY target, outcome\nORDER BY target, outcome",
        ),
    ),
)
