-- section Jobs and their training
-- How much does a job send, rail by rail?
-- Bytes of its bursts per minute.
-- parameter job String: the job
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column minute: the minute in which the bursts ended
-- column rail: rail of the endpoint
-- column bursts: bursts sent
-- column tx_bytes: bytes in them
-- column busiest: endpoint that sent most
SELECT
    toStartOfMinute(burst.time) AS minute, rail, sum(burst.number) AS bursts, sum(burst.bytes) AS tx_bytes,
    argMax(burst.endpoint, burst.bytes) AS busiest
FROM
(
    SELECT toStartOfMinute(time) AS time, endpoint, count() AS number, sum(bytes) AS bytes
    FROM rnic_bursts FINAL
    WHERE job = {job:String} AND direction = 'tx'
        AND rnic_bursts.time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
    GROUP BY time, endpoint
) AS burst
INNER JOIN
(
    SELECT endpoint, argMax(rail, version) AS rail FROM endpoint_map FINAL WHERE job = {job:String} GROUP BY endpoint
) AS place ON burst.endpoint = place.endpoint
GROUP BY minute, rail
ORDER BY minute, rail
