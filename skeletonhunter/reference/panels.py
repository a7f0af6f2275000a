"""What does the first Grafana dashboard ask ClickHouse? One query per panel, with the macros of its ClickHouse plug-in.

``$__timeFilter(column)`` and ``$__timeInterval(column)`` are the plug-in's; ``$job`` and ``$incident`` are chosen at
the top of the dashboard. Every query is run by a test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Look = Literal["stat", "table", "timeseries"]


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel at a place of Grafana's grid, 24 columns wide; ``unit`` is Grafana's name of it."""

    title: str
    look: Look
    x: int
    y: int
    width: int
    height: int
    sql: str
    unit: str = "short"
    description: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A variable at the top of the dashboard, and the query of its values."""

    name: str
    label: str
    sql: str


CHOICES = (
    Choice("job", "Job", "SELECT DISTINCT job FROM job_states ORDER BY job"),
    Choice(
        "incident",
        "Incident",
        "SELECT incident FROM incidents_current WHERE $__timeFilter(time) ORDER BY onset_us DESC LIMIT 200",
    ),
)

PANELS = (
    Panel(
        title="Open network faults",
        look="stat",
        x=0,
        y=0,
        width=6,
        height=4,
        sql="SELECT count() AS faults FROM incidents_current\nWHERE kind = 'network_fault' AND state != 'resolved'",
    ),
    Panel(
        title="Faults in this time",
        look="stat",
        x=6,
        y=0,
        width=6,
        height=4,
        sql="SELECT count() AS faults FROM incidents_current\n"
        "WHERE kind = 'network_fault' AND $__timeFilter(onset_time)",
    ),
    Panel(
        title="Onset to blame, median",
        look="stat",
        x=12,
        y=0,
        width=6,
        height=4,
        unit="s",
        sql="SELECT median(detection_delay_s + localization_delay_s) AS delay_s FROM incidents_current\n"
        "WHERE localized_us IS NOT NULL AND $__timeFilter(onset_time)",
    ),
    Panel(
        title="Troubles of the monitor",
        look="stat",
        x=18,
        y=0,
        width=6,
        height=4,
        description="Silent or starved agents, bad clocks, gaps in the data: what they cover is not judged.",
        sql="SELECT count() AS troubles FROM incidents_current\nWHERE state != 'resolved'\n"
        "AND kind IN ('agent_missing', 'agent_starved', 'clock_bad', 'collector_gap')",
    ),
    Panel(
        title="Incidents",
        look="table",
        x=0,
        y=4,
        width=24,
        height=8,
        sql="SELECT onset_time, state, kind, issue, component, round(confidence, 2) AS sure, symptom,\n"
        "    action_kind AS action, jobs, length(endpoints) AS endpoint_count, resolved_time, incident\n"
        "FROM incidents_current\nWHERE $__timeFilter(onset_time)\nORDER BY onset_us DESC",
    ),
    Panel(
        title="RTT of $job",
        look="timeseries",
        x=0,
        y=12,
        width=12,
        height=8,
        unit="µs",
        description="Median over all probed pairs, and the pair with the highest median.",
        sql="SELECT $__timeInterval(time) AS time, median(rtt_us) AS median_us, max(rtt_us) AS highest_us\n"
        "FROM pair_rtt\nWHERE job = '$job' AND $__timeFilter(time)\nGROUP BY time\nORDER BY time",
    ),
    Panel(
        title="Loss of $job",
        look="timeseries",
        x=12,
        y=12,
        width=12,
        height=8,
        unit="percentunit",
        description="Share of all probes that got no reply, and the pair with the highest share.",
        sql="SELECT $__timeInterval(time) AS time, sum(lost) / nullIf(sum(sent), 0) AS all_pairs,\n"
        "    max(loss) AS highest\nFROM pair_rtt\nWHERE job = '$job' AND $__timeFilter(time)\n"
        "GROUP BY time\nORDER BY time",
    ),
    Panel(
        title="Pairs with an anomaly",
        look="timeseries",
        x=0,
        y=20,
        width=12,
        height=8,
        description="Anomalies that were opened, by symptom.",
        sql="SELECT $__timeInterval(onset_time) AS time, symptom, uniqExact(anomaly) AS pairs\n"
        "FROM anomalies FINAL\nWHERE state = 'open' AND $__timeFilter(onset_time)\n"
        "GROUP BY time, symptom\nORDER BY time",
    ),
    Panel(
        title="Pairs of $job that suffer most",
        look="table",
        x=12,
        y=20,
        width=12,
        height=8,
        sql="SELECT src, dst, round(sum(lost) / nullIf(sum(sent), 0), 4) AS loss, round(median(rtt_us), 1) AS rtt,\n"
        "    round(max(rtt_max_us), 1) AS highest_rtt, sum(not_sent) AS not_sent\n"
        "FROM pair_rtt\nWHERE job = '$job' AND $__timeFilter(time)\nGROUP BY src, dst\n"
        "ORDER BY loss DESC, rtt DESC\nLIMIT 20",
    ),
    Panel(
        title="How $incident went",
        look="table",
        x=0,
        y=28,
        width=24,
        height=6,
        sql="SELECT step, time, state, kind, component, round(confidence, 2) AS sure, since_onset_s,\n"
        "    previous_component\nFROM incident_timeline\nWHERE incident = '$incident'\nORDER BY step",
    ),
    Panel(
        title="Why: the reasoning behind $incident",
        look="table",
        x=0,
        y=34,
        width=24,
        height=10,
        sql="SELECT pass, test, result, detail, verdict, reason\nFROM localization_steps FINAL\n"
        "WHERE incident = '$incident'\n"
        "    AND seq = (SELECT argMax(seq, (t_us, seq)) FROM incidents FINAL WHERE incident = '$incident')\n"
        "ORDER BY pass_no, test_no",
    ),
    Panel(
        title="Parts that broke most",
        look="table",
        x=0,
        y=44,
        width=12,
        height=8,
        sql="SELECT component, component_class, faults, open, confirmed, fixed, issues, last_onset\n"
        "FROM component_failures\nORDER BY faults DESC, last_onset DESC\nLIMIT 20",
    ),
    Panel(
        title="How good the alarms are",
        look="table",
        x=12,
        y=44,
        width=12,
        height=8,
        description="By the operators' feedback; a share without a denominator is empty.",
        sql="SELECT fabric, alarms, judged, precision, recall, localization_accuracy, missed FROM alarm_quality",
    ),
)
