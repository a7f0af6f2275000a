-- section Incidents
-- What happened in an incident, and when?
-- Every state that it went through.
-- parameter incident String: the incident
-- column step: 1, 2, 3 ...
-- column since_onset_s: seconds after the onset
-- column state: open, updated or resolved
-- column issue: what was blamed then
-- column component: who was blamed then
-- column confidence: how sure
-- column action: what to do then
SELECT step, since_onset_s, state, issue, component, round(confidence, 3) AS confidence, action_kind AS action
FROM incident_timeline
WHERE incident = {incident:String}
ORDER BY step
