-- section Jobs and their training
-- Where are the endpoints of a job?
-- By the newest version of its map.
-- parameter job String: the job
-- column host: the host
-- column container: the container
-- column rnics: its RNICs
-- column rails: their rails
-- column ranks: ranks in the job, where told
-- column switches: switches that they are cabled to
-- column not_ready: endpoints that are not ready
SELECT
    host, container, arraySort(groupArray(rnic)) AS rnics, arraySort(groupUniqArray(rail)) AS rails,
    arraySort(groupArray(rank)) AS ranks,
    arraySort(groupUniqArray(splitByChar('/', ifNull(switch_port, ''))[1])) AS switches,
    countIf(endpoint_state != 'ready') AS not_ready
FROM endpoint_map FINAL
WHERE job = {job:String} AND version = (SELECT max(version) FROM job_states WHERE job = {job:String})
GROUP BY host, container
ORDER BY host, container
