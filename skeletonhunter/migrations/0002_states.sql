-- What hosts say about themselves: flow tables, warnings, health of the agents.
-- A row that is delivered again replaces itself: read with FINAL.

CREATE TABLE IF NOT EXISTS flow_entries
(
    t_us UInt64 COMMENT 'when the snapshot was taken, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    host LowCardinality(String) COMMENT 'host whose table it is',
    rnic LowCardinality(Nullable(String)) COMMENT 'RNIC whose table it is; null for the virtual switch',
    `table` LowCardinality(String) COMMENT 'vswitch or rnic',
    complete Bool COMMENT 'the snapshot holds the whole table',
    flow String COMMENT 'id, the same in both tables for one flow' CODEC(ZSTD(1)),
    at LowCardinality(String) COMMENT 'component that the flow stands at',
    next LowCardinality(Nullable(String)) COMMENT 'component that it is sent to; null = dropped',
    src LowCardinality(Nullable(String)) COMMENT 'source endpoint; null when not resolved',
    dst LowCardinality(Nullable(String)) COMMENT 'destination endpoint; null when not resolved',
    match String COMMENT 'match as the table writes it' CODEC(ZSTD(1)),
    actions String COMMENT 'actions as the table writes them' CODEC(ZSTD(1)),
    packets Nullable(UInt64) COMMENT 'packets, cumulative' CODEC(ZSTD(1)),
    bytes Nullable(UInt64) COMMENT 'bytes, cumulative' CODEC(ZSTD(1)),
    idle_s Nullable(Float64) COMMENT 'seconds since the last packet' CODEC(ZSTD(1)),
    offloaded Nullable(Bool) COMMENT 'what this table believes',
    path LowCardinality(Nullable(String)) COMMENT 'hardware or software: what the packets were seen to take',
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
PARTITION BY toYYYYMM(time)
PRIMARY KEY (fabric, host, `table`, flow, time)
ORDER BY (fabric, host, `table`, flow, time, producer_id, boot, seq, item)
TTL inserted_at + INTERVAL 14 DAY
COMMENT 'One row of a flow table: where a flow stands and where it is sent next.';

CREATE TABLE IF NOT EXISTS flow_snapshots
(
    t_us UInt64 COMMENT 'when the snapshot was taken, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    host LowCardinality(String) COMMENT 'host whose table it is',
    rnic LowCardinality(Nullable(String)) COMMENT 'RNIC whose table it is; null for the virtual switch',
    `table` LowCardinality(String) COMMENT 'vswitch or rnic',
    complete Bool COMMENT 'the snapshot holds the whole table',
    flows UInt32 COMMENT 'rows in the snapshot',
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
PARTITION BY toYYYYMM(time)
PRIMARY KEY (fabric, host, `table`, time)
ORDER BY (fabric, host, `table`, time, producer_id, boot, seq, item)
TTL inserted_at + INTERVAL 14 DAY
COMMENT 'One snapshot of a flow table, also of an empty one: a flow that is missing here was gone.';

CREATE TABLE IF NOT EXISTS device_events
(
    t_us UInt64 COMMENT 'when it happened, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    device LowCardinality(String) COMMENT 'component id',
    event LowCardinality(String) COMMENT 'code of the event',
    severity LowCardinality(String) COMMENT 'info, warning or error',
    text String COMMENT 'the words of the device' CODEC(ZSTD(1)),
    `values` String COMMENT 'figures that came with it, JSON' CODEC(ZSTD(1)),
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
PARTITION BY toYYYYMM(time)
PRIMARY KEY (fabric, device, time)
ORDER BY (fabric, device, time, producer_id, boot, seq, item)
TTL inserted_at + INTERVAL 365 DAY
COMMENT 'A warning of a device about itself.';

CREATE TABLE IF NOT EXISTS agent_health
(
    t_us UInt64 COMMENT 'when it reported, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    agent LowCardinality(String) COMMENT 'the agent',
    host LowCardinality(String) COMMENT 'host that it runs on',
    covers Array(LowCardinality(String)) COMMENT 'endpoints that it speaks for' CODEC(ZSTD(1)),
    state LowCardinality(String) COMMENT 'ok, throttled, starved or stopping',
    cpu_percent Nullable(Float64) COMMENT 'share of one core, percent' CODEC(ZSTD(1)),
    rss_bytes Nullable(UInt64) COMMENT 'resident memory' CODEC(T64, ZSTD(1)),
    send_lag_us Nullable(Float64) COMMENT 'how late its probes go out, us' CODEC(ZSTD(1)),
    dropped Nullable(UInt64) COMMENT 'messages that it had to drop, cumulative' CODEC(T64, ZSTD(1)),
    gids String COMMENT 'GID in use by endpoint, JSON; null when not reported' CODEC(ZSTD(1)),
    plan_version Nullable(UInt64) COMMENT 'version of the probe plan that it follows' CODEC(ZSTD(1)),
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
PARTITION BY toYYYYMM(time)
PRIMARY KEY (fabric, agent, time)
ORDER BY (fabric, agent, time, producer_id, boot, seq, item)
TTL inserted_at + INTERVAL 30 DAY
COMMENT 'How an agent itself is doing.';
