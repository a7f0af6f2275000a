-- Answers to the first questions. Views read with FINAL, so an answer is right before rows that came twice are merged.

CREATE OR REPLACE VIEW incidents_current AS
SELECT
    incident, fabric, state, kind, issue, component, component_class, confidence,
    candidates.component AS candidate_components, candidates.score AS candidate_scores,
    jobs, endpoints, symptom,
    onset_us, detected_us, localized_us, resolved_us,
    onset_time, detected_time, localized_time, resolved_time,
    (toInt64(detected_us) - toInt64(onset_us)) / 1e6 AS detection_delay_s,
    (toInt64(localized_us) - toInt64(detected_us)) / 1e6 AS localization_delay_s,
    action_kind, action_target, action_why,
    evidence.topic AS evidence_topics, evidence.t_us AS evidence_t_us,
    evidence.ref AS evidence_refs, evidence.text AS evidence_texts,
    trace, t_us, time, seq
FROM incidents FINAL
ORDER BY t_us DESC, seq DESC
LIMIT 1 BY incident
COMMENT 'Each incident as it stands now: its newest state.';

CREATE OR REPLACE VIEW incident_timeline AS
SELECT
    incident, fabric, t_us, time, seq,
    row_number() OVER told AS step,
    state,
    kind, issue, component, component_class, confidence, symptom,
    lagInFrame(toNullable(state)) OVER told AS previous_state,
    lagInFrame(toNullable(component)) OVER told AS previous_component,
    lagInFrame(toNullable(confidence)) OVER told AS previous_confidence,
    (toInt64(t_us) - toInt64(onset_us)) / 1e6 AS since_onset_s,
    onset_us, detected_us, localized_us, resolved_us,
    action_kind, action_target, jobs, length(endpoints) AS endpoint_count
FROM incidents FINAL
WINDOW told AS (PARTITION BY incident ORDER BY t_us, seq ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
ORDER BY incident, t_us, seq
COMMENT 'Every state that an incident went through, in order, with what it was before.';

CREATE OR REPLACE VIEW feedback_current AS
SELECT fabric, incident, verdict, was, fixed, text, t_us, time
FROM operator_feedback FINAL
ORDER BY t_us DESC, seq DESC
LIMIT 1 BY incident
COMMENT 'The last word of the operators on each incident.';

CREATE OR REPLACE VIEW alarm_quality AS
SELECT
    fabric,
    countIf(raised) AS alarms,
    countIf(raised AND verdict != '') AS judged,
    countIf(raised AND verdict = 'right') AS right,
    countIf(raised AND verdict = 'component') AS wrong_component,
    countIf(raised AND verdict = 'wrong') AS false_alarms,
    countIf(NOT raised) AS missed,
    if(judged = 0, NULL, (right + wrong_component) / judged) AS precision,
    if(right + wrong_component + missed = 0, NULL, (right + wrong_component) / (right + wrong_component + missed))
        AS recall,
    if(right + wrong_component = 0, NULL, right / (right + wrong_component)) AS localization_accuracy
FROM
(
    SELECT
        incident,
        argMax(told_fabric, is_alarm) AS fabric,
        max(is_alarm) AS raised,
        anyIf(told, is_alarm) AS alarm_kind,
        anyIf(told, NOT is_alarm) AS verdict,
        max(named) AS named_cause
    FROM
    (
        SELECT true AS is_alarm, incident, fabric AS told_fabric, kind AS told, false AS named FROM incidents_current
        UNION ALL
        SELECT false AS is_alarm, incident, fabric AS told_fabric, verdict AS told, was IS NOT NULL AS named
        FROM feedback_current
    )
    GROUP BY incident
)
WHERE if(raised, alarm_kind = 'network_fault', named_cause)
GROUP BY fabric
COMMENT 'How good network-fault alarms are, by feedback. Feedback on an incident that was never raised, if it names what it
was, is a missed fault.';

CREATE OR REPLACE VIEW faults AS
SELECT
    alarm.incident AS incident, alarm.fabric AS fabric, alarm.state AS state, alarm.issue AS issue,
    if(ifNull(answer.verdict, '') = 'component', answer.was, alarm.component) AS component,
    if(ifNull(answer.verdict, '') = 'component', NULL, alarm.component_class) AS component_class,
    alarm.confidence AS confidence, alarm.jobs AS jobs, alarm.endpoints AS endpoints,
    alarm.onset_us AS onset_us, alarm.onset_time AS onset_time, alarm.resolved_time AS resolved_time,
    ifNull(answer.verdict, '') AS verdict,
    ifNull(answer.fixed, false) AS fixed
FROM incidents_current AS alarm
LEFT JOIN feedback_current AS answer ON alarm.incident = answer.incident
WHERE alarm.kind = 'network_fault' AND ifNull(answer.verdict, '') != 'wrong'
COMMENT 'Network faults that nobody called false, with the component that the operators named where they know better.';

CREATE OR REPLACE VIEW component_failures AS
SELECT
    fabric, component,
    anyLast(component_class) AS component_class,
    count() AS faults,
    countIf(state != 'resolved') AS open,
    countIf(verdict IN ('right', 'component')) AS confirmed,
    countIf(fixed) AS fixed,
    arraySort(groupUniqArray(assumeNotNull(issue))) AS issues,
    length(groupUniqArrayArray(jobs)) AS jobs,
    length(groupUniqArrayArray(endpoints)) AS endpoints,
    avg(confidence) AS mean_confidence,
    min(onset_time) AS first_onset,
    max(onset_time) AS last_onset
FROM faults
WHERE component IS NOT NULL
GROUP BY fabric, component
COMMENT 'How often each component broke, what it touched, and whether it has been repaired.';

CREATE OR REPLACE VIEW monthly_failure_rate AS
SELECT
    fabric, month,
    uniqExactIf(job, job != '') AS jobs,
    uniqExactIf(job, job != '' AND incident != '') AS failed_jobs,
    uniqExactIf(incident, incident != '') AS faults,
    failed_jobs / nullIf(jobs, 0) AS failure_rate,
    failure_rate / nullIf(lagInFrame(toNullable(failure_rate)) OVER (PARTITION BY fabric ORDER BY month
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), 0) - 1 AS change
FROM
(
    SELECT fabric, toStartOfMonth(time) AS month, job, '' AS incident
    FROM job_states FINAL
    UNION ALL
    SELECT fabric, toStartOfMonth(onset_time) AS month, arrayJoin(if(empty(jobs), [''], jobs)) AS job, incident
    FROM faults
)
GROUP BY fabric, month
COMMENT 'Share of the jobs heard of in a month that a network fault touched, and its change from the month before.';

CREATE OR REPLACE VIEW pair_rtt AS
SELECT
    fabric, job, src, dst,
    window_end_us,
    fromUnixTimestamp64Micro(toInt64(least(window_end_us, 10413791999999999)), 'UTC') AS time,
    trains, not_sent, not_ready,
    probes AS sent,
    unanswered AS lost,
    if(probes = 0, NULL, unanswered / probes) AS loss,
    samples,
    if(samples = 0, NULL, quantiles[1]) AS rtt_us,
    if(samples = 0, NULL, quantiles[2]) AS rtt_p99_us,
    if(samples = 0, NULL, least_rtt) AS rtt_min_us,
    if(samples = 0, NULL, greatest_rtt) AS rtt_max_us
FROM
(
    SELECT
        fabric, job, src, dst,
        intDiv(t_us + 999999, 1000000) * 1000000 AS window_end_us,
        count() AS trains,
        countIf(outcome = 'not_sent') AS not_sent,
        countIf(outcome = 'target_not_ready') AS not_ready,
        sum(sent) AS probes,
        sum(lost) AS unanswered,
        sum(length(rtt_us)) AS samples,
        quantilesExactInclusiveArray(0.5, 0.99)(rtt_us) AS quantiles,
        minArray(rtt_us) AS least_rtt,
        maxArray(rtt_us) AS greatest_rtt
    FROM probe_results FINAL
    GROUP BY fabric, job, src, dst, window_end_us
) AS windows
COMMENT 'Loss and RTT of each probed pair, second by second; a second is named by its end.';
