-- section Incidents
-- Which tenants and jobs suffered from incidents?
-- Incidents that began in the time, by the tenant that owns the jobs they touched.
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column tenant: owner of the job; null = not told
-- column job: job that was touched
-- column incidents: incidents of any kind
-- column faults: those that are faults of the network
-- column components: components that were blamed
-- column worst_symptom: unconnectivity before packet_loss before high_latency
SELECT
    owner.tenant AS tenant, touched.job AS job, uniqExact(touched.incident) AS incidents,
    uniqExactIf(touched.incident, touched.kind = 'network_fault') AS faults,
    arraySort(groupUniqArray(assumeNotNull(touched.component))) AS components,
    argMax(touched.symptom, indexOf(['high_latency', 'packet_loss', 'unconnectivity'], ifNull(touched.symptom, '')))
        AS worst_symptom
FROM
(
    SELECT incident, kind, component, symptom, arrayJoin(jobs) AS job
    FROM incidents_current
    WHERE onset_time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
) AS touched
LEFT JOIN
(
    SELECT job, argMax(tenant, version) AS tenant FROM job_states FINAL GROUP BY job
) AS owner ON touched.job = owner.job
GROUP BY tenant, job
ORDER BY incidents DESC, tenant, job
