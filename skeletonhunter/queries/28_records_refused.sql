-- section Probes and agents
-- Which records could not be used, and why?
-- Dead letters that the sink saw, by reason; the records themselves are in the topics `<topic>-dlq`.
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column topic: the topic
-- column reason: why
-- column records: how many
-- column last: when the last one arrived
-- column detail: what was wrong with it
-- column key: its key
SELECT
    topic, reason, count() AS records, max(time) AS last, argMax(dead_letters.detail, arrival_us) AS detail,
    argMax(dead_letters.key, arrival_us) AS key
FROM dead_letters FINAL
WHERE time BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
GROUP BY topic, reason
ORDER BY records DESC, topic, reason
