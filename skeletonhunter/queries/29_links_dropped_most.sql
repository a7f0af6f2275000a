-- section Links and queues
-- Which links dropped most last week?
-- What the ports at both ends counted (resets are not counted as drops), beside the probes that were lost on paths over
-- the link.
-- parameter fabric String: the fabric
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column link: id of the link
-- column a: port at one end
-- column b: port at the other end
-- column dropped: packets that queues towards it dropped
-- column crc_errors: corrupt packets that its ends received
-- column probe_loss: share of the probes over it that were lost, wherever on their path; null = no probe went over it
-- column jobs: jobs whose probes went over it
SELECT
    link.link AS link, any(link.a) AS a, any(link.b) AS b, sum(port.drops) AS dropped, sum(port.crc) AS crc_errors,
    any(probed.loss) AS probe_loss, any(probed.jobs) AS jobs
FROM
(
    SELECT link, a, b, arrayJoin([a, b]) AS end FROM fabric_links FINAL
    WHERE fabric = {fabric:String}
        AND version = (SELECT max(version) FROM fabric_links WHERE fabric = {fabric:String})
) AS link
LEFT JOIN
(
    SELECT switch_port, sum(drops) AS drops, sum(crc) AS crc
    FROM
    (
        SELECT
            switch_port,
            deltaSumTimestampIf(assumeNotNull(dropped), t_us, dropped IS NOT NULL) AS drops,
            deltaSumTimestampIf(assumeNotNull(crc_errors), t_us, crc_errors IS NOT NULL) AS crc
        FROM switch_queues
        WHERE fabric = {fabric:String} AND time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
        GROUP BY switch, port, queue, boot, switch_port
    )
    GROUP BY switch_port
) AS port ON link.end = port.switch_port
LEFT JOIN
(
    SELECT link, toNullable(sum(lost) / sum(sent)) AS loss, uniqExact(job) AS jobs
    FROM link_minutes FINAL
    WHERE fabric = {fabric:String} AND minute BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
    GROUP BY link
) AS probed ON link.link = probed.link
GROUP BY link
ORDER BY dropped + crc_errors DESC, probe_loss DESC NULLS LAST, link
LIMIT 20
