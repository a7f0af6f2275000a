-- section Incidents
-- What did devices say about themselves around an incident?
-- Device events from some time before the onset to the end, of the fabric that the incident is on.
-- parameter incident String: the incident
-- parameter lead_s UInt32: seconds before the onset
-- column time: when
-- column since_onset_s: seconds after the onset
-- column device: component id
-- column event: code
-- column severity: info, warning or error
-- column blamed: whether it is the component that is blamed
-- column text: in the device's own words
WITH
    (SELECT (fabric, onset_us, ifNull(resolved_us, t_us), ifNull(component, '')) FROM incidents_current
     WHERE incident = {incident:String}) AS about
SELECT
    time, (toInt64(t_us) - toInt64(about.2)) / 1e6 AS since_onset_s, device, event, severity,
    device = about.4 AS blamed, text
FROM device_events FINAL
WHERE fabric = about.1
    AND toInt64(t_us) BETWEEN toInt64(about.2) - {lead_s:UInt32} * 1000000 AND toInt64(about.3)
ORDER BY t_us, device, event
