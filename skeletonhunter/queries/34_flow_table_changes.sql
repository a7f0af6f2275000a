-- section Links and queues
-- What changed in the flow tables of a host?
-- Flows that came, went, or were sent elsewhere, from one snapshot to the next.
-- parameter fabric String: the fabric
-- parameter host String: the host
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column time: snapshot that shows it first (of a flow that went, the last one that had it)
-- column table: vswitch or rnic
-- column at: component that the flow stands at
-- column flow: its id
-- column change: came, went or changed
-- column before: next hop, actions, offloaded and path before; empty when it came
-- column after: the same afterwards; empty when it went
WITH
    rows AS
    (
        SELECT
            time, t_us, `table`, ifNull(rnic, '') AS card, at, flow, src, dst,
            concat(ifNull(next, 'dropped'), ' ', actions, ' ', if(ifNull(offloaded, false), 'offloaded', 'in software'),
                ' ', ifNull(path, 'path unknown')) AS does
        FROM flow_entries FINAL
        WHERE fabric = {fabric:String} AND host = {host:String}
            AND time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
    ),
    dumps AS
    (
        SELECT `table`, ifNull(rnic, '') AS card, min(time) AS first_dump, max(time) AS last_dump
        FROM flow_snapshots FINAL
        WHERE complete AND fabric = {fabric:String} AND host = {host:String}
            AND time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
        GROUP BY `table`, card
    ),
    lives AS
    (
        SELECT `table`, card, at, flow, min(time) AS came, max(time) AS went, argMin(does, t_us) AS at_first,
            argMax(does, t_us) AS at_last
        FROM rows GROUP BY `table`, card, at, flow
    )
SELECT time, `table`, at, flow, change, before, after
FROM
(
    SELECT came AS time, `table`, at, flow, 'came' AS change, '' AS before, at_first AS after
    FROM lives INNER JOIN dumps USING (`table`, card) WHERE came > first_dump
    UNION ALL
    SELECT went AS time, `table`, at, flow, 'went' AS change, at_last AS before, '' AS after
    FROM lives INNER JOIN dumps USING (`table`, card) WHERE went < last_dump
    UNION ALL
    SELECT time, `table`, at, flow, 'changed' AS change, previous AS before, does AS after
    FROM
    (
        SELECT time, `table`, at, flow, does, lagInFrame(does, 1, does) OVER (PARTITION BY `table`, card, at, flow
            ORDER BY t_us ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS previous
        FROM rows
    )
    WHERE previous != does
)
ORDER BY time, `table`, at, flow, change
