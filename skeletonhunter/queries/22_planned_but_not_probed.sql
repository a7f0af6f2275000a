-- section Skeletons and plans
-- Which planned pairs did nobody probe?
-- Pairs of the newest plan of a job without any train in the time: silent agents, or agents that follow another plan.
-- parameter job String: the job
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column src: endpoint that should have probed
-- column dst: endpoint that should have been probed
-- column source_probed: other trains of the same source in the time; 0 = the whole source was silent
SELECT DISTINCT plan.src AS src, plan.dst AS dst, ifNull(source.trains, 0) AS source_probed
FROM
(
    SELECT probe.src AS src, probe.dst AS dst
    FROM
    (
        SELECT probe.src, probe.dst FROM probe_plans FINAL
        WHERE job = {job:String} ORDER BY version DESC, t_us DESC LIMIT 1
    )
    ARRAY JOIN probe.src, probe.dst
) AS plan
LEFT JOIN
(
    SELECT src, sum(trains) AS trains FROM pair_minutes FINAL
    WHERE job = {job:String} AND minute BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
    GROUP BY src
) AS source ON plan.src = source.src
WHERE (plan.src, plan.dst) NOT IN
(
    SELECT src, dst FROM pair_minutes FINAL
    WHERE job = {job:String} AND minute BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
)
ORDER BY src, dst
