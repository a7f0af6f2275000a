-- section How good the monitor is
-- Which parts should be replaced?
-- Components by the number of faults, with what operators confirmed and repaired.
-- column component: component id, as corrected by operators
-- column faults: faults that nobody called false
-- column confirmed: operators said that it was one
-- column fixed: it was repaired afterwards
-- column issues: which issues
-- column jobs: jobs that suffered
-- column last_onset: when the last one began
SELECT component, faults, confirmed, fixed, issues, jobs, last_onset
FROM component_failures
ORDER BY faults DESC, component
LIMIT 50
