-- section Jobs and their training
-- What does the RTT of a job look like, rail by rail?
-- One row per minute and rail: the cells of a heat map.
-- parameter job String: the job
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column minute: the minute
-- column rail: rail of the source
-- column pairs: pairs that were probed
-- column rtt_us: median over pairs of their median RTT, us
-- column rtt_max_us: greatest RTT of any probe, us
-- column loss: share of probes without reply
SELECT
    minute, rail, count() AS pairs,
    quantileExactInclusiveOrNull(0.5)(pair.rtt_us) AS rtt_us, max(pair.rtt_max_us) AS rtt_max_us,
    sum(lost) / nullIf(sum(sent), 0) AS loss
FROM
(
    SELECT minute, src, dst, rtt_us, rtt_max_us, sent, lost
    FROM pair_minutes FINAL
    WHERE job = {job:String} AND minute BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
) AS pair
INNER JOIN
(
    SELECT endpoint, argMax(rail, version) AS rail FROM endpoint_map FINAL WHERE job = {job:String} GROUP BY endpoint
) AS place ON pair.src = place.endpoint
GROUP BY minute, rail
ORDER BY minute, rail
