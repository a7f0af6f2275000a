-- section Incidents
-- Which issues happen most, and how long do they last?
-- All incidents that began in the time, by kind and issue.
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column kind: kind of incident
-- column issue: which of the nineteen issues; null = not known, or no fault of the network
-- column incidents: how many incidents
-- column components: how many components were blamed
-- column mean_confidence: how sure, on average
-- column median_duration_s: seconds from onset to resolution, of those that are over; null = none is
SELECT
    kind, issue, count() AS incidents, uniqExact(component) AS components,
    round(avg(confidence), 3) AS mean_confidence,
    quantileExactInclusiveOrNullIf(0.5)((toInt64(resolved_us) - toInt64(onset_us)) / 1e6, resolved_us IS NOT NULL)
        AS median_duration_s
FROM incidents_current
WHERE onset_time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
GROUP BY kind, issue
ORDER BY incidents DESC, kind, issue
