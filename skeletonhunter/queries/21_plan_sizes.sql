-- section Skeletons and plans
-- How many probes does each job cost, and what did the skeleton save?
-- The newest plan of each job beside the first basic list.
-- column job: the job
-- column mode: basic, skeleton or disabled
-- column version: version of the plan
-- column probes: probes in a round
-- column round_s: seconds per round
-- column probes_per_s: probes per second
-- column basic_probes: probes in a round of its first basic list; null = it never had one
-- column saved: share of them that is saved
SELECT
    job, newest.1 AS mode, newest.2 AS version, newest.3 AS probes, newest.4 AS round_s,
    probes / nullIf(round_s, 0) AS probes_per_s, basic AS basic_probes, 1 - probes / nullIf(basic, 0) AS saved
FROM
(
    SELECT
        job, argMax((mode, version, probes, round_s), (version, t_us)) AS newest,
        argMinOrNullIf(probes, (version, t_us), mode = 'basic') AS basic
    FROM probe_plans FINAL
    GROUP BY job
)
ORDER BY probes DESC, job
