-- What was told to whom: the delivery log of alerts.

CREATE TABLE IF NOT EXISTS alert_deliveries
(
    t_us UInt64 COMMENT 'event time of the newest incident of the page, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    page String COMMENT 'target and incident that opened the page' CODEC(ZSTD(1)),
    target LowCardinality(String) COMMENT 'who was told',
    incident String COMMENT 'incident that opened the page' CODEC(ZSTD(1)),
    incidents Array(String) COMMENT 'all incidents that the page speaks of' CODEC(ZSTD(1)),
    state LowCardinality(String) COMMENT 'open, updated or resolved: the state of the page',
    outcome LowCardinality(String) COMMENT 'delivered, failed or withheld',
    why String COMMENT 'the reason of a failure or of holding back' CODEC(ZSTD(1)),
    severity LowCardinality(String) COMMENT 'critical, error, warning or info',
    delivery String COMMENT 'idempotency key of the alert' CODEC(ZSTD(1)),
    attempts UInt64 COMMENT 'attempts that it took; 0 = nothing was sent' CODEC(T64, ZSTD(1)),
    reminders UInt64 COMMENT 'reminders of the page so far' CODEC(T64, ZSTD(1)),
    opened_us UInt64 COMMENT 'when the page was opened, in event time' CODEC(DoubleDelta, ZSTD(1)),
    sent_us UInt64 COMMENT 'when it was last attempted, by the clock of the sender; 0 = never'
        CODEC(DoubleDelta, ZSTD(1)),
    producer_id LowCardinality(String) COMMENT 'the stream of the agent that saw it',
    producer_kind LowCardinality(String) COMMENT 'what kind of agent that is',
    boot LowCardinality(String) COMMENT 'the boot that seq counts under',
    seq UInt64 COMMENT 'number of the message among those of its producer and boot' CODEC(Delta, ZSTD(1)),
    item UInt32 COMMENT 'place of the row in its message' CODEC(Delta, ZSTD(1)),
    clock_source LowCardinality(String) COMMENT 'what disciplines the producer clock: ptp, ntp or none',
    clock_offset_us Float64 COMMENT 'estimate of clock minus reference, us' CODEC(ZSTD(1)),
    clock_error_us Float64 COMMENT 'bound of what remains after that correction, us' CODEC(ZSTD(1)),
    arrival_us UInt64 COMMENT 'when the message came in, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    kafka_partition Nullable(Int32) COMMENT 'null when it did not come through Kafka',
    kafka_offset Nullable(Int64) COMMENT 'null when it did not come through Kafka' CODEC(Delta, ZSTD(1)),
    inserted_at DateTime('UTC') DEFAULT now()
        COMMENT 'when it was written; retention counts from here, so that old recordings stay' CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree
PRIMARY KEY (target, incident)
ORDER BY (target, incident, boot, seq)
TTL inserted_at + INTERVAL 730 DAY
COMMENT 'What was told to whom about which incident, with what success.';
