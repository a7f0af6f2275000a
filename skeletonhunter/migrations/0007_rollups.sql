-- Roll-ups by the minute, for questions about days, weeks and fabrics, and what training got done.
--
-- A roll-up is made by a refreshable materialized view: every minute it looks which minutes of which jobs got rows
-- since (source_at = the newest inserted_at that it has used), works those minutes out anew from the rows themselves,
-- read with FINAL, and appends; the new row replaces the old one. So rows that come again, or late, change nothing
-- that they should not. It looks back two minutes, for inserts that were under way, and takes at most an hour of
-- insertions at a time, so that a database of before is caught up with step by step.

CREATE TABLE IF NOT EXISTS pair_minutes
(
    minute DateTime('UTC') COMMENT 'the minute that it covers, by its begin' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    job LowCardinality(String) COMMENT 'the job that it belongs to',
    tenant LowCardinality(Nullable(String)) COMMENT 'who owns the job',
    src LowCardinality(String) COMMENT 'endpoint that probed',
    dst LowCardinality(String) COMMENT 'endpoint that was probed',
    trains UInt32 COMMENT 'probe trains, also those of which nothing was sent' CODEC(T64, ZSTD(1)),
    lost_trains UInt32 COMMENT 'trains without any reply' CODEC(T64, ZSTD(1)),
    not_sent UInt32 COMMENT 'trains that could not be sent' CODEC(T64, ZSTD(1)),
    not_ready UInt32 COMMENT 'trains that were held back because the target was not ready' CODEC(T64, ZSTD(1)),
    sent UInt64 COMMENT 'probes sent' CODEC(T64, ZSTD(1)),
    lost UInt64 COMMENT 'probes without reply' CODEC(T64, ZSTD(1)),
    samples UInt32 COMMENT 'RTT samples' CODEC(T64, ZSTD(1)),
    rtt_us Nullable(Float32) COMMENT 'median RTT, us; null without samples' CODEC(ZSTD(3)),
    rtt_p99_us Nullable(Float32) COMMENT '99th percentile, us; null without samples' CODEC(ZSTD(3)),
    rtt_min_us Nullable(Float32) COMMENT 'least RTT, us; null without samples' CODEC(ZSTD(3)),
    rtt_max_us Nullable(Float32) COMMENT 'greatest RTT, us; null without samples' CODEC(ZSTD(3)),
    source_at DateTime('UTC') COMMENT 'newest inserted_at of the rows that it is made of' CODEC(Delta, ZSTD(1)),
    inserted_at DateTime('UTC') DEFAULT now() COMMENT 'when it was worked out' CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(inserted_at)
PARTITION BY toYYYYMM(minute)
PRIMARY KEY (job, src, dst, minute)
ORDER BY (job, src, dst, minute)
TTL inserted_at + INTERVAL 400 DAY
COMMENT 'Loss and RTT of a probed pair in one minute.';

CREATE TABLE IF NOT EXISTS link_minutes
(
    minute DateTime('UTC') COMMENT 'the minute that it covers, by its begin' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    link LowCardinality(String) COMMENT 'id of a link that the probes went over, there',
    job LowCardinality(String) COMMENT 'job whose probes they are',
    trains UInt32 COMMENT 'probe trains over the link of which something was sent' CODEC(T64, ZSTD(1)),
    lost_trains UInt32 COMMENT 'trains without any reply' CODEC(T64, ZSTD(1)),
    pairs UInt32 COMMENT 'pairs of endpoints that they were between' CODEC(T64, ZSTD(1)),
    lossy_pairs UInt32 COMMENT 'pairs of which a train lost at least 1 % of its probes' CODEC(T64, ZSTD(1)),
    sent UInt64 COMMENT 'probes sent' CODEC(T64, ZSTD(1)),
    lost UInt64 COMMENT 'probes without reply; which link of the path lost them is not known' CODEC(T64, ZSTD(1)),
    samples UInt32 COMMENT 'RTT samples' CODEC(T64, ZSTD(1)),
    rtt_us Nullable(Float32) COMMENT 'median RTT, us; null without samples' CODEC(ZSTD(3)),
    rtt_p99_us Nullable(Float32) COMMENT '99th percentile, us; null without samples' CODEC(ZSTD(3)),
    source_at DateTime('UTC') COMMENT 'newest inserted_at of the rows that it is made of' CODEC(Delta, ZSTD(1)),
    inserted_at DateTime('UTC') DEFAULT now() COMMENT 'when it was worked out' CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(inserted_at)
PARTITION BY toYYYYMM(minute)
PRIMARY KEY (fabric, link, minute)
ORDER BY (fabric, link, minute, job)
TTL inserted_at + INTERVAL 400 DAY
COMMENT 'Loss and RTT of all probes of a job that went over one link in one minute.';

CREATE TABLE IF NOT EXISTS outcome_minutes
(
    minute DateTime('UTC') COMMENT 'the minute that it covers, by its begin' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    job LowCardinality(String) COMMENT 'the job that it belongs to',
    tenant LowCardinality(Nullable(String)) COMMENT 'who owns the job',
    kind LowCardinality(String) COMMENT 'transport: rdma, tcp, udp or traceroute',
    outcome LowCardinality(String) COMMENT 'reply, lost, not_sent or target_not_ready',
    reason LowCardinality(String) COMMENT 'what the agent says about it; empty when it says nothing',
    trains UInt64 COMMENT 'probe trains' CODEC(T64, ZSTD(1)),
    sources UInt32 COMMENT 'endpoints that they came from' CODEC(T64, ZSTD(1)),
    sent UInt64 COMMENT 'probes sent' CODEC(T64, ZSTD(1)),
    lost UInt64 COMMENT 'probes without reply' CODEC(T64, ZSTD(1)),
    late UInt64 COMMENT 'trains of which we heard more than 5 s after they ended' CODEC(T64, ZSTD(1)),
    delay_max_s Float32 COMMENT 'longest time from the end of a train until we heard of it, s' CODEC(ZSTD(3)),
    source_at DateTime('UTC') COMMENT 'newest inserted_at of the rows that it is made of' CODEC(Delta, ZSTD(1)),
    inserted_at DateTime('UTC') DEFAULT now() COMMENT 'when it was worked out' CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(inserted_at)
PARTITION BY toYYYYMM(minute)
PRIMARY KEY (fabric, job, minute)
ORDER BY (fabric, job, minute, kind, outcome, reason)
TTL inserted_at + INTERVAL 400 DAY
COMMENT 'What became of the probe trains of a job in one minute.';

CREATE MATERIALIZED VIEW IF NOT EXISTS pair_minutes_refresh REFRESH EVERY 1 MINUTE APPEND TO pair_minutes AS
WITH
    (SELECT toInt64(toUnixTimestamp(max(source_at))) FROM pair_minutes) AS done,
    (SELECT toInt64(toUnixTimestamp(min(inserted_at))) FROM probe_results WHERE inserted_at > toDateTime(done, 'UTC'))
        AS next,
    multiIf(next > 0, next + 3600, done > toInt64(toUnixTimestamp(now())) - 600, done, 0) AS until
SELECT
    minute, fabric, job, owner AS tenant, src, dst, trains, lost_trains, not_sent, not_ready,
    probes AS sent, unanswered AS lost, samples,
    if(samples = 0, NULL, quantiles[1]) AS rtt_us,
    if(samples = 0, NULL, quantiles[2]) AS rtt_p99_us,
    if(samples = 0, NULL, least_rtt) AS rtt_min_us,
    if(samples = 0, NULL, greatest_rtt) AS rtt_max_us,
    source_at
FROM
(
    SELECT
        toStartOfMinute(time) AS minute, fabric, job, src, dst,
        any(tenant) AS owner,
        count() AS trains,
        countIf(outcome = 'lost') AS lost_trains,
        countIf(outcome = 'not_sent') AS not_sent,
        countIf(outcome = 'target_not_ready') AS not_ready,
        sum(sent) AS probes,
        sum(lost) AS unanswered,
        sum(length(rtt_us)) AS samples,
        quantilesExactInclusiveArray(0.5, 0.99)(rtt_us) AS quantiles,
        minArray(rtt_us) AS least_rtt,
        maxArray(rtt_us) AS greatest_rtt,
        max(inserted_at) AS source_at
    FROM probe_results FINAL
    WHERE (job, toStartOfMinute(time)) IN
    (
        SELECT job, toStartOfMinute(time)
        FROM probe_results
        WHERE inserted_at > toDateTime(greatest(0, done - 120), 'UTC') AND inserted_at <= toDateTime(until, 'UTC')
        GROUP BY 1, 2
    )
    GROUP BY minute, fabric, job, src, dst
)
SETTINGS use_skip_indexes_if_final = 1, use_skip_indexes_if_final_exact_mode = 0
COMMENT 'Keeps pair_minutes up to date.';

CREATE MATERIALIZED VIEW IF NOT EXISTS link_minutes_refresh REFRESH EVERY 1 MINUTE APPEND TO link_minutes AS
WITH
    (SELECT toInt64(toUnixTimestamp(max(source_at))) FROM link_minutes) AS done,
    (SELECT toInt64(toUnixTimestamp(min(inserted_at))) FROM probe_results WHERE inserted_at > toDateTime(done, 'UTC'))
        AS next,
    multiIf(next > 0, next + 3600, done > toInt64(toUnixTimestamp(now())) - 600, done, 0) AS until
SELECT
    minute, fabric, link, job, trains, lost_trains, pairs, lossy_pairs,
    probes AS sent, unanswered AS lost, samples,
    if(samples = 0, NULL, quantiles[1]) AS rtt_us,
    if(samples = 0, NULL, quantiles[2]) AS rtt_p99_us,
    source_at
FROM
(
    SELECT
        toStartOfMinute(time) AS minute, fabric, arrayJoin(arrayDistinct(path)) AS link, job,
        count() AS trains,
        countIf(outcome = 'lost') AS lost_trains,
        uniqExact(src, dst) AS pairs,
        uniqExactIf((src, dst), lost > 0 AND 100 * lost >= sent) AS lossy_pairs,
        sum(sent) AS probes,
        sum(lost) AS unanswered,
        sum(length(rtt_us)) AS samples,
        quantilesExactInclusiveArray(0.5, 0.99)(rtt_us) AS quantiles,
        max(inserted_at) AS source_at
    FROM probe_results FINAL
    WHERE (job, toStartOfMinute(time)) IN
    (
        SELECT job, toStartOfMinute(time)
        FROM probe_results
        WHERE inserted_at > toDateTime(greatest(0, done - 120), 'UTC') AND inserted_at <= toDateTime(until, 'UTC')
        GROUP BY 1, 2
    )
    AND sent > 0
    GROUP BY minute, fabric, link, job
)
SETTINGS use_skip_indexes_if_final = 1, use_skip_indexes_if_final_exact_mode = 0
COMMENT 'Keeps link_minutes up to date.';

CREATE MATERIALIZED VIEW IF NOT EXISTS outcome_minutes_refresh REFRESH EVERY 1 MINUTE APPEND TO outcome_minutes AS
WITH
    (SELECT toInt64(toUnixTimestamp(max(source_at))) FROM outcome_minutes) AS done,
    (SELECT toInt64(toUnixTimestamp(min(inserted_at))) FROM probe_results WHERE inserted_at > toDateTime(done, 'UTC'))
        AS next,
    multiIf(next > 0, next + 3600, done > toInt64(toUnixTimestamp(now())) - 600, done, 0) AS until
SELECT
    minute, fabric, job, owner AS tenant, kind, outcome, said AS reason, trains, sources,
    probes AS sent, unanswered AS lost, late, delay_max_s, source_at
FROM
(
    SELECT
        toStartOfMinute(time) AS minute, fabric, job, kind, outcome, ifNull(reason, '') AS said,
        any(tenant) AS owner,
        count() AS trains,
        uniqExact(src) AS sources,
        sum(sent) AS probes,
        sum(lost) AS unanswered,
        countIf(arrival_us > t_us + 5000000) AS late,
        max(toInt64(arrival_us) - toInt64(t_us)) / 1e6 AS delay_max_s,
        max(inserted_at) AS source_at
    FROM probe_results FINAL
    WHERE (job, toStartOfMinute(time)) IN
    (
        SELECT job, toStartOfMinute(time)
        FROM probe_results
        WHERE inserted_at > toDateTime(greatest(0, done - 120), 'UTC') AND inserted_at <= toDateTime(until, 'UTC')
        GROUP BY 1, 2
    )
    GROUP BY minute, fabric, job, kind, outcome, said
)
SETTINGS use_skip_indexes_if_final = 1, use_skip_indexes_if_final_exact_mode = 0
COMMENT 'Keeps outcome_minutes up to date.';

CREATE OR REPLACE VIEW incident_steps AS
SELECT
    incident, fabric, job, kind, issue, component, onset_us,
    lasted_s,
    if(usual IS NULL, NULL, usual) AS usual_step_s,
    lasted_s / usual AS steps_expected,
    if(usual IS NULL, NULL, done) AS steps_done,
    greatest(0., lasted_s / usual - done) AS steps_lost,
    least(1., done / nullIf(lasted_s / usual, 0)) AS progress_preserved
FROM
(
    SELECT
        incident, fabric, job, kind, issue, component, onset_us, lasted_s,
        quantileExactInclusiveOrNullIf(0.5)(step_s, end_s <= 0) AS usual,
        sum(greatest(0., least(end_s, lasted_s) - greatest(end_s - step_s, 0.)) / step_s) AS done
    FROM
    (
        SELECT
            alarm.incident AS incident, alarm.fabric AS fabric, alarm.job AS job,
            alarm.kind AS kind, alarm.issue AS issue, alarm.component AS component, alarm.onset_us AS onset_us,
            (toInt64(step.t_us) - toInt64(alarm.onset_us)) / 1e6 AS end_s,
            step.step_s AS step_s,
            greatest(0., (toInt64(ifNull(alarm.resolved_us, step.last_us)) - toInt64(alarm.onset_us)) / 1e6) AS lasted_s
        FROM
        (
            SELECT incident, fabric, kind, issue, component, onset_us, resolved_us, arrayJoin(jobs) AS job
            FROM incidents_current
        ) AS alarm
        INNER JOIN
        (
            SELECT fabric, job, t_us, step_s, max(t_us) OVER (PARTITION BY fabric, job) AS last_us
            FROM job_progress FINAL
            WHERE step_s > 0
        ) AS step ON alarm.fabric = step.fabric AND alarm.job = step.job
    )
    WHERE end_s > -3600
    GROUP BY incident, fabric, job, kind, issue, component, onset_us, lasted_s
)
COMMENT 'Training steps that a job lost while an incident lasted, against its usual step (median of the hour before the
onset). An incident that is open lasts to the last step that the job reported.';

CREATE OR REPLACE VIEW training_progress AS
SELECT
    fabric, job, steps_run, steps_done,
    steps_run - steps_done AS steps_repeated,
    usual AS usual_step_s,
    elapsed_s,
    if(elapsed_s = 0, NULL, least(1., steps_done * usual / elapsed_s)) AS useful_progress,
    first_time, last_time
FROM
(
    SELECT
        fabric, job,
        count() AS steps_run,
        uniqExact(step) AS steps_done,
        quantileExactInclusive(0.5)(step_s) AS usual,
        max(t_us) / 1e6 - min(t_us / 1e6 - step_s) AS elapsed_s,
        min(time) AS first_time,
        max(time) AS last_time
    FROM job_progress FINAL
    WHERE step_s > 0
    GROUP BY fabric, job
)
COMMENT 'Share of the time of a job that went into steps that count, at its usual (median) step: what hung, was slow, or
was done again after a restart is missing.';
