-- section Skeletons and plans
-- How well does the skeleton explain the traffic of a job over time?
-- One row per version.
-- parameter job String: the job
-- column time: when it was concluded
-- column version: version
-- column state: forming, trusted, degraded, stale or disabled
-- column confidence: how sure, 0 to 1
-- column coverage: share of the burst bytes that it explains
-- column edges: pairs
-- column period_s: period of the traffic, s
-- column reason: why there is a new version
SELECT time, version, state, confidence, coverage, edges, period_s, reason
FROM skeletons FINAL
WHERE job = {job:String}
ORDER BY version, t_us
