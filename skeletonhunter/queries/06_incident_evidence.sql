-- section Incidents
-- Which facts does an incident rest on?
-- The evidence of its newest state, and where to find it.
-- parameter incident String: the incident
-- column topic: topic that the fact came from
-- column time: when
-- column since_onset_s: seconds after the onset
-- column ref: what it is about: a component, an anomaly, a flow
-- column text: the fact in words
SELECT
    topic,
    fromUnixTimestamp64Micro(toInt64(at_us), 'UTC') AS time,
    (toInt64(at_us) - toInt64(onset_us)) / 1e6 AS since_onset_s,
    ref, text
FROM incidents_current
ARRAY JOIN evidence_topics AS topic, evidence_t_us AS at_us, evidence_refs AS ref, evidence_texts AS text
WHERE incident = {incident:String}
ORDER BY at_us, topic, ref
