-- section Jobs and their training
-- Which pairs of a job are worst?
-- By loss, then by RTT, over the whole time.
-- parameter job String: the job
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column src: endpoint that probed
-- column dst: endpoint that was probed
-- column sent: probes sent
-- column lost: probes without reply
-- column loss: their share
-- column worst_minute_loss: share in the worst minute
-- column rtt_us: median over minutes of the median RTT, us
-- column rtt_max_us: greatest RTT, us
SELECT
    src, dst, sum(pair.sent) AS sent, sum(pair.lost) AS lost, lost / nullIf(sent, 0) AS loss,
    max(pair.lost / nullIf(pair.sent, 0)) AS worst_minute_loss,
    quantileExactInclusiveOrNull(0.5)(pair.rtt_us) AS rtt_us, max(pair.rtt_max_us) AS rtt_max_us
FROM pair_minutes AS pair FINAL
WHERE job = {job:String} AND minute BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
GROUP BY src, dst
ORDER BY loss DESC NULLS LAST, rtt_us DESC NULLS LAST, src, dst
LIMIT 20
