-- What is wrong and who is to blame. Every state is kept; views say which one holds.
-- A row that is delivered again replaces itself: read with FINAL.

CREATE TABLE IF NOT EXISTS anomalies
(
    t_us UInt64 COMMENT 'when it was said, us since the epoch, in event time' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    job LowCardinality(String) COMMENT 'the job that it belongs to',
    tenant LowCardinality(Nullable(String)) COMMENT 'who owns the job',
    anomaly String COMMENT 'id of the anomaly',
    src LowCardinality(String) COMMENT 'endpoint that probed',
    dst LowCardinality(String) COMMENT 'endpoint that was probed',
    symptom LowCardinality(String) COMMENT 'unconnectivity, packet_loss or high_latency',
    state LowCardinality(String) COMMENT 'open or cleared',
    onset_us UInt64 COMMENT 'when it began, us since the epoch',
    onset_time DateTime64(6, 'UTC')
        DEFAULT fromUnixTimestamp64Micro(toInt64(least(onset_us, 10413791999999999)), 'UTC')
        COMMENT 'onset_us as a date',
    detected_us UInt64 COMMENT 'when it was found, us since the epoch',
    detected_time DateTime64(6, 'UTC')
        DEFAULT fromUnixTimestamp64Micro(toInt64(least(detected_us, 10413791999999999)), 'UTC')
        COMMENT 'detected_us as a date',
    detector LowCardinality(String) COMMENT 'detector that found it',
    score Float64 COMMENT 'how far out it is, in units of the detector',
    baseline_loss Nullable(Float64) COMMENT 'usual loss, share',
    baseline_rtt_us Nullable(Float64) COMMENT 'usual RTT, us',
    observed_loss Nullable(Float64) COMMENT 'loss in the window, share',
    observed_rtt_us Nullable(Float64) COMMENT 'RTT in the window, us',
    observed_sent Nullable(UInt64) COMMENT 'probes in the window',
    observed_window_s Nullable(Float64) COMMENT 'width of the window, s',
    path Array(LowCardinality(String)) COMMENT 'link ids from the source on; empty when not known',
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
PRIMARY KEY (fabric, anomaly)
ORDER BY (fabric, anomaly, t_us, producer_id, boot, seq)
TTL inserted_at + INTERVAL 365 DAY
COMMENT 'One pair with one symptom, each change of its state.';

CREATE TABLE IF NOT EXISTS incidents
(
    t_us UInt64 COMMENT 'when it was said, us since the epoch, in event time' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    incident String COMMENT 'id of the incident',
    state LowCardinality(String) COMMENT 'open, updated or resolved',
    kind LowCardinality(String) COMMENT 'network_fault, congestion, or a trouble of the monitor itself',
    issue LowCardinality(Nullable(String)) COMMENT 'one of the nineteen issues; null = not known',
    component LowCardinality(Nullable(String)) COMMENT 'component id that is blamed',
    component_class LowCardinality(Nullable(String)) COMMENT 'class of that component',
    confidence Float64 COMMENT 'how sure, 0 to 1',
    candidates Nested(component LowCardinality(String), score Float64)
        COMMENT 'components that could be to blame',
    jobs Array(LowCardinality(String)) COMMENT 'jobs that it touches',
    endpoints Array(LowCardinality(String)) COMMENT 'endpoints that it touches' CODEC(ZSTD(1)),
    symptom LowCardinality(Nullable(String)) COMMENT 'unconnectivity, packet_loss or high_latency',
    onset_us UInt64 COMMENT 'when it began, us since the epoch',
    onset_time DateTime64(6, 'UTC')
        DEFAULT fromUnixTimestamp64Micro(toInt64(least(onset_us, 10413791999999999)), 'UTC')
        COMMENT 'onset_us as a date',
    detected_us UInt64 COMMENT 'when it was noticed, us since the epoch',
    detected_time DateTime64(6, 'UTC')
        DEFAULT fromUnixTimestamp64Micro(toInt64(least(detected_us, 10413791999999999)), 'UTC')
        COMMENT 'detected_us as a date',
    localized_us Nullable(UInt64) COMMENT 'when a component was blamed, us since the epoch; null = not yet',
    localized_time Nullable(DateTime64(6, 'UTC'))
        DEFAULT fromUnixTimestamp64Micro(
            toInt64(if(localized_us > 10413791999999999, 10413791999999999, localized_us)), 'UTC')
        COMMENT 'localized_us as a date',
    resolved_us Nullable(UInt64) COMMENT 'when it was over, us since the epoch; null = not yet',
    resolved_time Nullable(DateTime64(6, 'UTC'))
        DEFAULT fromUnixTimestamp64Micro(
            toInt64(if(resolved_us > 10413791999999999, 10413791999999999, resolved_us)), 'UTC')
        COMMENT 'resolved_us as a date',
    evidence Nested(topic LowCardinality(String), t_us UInt64, ref String, text String)
        COMMENT 'facts that the verdict rests on',
    trace String COMMENT 'the passes of the localization, JSON; as rows in localization_steps' CODEC(ZSTD(1)),
    action_kind LowCardinality(String) COMMENT 'what to do',
    action_target LowCardinality(Nullable(String)) COMMENT 'component id that it is done to',
    action_why String COMMENT 'why' CODEC(ZSTD(1)),
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
PRIMARY KEY (incident)
ORDER BY (incident, t_us, producer_id, boot, seq)
TTL inserted_at + INTERVAL 1825 DAY
COMMENT 'What broke, how sure, why and what to do: every state that an incident went through.';

CREATE TABLE IF NOT EXISTS localization_steps
(
    t_us UInt64 COMMENT 'when it was said, us since the epoch, in event time' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    incident String COMMENT 'id of the incident' CODEC(ZSTD(1)),
    state LowCardinality(String) COMMENT 'state of the incident that this reasoning led to',
    pass_no UInt16 COMMENT 'place of the pass, from 1',
    pass LowCardinality(String) COMMENT 'overlay, underlay, boundary, host or monitor',
    assumption String COMMENT 'what the pass took for granted' CODEC(ZSTD(1)),
    verdict LowCardinality(String) COMMENT 'clean, suspect or inconclusive',
    reason String COMMENT 'why the pass concludes that' CODEC(ZSTD(1)),
    test_no UInt16 COMMENT 'place of the test in its pass, from 1; 0 = the pass asked nothing',
    test LowCardinality(Nullable(String)) COMMENT 'the question',
    result Nullable(String) COMMENT 'the answer' CODEC(ZSTD(1)),
    detail Nullable(String) COMMENT 'the figures behind it' CODEC(ZSTD(1)),
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
PRIMARY KEY (incident)
ORDER BY (incident, t_us, producer_id, boot, seq, pass_no, test_no)
TTL inserted_at + INTERVAL 1825 DAY
COMMENT 'The reasoning behind one state of an incident, one row per pass and test.';

CREATE TABLE IF NOT EXISTS operator_feedback
(
    t_us UInt64 COMMENT 'when it was said, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    incident String COMMENT 'incident that it is about',
    verdict LowCardinality(String) COMMENT 'right, wrong (no fault) or component (a fault, but of another one)',
    was LowCardinality(Nullable(String)) COMMENT 'what it really was',
    fixed Bool COMMENT 'it has been repaired',
    text String COMMENT 'in their own words' CODEC(ZSTD(1)),
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
PRIMARY KEY (incident)
ORDER BY (incident, t_us, producer_id, boot, seq)
TTL inserted_at + INTERVAL 1460 DAY
COMMENT 'Whether a blame was right, by the people who looked.';
