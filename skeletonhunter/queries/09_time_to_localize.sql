-- section How good the monitor is
-- How fast are faults detected and localized?
-- Percentiles over network faults that began in the time, by symptom.
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column symptom: what pairs saw
-- column faults: how many
-- column localized: how many of them have a component
-- column detect_p50_s: median seconds from onset to detection
-- column detect_p95_s: 95th percentile
-- column localize_p50_s: median seconds from onset to the blame; null = nothing was localized
-- column localize_p95_s: 95th percentile
SELECT
    ifNull(symptom, 'none') AS symptom, count() AS faults, countIf(localized_us IS NOT NULL) AS localized,
    quantileExactInclusive(0.5)(detection_delay_s) AS detect_p50_s,
    quantileExactInclusive(0.95)(detection_delay_s) AS detect_p95_s,
    quantileExactInclusiveOrNullIf(0.5)(detection_delay_s + localization_delay_s, localized_us IS NOT NULL)
        AS localize_p50_s,
    quantileExactInclusiveOrNullIf(0.95)(detection_delay_s + localization_delay_s, localized_us IS NOT NULL)
        AS localize_p95_s
FROM incidents_current
WHERE kind = 'network_fault' AND onset_time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
GROUP BY symptom
ORDER BY faults DESC, symptom
