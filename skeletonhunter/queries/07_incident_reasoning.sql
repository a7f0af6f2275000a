-- section Incidents
-- Why is this component to blame?
-- The passes of the localization behind the newest state of an incident: what they asked and what came out.
-- parameter incident String: the incident
-- column pass: overlay, underlay, boundary, host or monitor
-- column verdict: clean, suspect or inconclusive
-- column test: the question; null = the pass asked nothing
-- column result: the answer
-- column detail: the figures behind it
-- column reason: why the pass concludes that
SELECT pass, verdict, test, result, detail, reason
FROM localization_steps FINAL
WHERE incident = {incident:String}
    AND (t_us, seq) = (SELECT max((t_us, seq)) FROM localization_steps WHERE incident = {incident:String})
ORDER BY pass_no, test_no
