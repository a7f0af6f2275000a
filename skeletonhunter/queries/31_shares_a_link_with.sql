-- section Links and queues
-- Which jobs share a link with a pair that suffers?
-- The links of the pair's paths in the time, and everybody whose probes went over them.
-- parameter fabric String: the fabric
-- parameter job String: job of the pair
-- parameter src String: endpoint that probed
-- parameter dst String: endpoint that was probed
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column link: id of the link
-- column job: job whose probes went over it, also the pair's own
-- column trains: its trains over the link
-- column loss: share of its probes that were lost
-- column rtt_us: median over minutes of the median RTT, us
SELECT
    link, job, sum(link_minutes.trains) AS trains, sum(lost) / sum(sent) AS loss,
    quantileExactInclusiveOrNull(0.5)(link_minutes.rtt_us) AS rtt_us
FROM link_minutes FINAL
WHERE fabric = {fabric:String} AND minute BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
    AND link IN
    (
        SELECT arrayJoin(path) FROM probe_results
        WHERE job = {job:String} AND src = {src:String} AND dst = {dst:String}
            AND time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
    )
GROUP BY link, job
ORDER BY link, job
