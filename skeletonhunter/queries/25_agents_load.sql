-- section Probes and agents
-- What do agents cost, and which are in trouble?
-- By what they report of themselves.
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column agent: the agent
-- column cpu_percent: 95th percentile of its CPU, percent of a core
-- column rss_mb: greatest resident memory, MB
-- column send_lag_us: 95th percentile of how late its probes go out, us
-- column dropped: messages that it had to drop in the time
-- column not_ok: share of reports in which it was throttled or starved
SELECT
    agent, quantileExactInclusiveOrNull(0.95)(agent_health.cpu_percent) AS cpu_percent,
    max(rss_bytes) / 1e6 AS rss_mb, quantileExactInclusiveOrNull(0.95)(agent_health.send_lag_us) AS send_lag_us,
    deltaSumTimestampIf(assumeNotNull(agent_health.dropped), t_us, agent_health.dropped IS NOT NULL) AS dropped,
    countIf(state IN ('throttled', 'starved')) / count() AS not_ok
FROM agent_health FINAL
WHERE time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
GROUP BY agent
ORDER BY not_ok DESC, cpu_percent DESC, agent
