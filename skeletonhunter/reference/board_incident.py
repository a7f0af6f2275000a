"""The dashboard of one incident: what, where, how sure, why, what to do, and what its pairs saw."""

from __future__ import annotations

from skeletonhunter.reference.panels import INCIDENT, Board, Panel, stat

_OF = "FROM incidents_current\nWHERE incident = '$incident'"

INCIDENT_BOARD = Board(
    uid="skeletonhunter-incident",
    title="SkeletonHunter: incident",
    description="One incident: the blame and its reasoning, evidence, the measurements of the pairs that suffered.",
    choices=(INCIDENT,),
    panels=(
        stat("Blamed", f"SELECT ifNull(component, 'nobody') AS component {_OF}", unit="string"),
        stat("What it is", f"SELECT ifNull(issue, kind) AS issue {_OF}", unit="string"),
        stat("How sure", f"SELECT confidence {_OF}", unit="percentunit"),
        stat("State", f"SELECT state {_OF}", unit="string"),
        Panel(
            title="What to do",
            look="table",
            width=24,
            height=4,
            sql="SELECT action_kind AS action, action_target AS target, action_why AS why, onset_time, "
            "resolved_time, jobs,\n"
            f"    length(endpoints) AS endpoint_count, symptom\n{_OF}",
        ),
        Panel(
            title="How it went",
            look="table",
            width=24,
            height=6,
            sql="SELECT step, time, state, kind, component, round(confidence, 2) AS sure, since_onset_s,\n"
            "    previous_component\nFROM incident_timeline\nWHERE incident = '$incident'\nORDER BY step",
        ),
        Panel(
            title="RTT of its pairs",
            look="timeseries",
            width=12,
            height=8,
            unit="µs",
            description="Of the pairs with an endpoint that suffered, and of all others of these jobs.",
            sql="WITH (SELECT endpoints FROM incidents_current WHERE incident = '$incident') AS hurt,\n"
            "    (SELECT jobs FROM incidents_current WHERE incident = '$incident') AS of_jobs\n"
            "SELECT $__timeInterval(time) AS time, medianIf(rtt_us, has(hurt, src) OR has(hurt, dst)) AS "
            "its_pairs_us,\n"
            "    medianIf(rtt_us, NOT (has(hurt, src) OR has(hurt, dst))) AS others_us\n"
            "FROM pair_rtt\nWHERE has(of_jobs, job) AND $__timeFilter(time)\nGROUP BY time\nORDER BY time",
        ),
        Panel(
            title="Loss of its pairs",
            look="timeseries",
            width=12,
            height=8,
            unit="percentunit",
            sql="WITH (SELECT endpoints FROM incidents_current WHERE incident = '$incident') AS hurt,\n"
            "    (SELECT jobs FROM incidents_current WHERE incident = '$incident') AS of_jobs\n"
            "SELECT $__timeInterval(time) AS time,\n"
            "    sumIf(lost, has(hurt, src) OR has(hurt, dst)) / nullIf(sumIf(sent, has(hurt, src) OR has(hurt, "
            "dst)), 0)\n"
            "        AS its_pairs,\n"
            "    sumIf(lost, NOT (has(hurt, src) OR has(hurt, dst)))\n"
            "        / nullIf(sumIf(sent, NOT (has(hurt, src) OR has(hurt, dst))), 0) AS others\n"
            "FROM pair_rtt\nWHERE has(of_jobs, job) AND $__timeFilter(time)\nGROUP BY time\nORDER BY time",
        ),
        Panel(
            title="Why: the reasoning",
            look="table",
            width=24,
            height=10,
            sql="SELECT pass, test, result, detail, verdict, reason\nFROM localization_steps FINAL\n"
            "WHERE incident = '$incident'\n"
            "    AND seq = (SELECT argMax(seq, (t_us, seq)) FROM incidents FINAL WHERE incident = '$incident')\n"
            "ORDER BY pass_no, test_no",
        ),
        Panel(
            title="Evidence",
            look="table",
            width=12,
            height=8,
            sql="SELECT topic, fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC') AS time, "
            "text, ref\n"
            "FROM\n(\n    SELECT evidence_topics, evidence_t_us, evidence_refs, evidence_texts\n"
            "    FROM incidents_current\n    WHERE incident = '$incident'\n)\n"
            "ARRAY JOIN evidence_topics AS topic, evidence_t_us AS t_us, evidence_refs AS ref, evidence_texts AS text\n"
            "ORDER BY time",
        ),
        Panel(
            title="Other candidates",
            look="table",
            width=12,
            height=8,
            sql="SELECT candidate, round(score, 3) AS score\n"
            "FROM\n(\n    SELECT candidate_components, candidate_scores FROM incidents_current WHERE incident = "
            "'$incident'\n)\n"
            "ARRAY JOIN candidate_components AS candidate, candidate_scores AS score\nORDER BY score DESC",
        ),
        Panel(
            title="Warnings of devices meanwhile",
            look="table",
            width=12,
            height=8,
            sql="SELECT time, device, event, severity, text\nFROM device_events FINAL\n"
            "WHERE $__timeFilter(time)\n"
            "    AND t_us BETWEEN (SELECT min(onset_us) - 60000000 FROM incidents WHERE incident = '$incident')\n"
            "        AND (SELECT max(t_us) + 60000000 FROM incidents WHERE incident = '$incident')\n"
            "ORDER BY time\nLIMIT 200",
        ),
        Panel(
            title="Who was told",
            look="table",
            width=12,
            height=8,
            sql="SELECT time, target, state, severity, outcome, why, attempts\nFROM alert_deliveries FINAL\n"
            "WHERE has(incidents, '$incident')\nORDER BY time, seq\nLIMIT 200",
        ),
    ),
)
