-- What exists, what of it a job exercises and what is probed of that.
-- A row that is delivered again replaces itself: read with FINAL.

CREATE TABLE IF NOT EXISTS endpoint_map
(
    t_us UInt64 COMMENT 'when the map was made, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    job LowCardinality(String) COMMENT 'the job that it belongs to',
    tenant LowCardinality(Nullable(String)) COMMENT 'who owns the job',
    version UInt64 COMMENT 'version of the map; the highest holds',
    state LowCardinality(String) COMMENT 'state of the job: starting, running or ended',
    reason String COMMENT 'why the map changed' CODEC(ZSTD(1)),
    endpoint LowCardinality(String) COMMENT 'container/rnic',
    container LowCardinality(String) COMMENT 'container',
    host LowCardinality(String) COMMENT 'host',
    rnic LowCardinality(String) COMMENT 'RNIC inside the host',
    rail UInt64 COMMENT 'rail of the RNIC',
    rank Nullable(UInt64) COMMENT 'rank in the job',
    vif Nullable(String) COMMENT 'interface inside the container' CODEC(ZSTD(1)),
    ip Nullable(String) COMMENT 'overlay address; not unique in the fabric' CODEC(ZSTD(1)),
    gid Nullable(String) COMMENT 'RoCE address' CODEC(ZSTD(1)),
    switch_port LowCardinality(Nullable(String)) COMMENT 'switch/port that the RNIC is cabled to',
    endpoint_state LowCardinality(String) COMMENT 'starting, ready or gone',
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
ENGINE = ReplacingMergeTree(t_us)
PRIMARY KEY (job, version, endpoint)
ORDER BY (job, version, endpoint)
TTL inserted_at + INTERVAL 365 DAY
COMMENT 'Where the endpoints of a job are, one row per endpoint and version.';

CREATE TABLE IF NOT EXISTS job_states
(
    t_us UInt64 COMMENT 'when the map was made, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    job LowCardinality(String) COMMENT 'the job that it belongs to',
    tenant LowCardinality(Nullable(String)) COMMENT 'who owns the job',
    version UInt64 COMMENT 'version of the map; the highest holds',
    state LowCardinality(String) COMMENT 'starting, running or ended',
    reason String COMMENT 'why the map changed' CODEC(ZSTD(1)),
    endpoints UInt32 COMMENT 'endpoints in the map',
    tp Nullable(UInt64) COMMENT 'tensor parallel degree, as declared',
    pp Nullable(UInt64) COMMENT 'pipeline parallel degree, as declared',
    dp Nullable(UInt64) COMMENT 'data parallel degree, as declared',
    ep Nullable(UInt64) COMMENT 'expert parallel degree, as declared',
    `groups` String COMMENT 'groups that a scheduler or library named, JSON; evidence, not truth' CODEC(ZSTD(1)),
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
ENGINE = ReplacingMergeTree(t_us)
PRIMARY KEY (job, version)
ORDER BY (job, version)
TTL inserted_at + INTERVAL 365 DAY
COMMENT 'One version of the endpoint map of a job, as a whole.';

CREATE TABLE IF NOT EXISTS fabric_nodes
(
    t_us UInt64 COMMENT 'when the map was made, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    version UInt64 COMMENT 'version of the map; the highest holds',
    node LowCardinality(String) COMMENT 'id of the node',
    kind LowCardinality(String) COMMENT 'leaf, spine, core or rnic',
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
ENGINE = ReplacingMergeTree(t_us)
PRIMARY KEY (fabric, version, node)
ORDER BY (fabric, version, node)
TTL inserted_at + INTERVAL 365 DAY
COMMENT 'The switches and RNICs of a fabric.';

CREATE TABLE IF NOT EXISTS fabric_links
(
    t_us UInt64 COMMENT 'when the map was made, us since the epoch' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    version UInt64 COMMENT 'version of the map; the highest holds',
    link LowCardinality(String) COMMENT 'id of the link',
    a LowCardinality(String) COMMENT 'port at one end, node/port',
    b LowCardinality(String) COMMENT 'port at the other end, node/port',
    ecmp String COMMENT 'how the path of a flow is known, JSON' CODEC(ZSTD(1)),
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
ENGINE = ReplacingMergeTree(t_us)
PRIMARY KEY (fabric, version, link)
ORDER BY (fabric, version, link)
TTL inserted_at + INTERVAL 365 DAY
COMMENT 'The cables of a fabric.';

CREATE TABLE IF NOT EXISTS skeletons
(
    t_us UInt64 COMMENT 'when it was concluded, us since the epoch, in event time' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    job LowCardinality(String) COMMENT 'the job that it belongs to',
    tenant LowCardinality(Nullable(String)) COMMENT 'who owns the job',
    skeleton String COMMENT 'id of the skeleton',
    version UInt64 COMMENT 'version, growing',
    supersedes Nullable(UInt64) COMMENT 'version that it replaces',
    endpoint_map_version UInt64 COMMENT 'endpoint map that it was inferred on',
    state LowCardinality(String) COMMENT 'forming, trusted, degraded, stale or disabled',
    confidence Float64 COMMENT 'how sure we are, 0 to 1',
    coverage Float64 COMMENT 'share of the observed burst bytes that it explains',
    period_s Nullable(Float64) COMMENT 'period of the traffic, s',
    edges UInt32 COMMENT 'number of edges',
    `groups` String COMMENT 'endpoints that play one role together, JSON' CODEC(ZSTD(1)),
    tp Nullable(UInt64) COMMENT 'tensor parallel degree, estimated',
    pp Nullable(UInt64) COMMENT 'pipeline parallel degree, estimated',
    dp Nullable(UInt64) COMMENT 'data parallel degree, estimated',
    ep Nullable(UInt64) COMMENT 'expert parallel degree, estimated',
    reason String COMMENT 'why this version' CODEC(ZSTD(1)),
    evidence String COMMENT 'figures that it rests on, JSON' CODEC(ZSTD(1)),
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
PRIMARY KEY (job, version)
ORDER BY (job, version, t_us, skeleton, seq)
TTL inserted_at + INTERVAL 365 DAY
COMMENT 'A version of the traffic skeleton of a job.';

CREATE TABLE IF NOT EXISTS skeleton_edges
(
    t_us UInt64 COMMENT 'when it was concluded, us since the epoch, in event time' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    job LowCardinality(String) COMMENT 'the job that it belongs to',
    tenant LowCardinality(Nullable(String)) COMMENT 'who owns the job',
    skeleton String COMMENT 'id of the skeleton' CODEC(ZSTD(1)),
    version UInt64 COMMENT 'version of the skeleton',
    a LowCardinality(String) COMMENT 'endpoint, the lesser of the two',
    b LowCardinality(String) COMMENT 'endpoint, the greater of the two',
    kind LowCardinality(String) COMMENT 'dp, pp, ep or unknown',
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
PRIMARY KEY (job, version)
ORDER BY (job, version, skeleton, a, b, kind)
TTL inserted_at + INTERVAL 90 DAY
COMMENT 'The pairs of endpoints that a skeleton version says a job keeps exercising.';

CREATE TABLE IF NOT EXISTS probe_plans
(
    t_us UInt64 COMMENT 'when it was made, us since the epoch, in event time' CODEC(DoubleDelta, ZSTD(1)),
    time DateTime64(6, 'UTC') DEFAULT fromUnixTimestamp64Micro(toInt64(least(t_us, 10413791999999999)), 'UTC')
        COMMENT 't_us as a date; what lies beyond the calendar stands at its end' CODEC(DoubleDelta, ZSTD(1)),
    fabric LowCardinality(String) COMMENT 'the fabric that it belongs to',
    job LowCardinality(String) COMMENT 'the job that it belongs to',
    tenant LowCardinality(Nullable(String)) COMMENT 'who owns the job',
    plan String COMMENT 'id of the plan',
    version UInt64 COMMENT 'version, growing',
    skeleton_version Nullable(UInt64) COMMENT 'skeleton that it follows; null = the basic list',
    mode LowCardinality(String) COMMENT 'basic, skeleton or disabled',
    budget_round_s Nullable(Float64) COMMENT 'round time that was asked for, s',
    budget_pps_per_rnic Nullable(Float64) COMMENT 'probes per second that an RNIC may spend',
    budget_targets_per_rnic Nullable(Int64) COMMENT 'targets that an RNIC may have',
    round_s Float64 COMMENT 'expected round time, s',
    probes UInt64 COMMENT 'probes in a round',
    lower_bound_s Float64 COMMENT 'least round time that could exist, s',
    link_coverage Nullable(Float64) COMMENT 'share of links that the probes cross',
    slots UInt32 COMMENT 'slots in a round',
    probe Nested(slot UInt32, src LowCardinality(String), dst LowCardinality(String), sport Int64)
        COMMENT 'the probes',
    excluded Nested(endpoint LowCardinality(String), why String)
        COMMENT 'endpoints that are left out, and why',
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
PRIMARY KEY (job, version)
ORDER BY (job, version, t_us, plan, seq)
TTL inserted_at + INTERVAL 90 DAY
COMMENT 'A probe plan: who probes whom in which slot.';
