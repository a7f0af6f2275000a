-- section Probes and agents
-- Which probes could not be sent, and why?
-- Trains by outcome and job, with the words of the agents.
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column job: the job
-- column kind: transport
-- column outcome: reply, lost, not_sent or target_not_ready
-- column reason: what agents say; empty = nothing
-- column trains: trains
-- column share: their share of the trains of the job
SELECT
    job, kind, outcome, reason, sum(outcome_minutes.trains) AS trains,
    trains / sum(trains) OVER (PARTITION BY job) AS share
FROM outcome_minutes FINAL
WHERE minute BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
GROUP BY job, kind, outcome, reason
ORDER BY job, trains DESC, outcome, reason
