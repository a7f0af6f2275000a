-- section Links and queues
-- Which ports are congested?
-- Depths of egress queues.
-- parameter fabric String: the fabric
-- parameter deep_bytes UInt64: bytes from which a queue counts as deep
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column port: the port
-- column queue: its queue
-- column depth_p50: median depth, bytes
-- column depth_max: greatest depth, bytes
-- column deep_share: share of the samples that were deep
-- column first_deep: when it was deep first; null = never
SELECT
    switch_port AS port, queue, quantileExactInclusiveOrNull(0.5)(depth_bytes) AS depth_p50,
    max(depth_bytes) AS depth_max,
    countIf(depth_bytes >= {deep_bytes:UInt64}) / count(depth_bytes) AS deep_share,
    minOrNullIf(time, depth_bytes >= {deep_bytes:UInt64}) AS first_deep
FROM switch_queues
WHERE fabric = {fabric:String} AND time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
GROUP BY port, queue
ORDER BY deep_share DESC, depth_max DESC, port, queue
LIMIT 20
