#!/usr/bin/env bash
# Apache Kafka with TLS, users (SCRAM) and its authorizer, which denies what no ACL allows: the tests with marker secure.
#
#   .ci/secure-kafka.sh                 starts a broker, runs the tests, stops it
#   .ci/secure-kafka.sh run COMMAND...  the same with any command
#
# $SKELETONHUNTER_TEST_SECURE_KAFKA is the broker's address; $SKELETONHUNTER_TEST_SECURE_CA the file with its authority;
# the user admin has the password in $SKELETONHUNTER_TEST_SECURE_PASSWORD. Needs what .ci/apache-kafka.sh needs, which
# fetches Kafka.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
version=${KAFKA_VERSION:-4.1.0}
jars=${KAFKA_JARS:-${XDG_CACHE_HOME:-$HOME/.cache}/skeletonhunter/apache-kafka-$version}
[ -f "$jars/complete" ] || "$here/.ci/apache-kafka.sh" run true
java=(-Xmx768m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$jars/*")
folder=$(mktemp -d)
pid=

stop() {
  [ -z "$pid" ] || { kill "$pid" 2>/dev/null && wait "$pid"; } || true
  rm -rf "$folder"
}
trap stop EXIT

free_port() {
  "$here/.venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

port=$(free_port)
controller=$(free_port)
password=$("$here/.venv/bin/python" -c 'import secrets; print(secrets.token_hex(12))')
store=$("$here/.venv/bin/python" -c 'import secrets; print(secrets.token_hex(12))')
keytool -genkeypair -alias broker -keyalg RSA -keysize 2048 -validity 30 -dname CN=localhost \
  -ext SAN=ip:127.0.0.1,dns:localhost -storetype PKCS12 -keystore "$folder/broker.p12" -storepass "$store" 2>/dev/null
keytool -exportcert -rfc -alias broker -keystore "$folder/broker.p12" -storepass "$store" >"$folder/ca.pem" 2>/dev/null
scram="org.apache.kafka.common.security.scram.ScramLoginModule required username=\"admin\" password=\"$password\";"
# The controller listens on a port of this machine for its own broker only; in production it has TLS and users as well.
cat >"$folder/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:$controller
listeners=SASL_SSL://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=SASL_SSL://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
listener.security.protocol.map=SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=SASL_SSL
sasl.enabled.mechanisms=SCRAM-SHA-512
sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=$scram
ssl.keystore.type=PKCS12
ssl.keystore.location=$folder/broker.p12
ssl.keystore.password=$store
ssl.truststore.type=PEM
ssl.truststore.location=$folder/ca.pem
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=false
super.users=User:admin;User:ANONYMOUS
log.dirs=$folder/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
PROPERTIES
id=$(java "${java[@]}" kafka.tools.StorageTool random-uuid 2>/dev/null)
java "${java[@]}" kafka.tools.StorageTool format --standalone -t "$id" -c "$folder/server.properties" \
  --add-scram "SCRAM-SHA-512=[name=admin,password=$password]" >"$folder/format.log" 2>&1 || { cat "$folder/format.log"; exit 1; }
(exec java "${java[@]}" kafka.Kafka "$folder/server.properties") >"$folder/broker.log" 2>&1 &
pid=$!
for _ in $(seq 300); do
  kill -0 "$pid" 2>/dev/null || break
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then started=yes && break; fi
  sleep 0.2
done
[ -n "${started:-}" ] || { echo "Apache Kafka does not start:"; tail -n 40 "$folder/broker.log"; exit 1; }
echo "Apache Kafka $version with TLS, users and ACLs at 127.0.0.1:$port"
export SKELETONHUNTER_TEST_SECURE_KAFKA=127.0.0.1:$port SKELETONHUNTER_TEST_SECURE_CA=$folder/ca.pem
export SKELETONHUNTER_TEST_SECURE_PASSWORD=$password
cd "$here"
if [ "${1:-}" = run ]; then
  shift
  "$@"
else
  .venv/bin/python -m pytest -m secure ${JUNIT_XML:+--junitxml="$JUNIT_XML"} "$@"
fi
