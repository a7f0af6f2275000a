-- section Links and queues
-- Where does congestion control act, and where not?
-- Packets marked (ECN) and pause frames (PFC) by port. Deep queues without marks are what missing congestion control
-- looks like.
-- parameter fabric String: the fabric
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column port: the port
-- column ecn_marked: packets marked
-- column pfc_rx: pause frames received
-- column pfc_tx: pause frames sent
-- column depth_max: greatest depth of its queues, bytes
SELECT
    port, sum(marked) AS ecn_marked, sum(paused) AS pfc_rx, sum(pausing) AS pfc_tx, max(depth) AS depth_max
FROM
(
    SELECT
        switch_port AS port,
        deltaSumTimestampIf(assumeNotNull(ecn_marked), t_us, ecn_marked IS NOT NULL) AS marked,
        deltaSumTimestampIf(assumeNotNull(pfc_rx), t_us, pfc_rx IS NOT NULL) AS paused,
        deltaSumTimestampIf(assumeNotNull(pfc_tx), t_us, pfc_tx IS NOT NULL) AS pausing,
        max(depth_bytes) AS depth
    FROM switch_queues
    WHERE fabric = {fabric:String} AND time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
    GROUP BY switch, switch_queues.port, queue, boot, switch_port
)
GROUP BY port
ORDER BY ecn_marked + pfc_rx + pfc_tx DESC, depth_max DESC, port
LIMIT 20
