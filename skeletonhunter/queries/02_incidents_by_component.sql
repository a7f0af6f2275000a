-- section Incidents
-- Which components cause most incidents?
-- Network faults that began in the time, by the component that was blamed.
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column component: component id
-- column component_class: its class
-- column incidents: how many incidents
-- column open: how many of them are not over
-- column issues: which issues
-- column jobs: how many jobs they touched
-- column hours: hours that they lasted, those that are over
SELECT
    component, any(component_class) AS component_class, count() AS incidents, countIf(state != 'resolved') AS open,
    arraySort(groupUniqArray(assumeNotNull(issue))) AS issues,
    length(groupUniqArrayArray(jobs)) AS jobs,
    round(sum(ifNull(toInt64(resolved_us) - toInt64(onset_us), 0)) / 3.6e9, 4) AS hours
FROM incidents_current
WHERE kind = 'network_fault' AND component IS NOT NULL
    AND onset_time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
GROUP BY component
ORDER BY incidents DESC, component
