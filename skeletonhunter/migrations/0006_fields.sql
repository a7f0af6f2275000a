-- Fields that messages have gained since the tables were made, codecs and indexes for the questions that are asked.
-- Rows of before have null in the new columns: it was not stored.

ALTER TABLE probe_results
    ADD COLUMN IF NOT EXISTS late Nullable(UInt64)
        COMMENT 'replies after the timeout, not among lost; null when not known' CODEC(ZSTD(1)) AFTER path,
    ADD COLUMN IF NOT EXISTS timestamps LowCardinality(Nullable(String))
        COMMENT 'who took the times: hardware, kernel or software; null when not known' AFTER late,
    ADD COLUMN IF NOT EXISTS reason LowCardinality(Nullable(String))
        COMMENT 'why nothing or not all was sent; null when there is nothing to say' AFTER timestamps;

ALTER TABLE switch_queues
    ADD COLUMN IF NOT EXISTS received_us Nullable(UInt64)
        COMMENT 'when the collector had it, by its own clock, us; null = t_us' CODEC(Delta, ZSTD(1)) AFTER crc_errors,
    ADD COLUMN IF NOT EXISTS software LowCardinality(Nullable(String))
        COMMENT 'release that the switch runs; null when not known' AFTER received_us;

ALTER TABLE flow_entries
    ADD COLUMN IF NOT EXISTS truncated LowCardinality(Nullable(String))
        COMMENT 'what the dump was cut short by; null when it was not' AFTER path;

ALTER TABLE flow_snapshots
    ADD COLUMN IF NOT EXISTS truncated LowCardinality(Nullable(String))
        COMMENT 'what the dump was cut short by; null when it was not' AFTER flows;

ALTER TABLE endpoint_map
    ADD COLUMN IF NOT EXISTS withheld LowCardinality(Nullable(String))
        COMMENT 'why the endpoint is not to be probed; null when it may be' AFTER endpoint_state;

ALTER TABLE fabric_nodes
    ADD COLUMN IF NOT EXISTS addresses Nullable(String)
        COMMENT 'addresses and their ports, JSON; null when not known' CODEC(ZSTD(1)) AFTER kind;

ALTER TABLE probe_plans
    ADD COLUMN IF NOT EXISTS probes_per_slot Nullable(UInt64)
        COMMENT 'probes that an RNIC takes part in at a time' AFTER slots,
    ADD COLUMN IF NOT EXISTS alternate Nullable(Bool)
        COMMENT 'source and destination change places in every odd round' AFTER probes_per_slot,
    ADD COLUMN IF NOT EXISTS jitter_s Nullable(Float64)
        COMMENT 'how far a probe may begin after its slot does, s' AFTER alternate,
    ADD COLUMN IF NOT EXISTS turns Nullable(String)
        COMMENT 'source ports that change from round to round, JSON; null = none do' CODEC(ZSTD(3)) AFTER jitter_s,
    ADD COLUMN IF NOT EXISTS coverage Nullable(String)
        COMMENT 'links crossed and failures told apart, JSON; null when not worked out' CODEC(ZSTD(1)) AFTER turns,
    ADD COLUMN IF NOT EXISTS left_out_count Nullable(UInt64)
        COMMENT 'pairs that the budget could not hold' AFTER coverage,
    ADD COLUMN IF NOT EXISTS left_out Nullable(String)
        COMMENT 'the first of them and why, JSON' CODEC(ZSTD(1)) AFTER left_out_count,
    ADD COLUMN IF NOT EXISTS extra Nullable(String)
        COMMENT 'pairs that users added, JSON' CODEC(ZSTD(1)) AFTER left_out,
    ADD COLUMN IF NOT EXISTS suspects Array(LowCardinality(String))
        COMMENT 'components that are probed more because they are suspected' CODEC(ZSTD(1)) AFTER extra;

ALTER TABLE probe_results
    MODIFY COLUMN arrival_us CODEC(Delta, ZSTD(1)),
    MODIFY COLUMN rtt_us CODEC(ZSTD(3)),
    MODIFY COLUMN prober_delay_us CODEC(ZSTD(3)),
    MODIFY COLUMN responder_delay_us CODEC(ZSTD(3)),
    MODIFY COLUMN path CODEC(ZSTD(3)),
    ADD INDEX IF NOT EXISTS by_time time TYPE minmax GRANULARITY 1,
    ADD INDEX IF NOT EXISTS by_insertion inserted_at TYPE minmax GRANULARITY 1;

ALTER TABLE switch_queues
    ADD INDEX IF NOT EXISTS by_time time TYPE minmax GRANULARITY 1;

ALTER TABLE flow_entries
    ADD INDEX IF NOT EXISTS by_time time TYPE minmax GRANULARITY 1;

CREATE TABLE IF NOT EXISTS dead_letters
(
    arrival_us UInt64 COMMENT 'when the record came in, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(arrival_us, 10413791999999999)), 'UTC')
        COMMENT 'arrival_us as a date' CODEC(DoubleDelta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'topic that it came on',
    key String COMMENT 'its key; what is not UTF-8 is written as escapes' CODEC(ZSTD(1)),
    reason LowCardinality(String) COMMENT 'why it could not be used',
    detail String COMMENT 'what was wrong' CODEC(ZSTD(1)),
    bytes UInt64 COMMENT 'its size' CODEC(ZSTD(1)),
    begins String COMMENT 'its first 500 bytes, likewise' CODEC(ZSTD(1)),
    kafka_partition Int32 COMMENT 'where it stands in Kafka',
    kafka_offset Int64 COMMENT 'where it stands in Kafka' CODEC(Delta, ZSTD(1)),
    inserted_at DateTime('UTC') DEFAULT now()
        COMMENT 'when it was written; retention counts from here, so that old recordings stay' CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(time)
PRIMARY KEY (topic, reason)
ORDER BY (topic, reason, arrival_us, kafka_partition, kafka_offset)
TTL inserted_at + INTERVAL 30 DAY
COMMENT 'A record that the sink could not use; the whole of it is in the topic with -dlq after its name.';
