-- section Probes and agents
-- Whose clock can't be trusted?
-- By the clocks of the agents, as their reports carry them.
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column host: the host
-- column sources: what disciplined the clock
-- column offset_min_us: least estimate of clock minus reference, us
-- column offset_max_us: greatest
-- column error_max_us: greatest bound of what remains, us
-- column beyond_1ms: share of reports whose bound is beyond 1 ms, or whose clock nothing disciplines
-- column delay_range_ms: how much the time from event to arrival varied; a clock that was set shows here
SELECT
    host, arraySort(groupUniqArray(clock_source)) AS sources,
    min(clock_offset_us) AS offset_min_us, max(clock_offset_us) AS offset_max_us, max(clock_error_us) AS error_max_us,
    countIf(clock_error_us > 1000 OR clock_source = 'none') / count() AS beyond_1ms,
    (max(toInt64(arrival_us) - toInt64(t_us)) - min(toInt64(arrival_us) - toInt64(t_us))) / 1000 AS delay_range_ms
FROM agent_health FINAL
WHERE time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
GROUP BY host
ORDER BY beyond_1ms DESC, delay_range_ms DESC, host
