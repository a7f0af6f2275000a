-- section Jobs and their training
-- What did one pair see, second by second?
-- From the rows themselves, for a look at a few minutes.
-- parameter job String: the job
-- parameter src String: endpoint that probed
-- parameter dst String: endpoint that was probed
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column time: end of the second
-- column sent: probes sent
-- column lost: probes without reply
-- column rtt_us: median RTT, us; null = no reply
-- column rtt_max_us: greatest RTT, us
-- column not_sent: trains that could not be sent
SELECT time, sent, lost, rtt_us, rtt_max_us, not_sent
FROM
(
    SELECT
        fromUnixTimestamp64Micro(toInt64(intDiv(t_us + 999999, 1000000) * 1000000), 'UTC') AS time,
        sum(probe.sent) AS sent, sum(probe.lost) AS lost, countIf(outcome = 'not_sent') AS not_sent,
        groupArrayArray(probe.rtt_us) AS samples,
        if(empty(samples), NULL, arrayReduce('quantileExactInclusive(0.5)', samples)) AS rtt_us,
        if(empty(samples), NULL, arrayMax(samples)) AS rtt_max_us
    FROM probe_results AS probe FINAL
    WHERE job = {job:String} AND src = {src:String} AND dst = {dst:String}
        AND probe.time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
    GROUP BY time
)
ORDER BY time
