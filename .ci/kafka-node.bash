# One node of Apache Kafka (KRaft, from Maven Central) without docker and root; what apache-kafka.sh and secure-kafka.sh
# have in common. To be sourced. Needs Java 17 and mvn. Jars are kept in $KAFKA_JARS and fetched once.
version=${KAFKA_VERSION:-4.1.0}
jars=${KAFKA_JARS:-${XDG_CACHE_HOME:-$HOME/.cache}/skeletonhunter/apache-kafka-$version}
java=(-Xmx768m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$jars/*")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d)

fetch() {
  [ -f "$jars/complete" ] && return
  local project
  project=$(mktemp -d)
  cat >"$project/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>skeletonhunter.ci</groupId><artifactId>apache-kafka</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$version</version></dependency>
  </dependencies>
</project>
POM
  echo "Fetching Apache Kafka $version from Maven Central"
  mkdir -p "$jars"
  (cd "$project" && mvn -q -B dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$jars")
  rm -rf "$project"
  touch "$jars/complete"
}

free_port() {
  "$here/.venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

configure() { # protocol of clients, options of the formatter...; $properties: more of them; sets $broker and $command
  local protocol=$1 port controller
  shift
  port=$(free_port)
  controller=$(free_port)
  broker=127.0.0.1:$port
  cat >"$folder/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:$controller
listeners=$protocol://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=$protocol://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
listener.security.protocol.map=$protocol:$protocol,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=$protocol
log.dirs=$folder/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
PROPERTIES
  [ -z "${properties:-}" ] || printf '%s\n' "$properties" >>"$folder/server.properties"
  kafka kafka.tools.StorageTool format --standalone -t "$(kafka kafka.tools.StorageTool random-uuid 2>/dev/null)" \
    -c "$folder/server.properties" "$@" >"$folder/format.log" 2>&1 || { cat "$folder/format.log"; return 1; }
  command=(java "${java[@]}" kafka.Kafka "$folder/server.properties")
}

start() { # as configure; sets $pid as well
  configure "$@"
  (exec "${command[@]}") >"$folder/broker.log" 2>&1 &
  pid=$!
  for _ in $(seq 300); do
    kill -0 "$pid" 2>/dev/null || break
    if (exec 3<>"/dev/tcp/${broker/://}") 2>/dev/null; then return; fi
    sleep 0.2
  done
  echo "Apache Kafka does not start:"
  tail -n 40 "$folder/broker.log"
  return 1
}

kafka() { # main class, arguments...
  java "${java[@]}" "$@"
}

stop() {
  [ -z "${pid:-}" ] || { kill "$pid" 2>/dev/null && wait "$pid"; } || true
  rm -rf "$folder"
}

run_or_test() { # marker of the tests, then the words of the command line
  local marker=$1
  shift
  cd "$here"
  if [ "${1:-}" = run ]; then
    shift
    "$@"
  else
    .venv/bin/python -m pytest -m "$marker" ${JUNIT_XML:+--junitxml="$JUNIT_XML"} "$@"
  fi
}

trap stop EXIT
fetch
