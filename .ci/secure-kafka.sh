#!/usr/bin/env bash
# Apache Kafka with TLS, users (SCRAM) and its authorizer, which denies what no ACL allows: the tests with marker secure.
#
#   .ci/secure-kafka.sh                 starts a broker, runs the tests, stops it
#   .ci/secure-kafka.sh run COMMAND...  the same with any command
#
# $SKELETONHUNTER_TEST_SECURE_KAFKA is the broker's address; $SKELETONHUNTER_TEST_SECURE_CA the file with its authority;
# the user admin has the password in $SKELETONHUNTER_TEST_SECURE_PASSWORD. Needs what .ci/apache-kafka.sh needs.
set -euo pipefail
. "$(dirname "$0")/kafka-node.bash"
password=$("$here/.venv/bin/python" -c 'import secrets; print(secrets.token_hex(12))')
store=$("$here/.venv/bin/python" -c 'import secrets; print(secrets.token_hex(12))')
keytool -genkeypair -alias broker -keyalg RSA -keysize 2048 -validity 30 -dname CN=localhost \
  -ext SAN=ip:127.0.0.1,dns:localhost -storetype PKCS12 -keystore "$folder/broker.p12" -storepass "$store" 2>/dev/null
keytool -exportcert -rfc -alias broker -keystore "$folder/broker.p12" -storepass "$store" >"$folder/ca.pem" 2>/dev/null
scram="org.apache.kafka.common.security.scram.ScramLoginModule required username=\"admin\" password=\"$password\";"
# The controller listens on a port of this machine for its own broker only; in production it has TLS and users as well.
properties="sasl.enabled.mechanisms=SCRAM-SHA-512
sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=$scram
ssl.keystore.type=PKCS12
ssl.keystore.location=$folder/broker.p12
ssl.keystore.password=$store
ssl.truststore.type=PEM
ssl.truststore.location=$folder/ca.pem
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=false
super.users=User:admin;User:ANONYMOUS"
start SASL_SSL --add-scram "SCRAM-SHA-512=[name=admin,password=$password]"
echo "Apache Kafka $version with TLS, users and ACLs at $broker"
export SKELETONHUNTER_TEST_SECURE_KAFKA=$broker SKELETONHUNTER_TEST_SECURE_CA=$folder/ca.pem
export SKELETONHUNTER_TEST_SECURE_PASSWORD=$password
run_or_test secure "$@"
