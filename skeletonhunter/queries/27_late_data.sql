-- section Probes and agents
-- Which data comes late?
-- How long messages were under way, by topic (of columns of samples, the newest sample counts). What comes more than
-- 5 s behind the newest of its topic is left out by the engines.
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column topic: the topic
-- column rows: probe trains, messages or snapshots in the time
-- column late: those that were under way for more than 5 s
-- column delay_max_s: longest time under way, s
SELECT
    'probe-results' AS topic, sum(trains) AS rows, sum(outcome_minutes.late) AS late,
    max(outcome_minutes.delay_max_s) AS delay_max_s
FROM outcome_minutes FINAL
WHERE minute BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
UNION ALL
SELECT topic, count() AS rows, countIf(delay_s > 5) AS late, max(delay_s) AS delay_max_s
FROM
(
    SELECT 'rnic-counters' AS topic, (toInt64(any(arrival_us)) - toInt64(max(t_us))) / 1e6 AS delay_s
    FROM rnic_counters
    WHERE time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
    GROUP BY producer_id, boot, seq
    UNION ALL
    SELECT 'switch-queues' AS topic, (toInt64(any(arrival_us)) - toInt64(max(t_us))) / 1e6 AS delay_s
    FROM switch_queues
    WHERE time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
    GROUP BY producer_id, boot, seq
    UNION ALL
    SELECT 'flow-tables' AS topic, (toInt64(arrival_us) - toInt64(t_us)) / 1e6 AS delay_s
    FROM flow_snapshots FINAL
    WHERE time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
    UNION ALL
    SELECT 'agent-health' AS topic, (toInt64(arrival_us) - toInt64(t_us)) / 1e6 AS delay_s
    FROM agent_health FINAL
    WHERE time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
    UNION ALL
    SELECT 'device-events' AS topic, (toInt64(arrival_us) - toInt64(t_us)) / 1e6 AS delay_s
    FROM device_events FINAL
    WHERE time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
)
GROUP BY topic
ORDER BY late DESC, topic
