-- section Links and queues
-- Over which links did the most pairs lose probes?
-- A link that is to blame has many lossy pairs among those that cross it; one that only lies on a bad pair's path has
-- few.
-- parameter fabric String: the fabric
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column link: id of the link
-- column pair_minutes: pairs that crossed it, minute by minute
-- column lossy: of those, how many had a train that lost at least 1 % of its probes
-- column lossy_share: their share
-- column loss: share of the probes that were lost
-- column jobs: jobs whose probes crossed it
SELECT
    link, sum(pairs) AS pair_minutes, sum(lossy_pairs) AS lossy, lossy / pair_minutes AS lossy_share,
    sum(link_minutes.lost) / sum(link_minutes.sent) AS loss, arraySort(groupUniqArray(job)) AS jobs
FROM link_minutes FINAL
WHERE fabric = {fabric:String} AND minute BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
GROUP BY link
HAVING lossy > 0
ORDER BY lossy_share DESC, lossy DESC, loss DESC, link
LIMIT 20
