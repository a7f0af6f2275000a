#!/usr/bin/env bash
# Apache Kafka (KRaft, one node, from Maven Central) without docker and root: the suite that the embedded broker passes,
# on the real thing.
#
#   .ci/apache-kafka.sh                 starts a broker, runs the tests with marker kafka on it, stops it
#   .ci/apache-kafka.sh run COMMAND...  the same with any command; $SKELETONHUNTER_TEST_KAFKA is the broker's address
#
# Needs Java 17 and mvn (.ci/run installs them). Jars are kept in $KAFKA_JARS and fetched once. JUNIT_XML=FILE writes a
# report of the tests.
set -euo pipefail
. "$(dirname "$0")/kafka-node.bash"
start PLAINTEXT
echo "Apache Kafka $version at $broker"
export SKELETONHUNTER_TEST_KAFKA=$broker
[ "${1:-}" = run ] || set -- -n 3 --dist loadfile --no-loadscope-reorder "$@"  # they wait most of the time, each for topics of its own
run_or_test "kafka or apache" "$@"
