-- section Probes and agents
-- Which agents have fallen silent?
-- Agents that reported in the time, whose longest silence was longer than a bound; also at the end, against the newest
-- report of the fabric. An agent that said that it stops is not missing.
-- parameter silent_s Float64: seconds of silence that are worth a look
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column agent: the agent
-- column host: its host
-- column last_seen: its last report
-- column last_state: what it said then
-- column silent_now_s: seconds from there to the newest report of the fabric
-- column longest_s: its longest silence
-- column reports: reports in the time
SELECT
    agent, any(host) AS host, max(time) AS last_seen, argMax(state, t_us) AS last_state,
    (any(newest_us) - max(toInt64(t_us))) / 1e6 AS silent_now_s,
    greatest(silent_now_s, max(gap_s)) AS longest_s, count() AS reports
FROM
(
    SELECT
        agent, host, state, t_us, time, toInt64(max(t_us) OVER (PARTITION BY fabric)) AS newest_us,
        if(row_number() OVER earlier = 1, 0, toInt64(t_us) - toInt64(lagInFrame(t_us) OVER earlier)) / 1e6 AS gap_s
    FROM agent_health FINAL
    WHERE time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
    WINDOW earlier AS (PARTITION BY fabric, agent ORDER BY t_us ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
GROUP BY agent
HAVING longest_s > {silent_s:Float64} AND last_state != 'stopping'
ORDER BY silent_now_s DESC, agent
