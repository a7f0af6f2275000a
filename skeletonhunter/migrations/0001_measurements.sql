-- What is measured all the time: probes, counters, bursts, queues, steps.
-- A row that is delivered again replaces itself: read with FINAL.

CREATE TABLE IF NOT EXISTS probe_results
(
    t_us UInt64 COMMENT 'when the train ended, us since the epoch, by the prober clock' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    job LowCardinality(String) COMMENT 'the job that it belongs to',
    tenant LowCardinality(Nullable(String)) COMMENT 'who owns the job',
    src LowCardinality(String) COMMENT 'endpoint that probed',
    dst LowCardinality(String) COMMENT 'endpoint that was probed',
    plan_version UInt64 COMMENT 'version of the probe plan that asked for it' CODEC(Delta, ZSTD(1)),
    kind LowCardinality(String) COMMENT 'transport: rdma, tcp, udp or traceroute',
    outcome LowCardinality(String) COMMENT 'reply, lost, not_sent or target_not_ready',
    sent UInt64 COMMENT 'probes sent' CODEC(ZSTD(1)),
    lost UInt64 COMMENT 'probes without reply' CODEC(ZSTD(1)),
    rtt_us Array(Float64) COMMENT 'round trip times of a sample of the replies, us' CODEC(ZSTD(1)),
    prober_delay_us Nullable(Float64) COMMENT 'time spent in the prober, us; null when not known' CODEC(ZSTD(1)),
    responder_delay_us Nullable(Float64) COMMENT 'time spent in the responder, us; null when not known' CODEC(ZSTD(1)),
    sport Nullable(UInt16) COMMENT 'UDP source port' CODEC(ZSTD(1)),
    path Array(LowCardinality(String)) COMMENT 'link ids from the source on; empty when not known' CODEC(ZSTD(1)),
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
PRIMARY KEY (job, src, dst, time)
ORDER BY (job, src, dst, time, producer_id, boot, seq, item)
TTL inserted_at + INTERVAL 30 DAY
COMMENT 'One probe train from one endpoint to another: what was sent, lost and how long replies took.';

CREATE TABLE IF NOT EXISTS rnic_counters
(
    t_us UInt64 COMMENT 'when it was sampled, us since the epoch; may run backwards' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    job LowCardinality(String) COMMENT 'the job that it belongs to',
    tenant LowCardinality(Nullable(String)) COMMENT 'who owns the job',
    container LowCardinality(String) COMMENT 'container whose RNIC it is',
    host LowCardinality(String) COMMENT 'host that it runs on',
    rnic LowCardinality(String) COMMENT 'RNIC inside the host',
    tx_bytes Nullable(UInt64) COMMENT 'bytes sent, cumulative; null when it could not be read' CODEC(T64, ZSTD(1)),
    rx_bytes Nullable(UInt64) COMMENT 'bytes received, cumulative; null when it could not be read' CODEC(T64, ZSTD(1)),
    counter Nested(name LowCardinality(String), value Nullable(UInt64))
        COMMENT 'further cumulative counters by their kernel name',
    counters Map(LowCardinality(String), Nullable(UInt64)) ALIAS mapFromArrays(counter.name, counter.value)
        COMMENT 'the same as a map',
    endpoint String ALIAS concat(container, '/', rnic) COMMENT 'the endpoint',
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
PRIMARY KEY (job, container, rnic, time)
ORDER BY (job, container, rnic, time, producer_id, boot, seq, item)
TTL inserted_at + INTERVAL 30 DAY
COMMENT 'Cumulative counters of one RNIC as sampled; a decrease or a new boot is a reset.';

CREATE TABLE IF NOT EXISTS rnic_bursts
(
    t_us UInt64 COMMENT 'end of the burst, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    job LowCardinality(String) COMMENT 'the job that it belongs to',
    tenant LowCardinality(Nullable(String)) COMMENT 'who owns the job',
    endpoint LowCardinality(String) COMMENT 'endpoint whose burst it is',
    start_us UInt64 COMMENT 'start, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    bytes UInt64 COMMENT 'bytes in the burst' CODEC(T64, ZSTD(1)),
    direction LowCardinality(String) COMMENT 'tx or rx',
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
PRIMARY KEY (job, endpoint, time)
ORDER BY (job, endpoint, time, producer_id, boot, seq, item)
TTL inserted_at + INTERVAL 30 DAY
COMMENT 'Bytes that one endpoint sent or received without a pause.';

CREATE TABLE IF NOT EXISTS switch_queues
(
    t_us UInt64 COMMENT 'when it was sampled, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    switch LowCardinality(String) COMMENT 'switch that was asked',
    port LowCardinality(String) COMMENT 'port, by its bare name inside the switch',
    queue LowCardinality(String) COMMENT 'queue of the port',
    switch_port String ALIAS concat(switch, '/', port) COMMENT 'the port as other tables name it',
    depth_bytes Nullable(UInt64) COMMENT 'bytes waiting; null when it could not be read' CODEC(T64, ZSTD(1)),
    ecn_marked Nullable(UInt64) COMMENT 'packets marked, cumulative' CODEC(T64, ZSTD(1)),
    pfc_rx Nullable(UInt64) COMMENT 'pause frames received, cumulative' CODEC(T64, ZSTD(1)),
    pfc_tx Nullable(UInt64) COMMENT 'pause frames sent, cumulative' CODEC(T64, ZSTD(1)),
    dropped Nullable(UInt64) COMMENT 'packets dropped, cumulative' CODEC(T64, ZSTD(1)),
    crc_errors Nullable(UInt64) COMMENT 'corrupt packets received, cumulative' CODEC(T64, ZSTD(1)),
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
PRIMARY KEY (fabric, switch, port, queue, time)
ORDER BY (fabric, switch, port, queue, time, producer_id, boot, seq, item)
TTL inserted_at + INTERVAL 30 DAY
COMMENT 'One egress queue of a switch as sampled; all but the depth are cumulative counters.';

CREATE TABLE IF NOT EXISTS job_progress
(
    t_us UInt64 COMMENT 'when the step ended, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    job LowCardinality(String) COMMENT 'the job that it belongs to',
    tenant LowCardinality(Nullable(String)) COMMENT 'who owns the job',
    step UInt64 COMMENT 'number of the step' CODEC(Delta, ZSTD(1)),
    step_s Float64 COMMENT 'how long it took, s' CODEC(ZSTD(1)),
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
PRIMARY KEY (job, step, time)
ORDER BY (job, step, time, producer_id, boot, seq, item)
TTL inserted_at + INTERVAL 365 DAY
COMMENT 'A finished training step.';
