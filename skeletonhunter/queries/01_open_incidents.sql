-- section Incidents
-- What is broken now?
-- Every incident that is not over, the surest first, with what to do about it.
-- column incident: id, for the queries below and for `explain` and `report`
-- column kind: a fault of the network, congestion, or a trouble of the monitor itself
-- column issue: which of the nineteen issues; null = not known
-- column component: who is to blame; null = nobody is named yet
-- column confidence: how sure, 0 to 1
-- column onset: when it began
-- column open_for_s: seconds from the onset to the newest message of any incident
-- column jobs: jobs that it touches
-- column endpoints: how many endpoints it touches
-- column action: what to do
-- column target: to which component
SELECT
    incident, kind, issue, component, round(confidence, 3) AS confidence, onset_time AS onset,
    (toInt64((SELECT max(t_us) FROM incidents)) - toInt64(onset_us)) / 1e6 AS open_for_s,
    jobs, length(endpoints) AS endpoints, action_kind AS action, action_target AS target
FROM incidents_current
WHERE state != 'resolved'
ORDER BY incidents_current.confidence DESC, incident
