"""The dashboard of the fleet: what is broken now, what broke, and what breaks again and again."""

from __future__ import annotations

from skeletonhunter.reference.panels import Board, Panel, stat

FLEET = Board(
    uid="skeletonhunter-fleet",
    title="SkeletonHunter: fleet",
    description="What is broken in the networks of the training clusters, and what breaks again and again.",
    choices=(),
    since="now-24h",
    panels=(
        stat(
            "Open network faults",
            "SELECT count() AS faults FROM incidents_current\nWHERE kind = 'network_fault' AND state != 'resolved'",
        ),
        stat(
            "Faults in this time",
            "SELECT count() AS faults FROM incidents_current\n"
            "WHERE kind = 'network_fault' AND $__timeFilter(onset_time)",
        ),
        stat(
            "Onset to blame, median",
            "SELECT median(detection_delay_s + localization_delay_s) AS delay_s FROM incidents_current\n"
            "WHERE localized_us IS NOT NULL AND $__timeFilter(onset_time)",
            unit="s",
        ),
        stat(
            "Jobs that run",
            "SELECT count() AS jobs FROM\n(\n    SELECT job, argMax(state, (version, t_us)) AS state FROM "
            "job_states GROUP BY job\n)\n"
            "WHERE state = 'running'",
        ),
        Panel(
            title="Incidents",
            look="table",
            width=24,
            height=9,
            sql="SELECT onset_time, state, kind, issue, component, round(confidence, 2) AS sure, symptom,\n"
            "    action_kind AS action, action_target, jobs, length(endpoints) AS endpoint_count, resolved_time, "
            "incident\n"
            "FROM incidents_current\nWHERE $__timeFilter(onset_time)\nORDER BY onset_us DESC",
        ),
        Panel(
            title="Pairs with an anomaly",
            look="timeseries",
            width=12,
            height=8,
            description="Anomalies that were opened, by symptom.",
            sql="SELECT $__timeInterval(onset_time) AS time, symptom, uniqExact(anomaly) AS pairs\n"
            "FROM anomalies FINAL\nWHERE state = 'open' AND $__timeFilter(onset_time)\n"
            "GROUP BY time, symptom\nORDER BY time",
        ),
        Panel(
            title="Faults by issue",
            look="table",
            width=12,
            height=8,
            sql="SELECT ifNull(issue, 'not known') AS issue, count() AS faults, countIf(state != 'resolved') AS open,\n"
            "    round(avg(confidence), 2) AS mean_confidence, uniqExact(component) AS components\n"
            "FROM faults\nWHERE $__timeFilter(onset_time)\nGROUP BY issue\nORDER BY faults DESC",
        ),
        Panel(
            title="Parts that broke most",
            look="table",
            width=12,
            height=8,
            description="Of all time that is kept.",
            sql="SELECT component, component_class, faults, open, confirmed, fixed, issues, last_onset\n"
            "FROM component_failures\nORDER BY faults DESC, last_onset DESC\nLIMIT 20",
        ),
        Panel(
            title="How good the alarms are",
            look="table",
            width=12,
            height=8,
            description="By the operators' feedback; a share without a denominator is empty.",
            sql="SELECT fabric, alarms, judged, precision, recall, localization_accuracy, missed FROM alarm_quality",
        ),
        Panel(
            title="Jobs that a fault touched, by month",
            look="table",
            width=12,
            height=8,
            sql="SELECT month, fabric, jobs, failed_jobs, faults, round(failure_rate, 4) AS failure_rate,\n"
            "    round(change, 3) AS change\nFROM monthly_failure_rate\nORDER BY month DESC, fabric\nLIMIT 24",
        ),
        Panel(
            title="Switch ports that drop most",
            look="table",
            width=12,
            height=8,
            description="Rise of the counters in this time; a counter that was set back counts from there.",
            sql="SELECT switch_port, max(dropped) - min(dropped) AS dropped, max(crc_errors) - min(crc_errors) AS "
            "crc_errors,\n"
            "    max(ecn_marked) - min(ecn_marked) AS ecn_marked, max(depth_bytes) AS deepest_bytes\n"
            "FROM switch_queues\nWHERE $__timeFilter(time)\nGROUP BY switch_port\n"
            "ORDER BY dropped DESC, crc_errors DESC, deepest_bytes DESC\nLIMIT 20",
        ),
    ),
)
