"""With TLS and users: nothing in plain text, a user with the least permissions for each part; tried on Apache Kafka."""

from __future__ import annotations

import copy
import os
import re
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from confluent_kafka import Consumer, KafkaError, Producer
from typer.testing import CliRunner

from skeletonhunter.cli import build_cli
from skeletonhunter.settings import load_settings
from tests.free_ports import free_port
from tests.packaging.compose_rules import faults, interpolated
from tests.packaging.compose_tls import CHECKOUT, certificates, kafka_properties, tls_compose

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl, which makes certificates, is missing")
JARS = Path(os.environ.get("KAFKA_JARS") or Path.home() / ".cache" / "skeletonhunter" / "apache-kafka-4.1.0")
PARTS = ("topics", "acls", "migrate", "work", "sink", "alert")
Json = dict[str, Any]


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates(tmp_path_factory.mktemp("deploy") / "secrets", "monitor.example.internal", "10.1.2.3")


@pytest.fixture(scope="module")
def compose(secrets: Path) -> Json:
    return tls_compose(secrets)


def passwords(secrets: Path) -> dict[str, str]:
    lines = (secrets / "compose.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


def plain(compose: Json) -> list[str]:
    """Where something is said in plain text, or by somebody unknown."""
    found = []
    services = compose["services"]
    protocols = services["kafka"]["environment"]["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(",")
    found += [each for each in protocols if not each.endswith(":SASL_SSL") and each != "CONTROLLER:PLAINTEXT"]
    for listener in services["kafka"]["environment"]["KAFKA_LISTENERS"].split(","):
        if listener.startswith("CONTROLLER:") and "//127.0.0.1:" not in listener:
            found.append(listener)
    users = set(
        re.findall(
            r"user_(\w+)=", services["kafka"]["environment"]["KAFKA_LISTENER_NAME_INSIDE_PLAIN_SASL_JAAS_CONFIG"]
        )
    )
    for name in PARTS:
        about = services[name]["environment"]
        if about.get("SKELETONHUNTER_KAFKA__SECURITY__PROTOCOL") != "sasl_ssl":
            found.append(f"{name}: Kafka without TLS")
        if about.get("SKELETONHUNTER_KAFKA__SECURITY__USERNAME") not in users:
            found.append(f"{name}: no user of Kafka")
        if not about["SKELETONHUNTER_CLICKHOUSE__DSN"].startswith("clickhouses://") and name != "acls":
            found.append(f"{name}: ClickHouse without TLS")
    return found + [f"port {port}" for port in services["clickhouse"]["ports"] if "8123" in port]


def test_both_files_together_break_no_rule(compose: Json) -> None:
    assert faults(compose, CHECKOUT) == []
    assert plain(compose) == []


@pytest.mark.parametrize(
    ("service", "variable", "value", "words"),
    [
        ("work", "SKELETONHUNTER_KAFKA__SECURITY__PROTOCOL", "plaintext", "work: Kafka without TLS"),
        ("sink", "SKELETONHUNTER_KAFKA__SECURITY__USERNAME", "nobody", "sink: no user"),
        ("migrate", "SKELETONHUNTER_CLICKHOUSE__DSN", "clickhouse://x@clickhouse/x", "migrate: ClickHouse without"),
        ("kafka", "KAFKA_LISTENERS", "INSIDE://:9092,CONTROLLER://:9093", "CONTROLLER://:9093"),
        ("kafka", "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP", "INSIDE:PLAINTEXT", "INSIDE:PLAINTEXT"),
    ],
)
def test_plain_text_is_noticed(compose: Json, service: str, variable: str, value: str, words: str) -> None:
    spoilt = copy.deepcopy(compose)
    spoilt["services"][service]["environment"][variable] = value
    assert any(each.startswith(words) for each in plain(spoilt))


def test_the_variables_are_those_that_are_asked_for_and_a_second_run_keeps_them(secrets: Path) -> None:
    files = [(CHECKOUT / name).read_text() for name in ("docker-compose.yml", "docker-compose.tls.yml")]
    assert set(passwords(secrets)) == set(re.findall(r"\$\{(\w+)", "".join(files)))
    before = {path.name: path.read_bytes() for path in secrets.iterdir()}
    (secrets / "compose.env").write_bytes(
        before["compose.env"].replace(b"ALERT_WEBHOOKS=", b"ALERT_WEBHOOKS=https://example.com/hook")
    )
    certificates(secrets)
    after = {path.name: path.read_bytes() for path in secrets.iterdir()}
    assert b"https://example.com/hook" in after.pop("compose.env")
    assert after == {name: raw for name, raw in before.items() if name != "compose.env"}


def test_nobody_else_enters_the_folder_and_certificates_name_the_servers(secrets: Path) -> None:
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
    assert stat.S_IMODE((secrets / "ca.key").stat().st_mode) == 0o600
    told = subprocess.run(
        ["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", str(secrets / "kafka.crt")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in ("DNS:kafka", "DNS:localhost", "DNS:monitor.example.internal", "IP Address:10.1.2.3"):
        assert name in told
    assert "/deploy/secrets/" in (CHECKOUT / ".gitignore").read_text().splitlines()


def test_clickhouse_speaks_tls_only_and_its_users_may_do_what_they_need() -> None:
    server = ElementTree.parse(CHECKOUT / "deploy/clickhouse/config.d/tls.xml").getroot()
    for port in ("http_port", "tcp_port", "mysql_port", "postgresql_port"):
        element = server.find(port)
        assert element is not None and element.attrib == {"remove": "1"}
    assert server.findtext("https_port") == "8443"
    sink = ElementTree.parse(CHECKOUT / "deploy/clickhouse/users.d/sink.xml").getroot().find("users/sink")
    assert sink is not None
    assert [query.text for query in sink.findall("grants/query")] == ["GRANT SELECT, INSERT ON skeletonhunter.*"]


def test_grafana_reads_over_tls() -> None:
    usual, tls = (
        yaml.safe_load((CHECKOUT / "deploy/grafana" / path).read_text())["datasources"][0]
        for path in ("provisioning/datasources/clickhouse.yaml", "tls.yaml")
    )
    assert tls["jsonData"] == {**usual["jsonData"], "port": 8443, "secure": True}
    assert {**tls, "jsonData": {}} == {**usual, "jsonData": {}}


@pytest.fixture(scope="module")
def kafka(compose: Json, secrets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Apache Kafka with the properties that the container would have, on ports of this machine."""
    if shutil.which("java") is None or not (JARS / "complete").exists():
        pytest.skip("Apache Kafka is not here: .ci/secure-kafka.sh fetches it")
    folder = tmp_path_factory.mktemp("kafka")
    given = passwords(secrets)
    properties = kafka_properties(compose["services"]["kafka"])
    port, controller = free_port(), free_port()
    changes = {
        "/etc/kafka/secrets": str(secrets), ":9092": f":{port}", ":9093": f":{controller}",
        ":29092": f":{free_port()}", "//kafka:": "//localhost:", "/var/lib/kafka/data": str(folder / "data"),
    }  # fmt: skip
    lines = []
    for name, value in properties.items():
        text = interpolated(value, given)
        for old, new in changes.items():
            text = text.replace(old, new)
        lines.append(f"{name}={' '.join(text.split())}")
    (folder / "server.properties").write_text("\n".join(lines))
    java = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{JARS}/*"]
    form = ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c"]
    subprocess.run([*java, *form, str(folder / "server.properties")], check=True, capture_output=True)
    with (folder / "log").open("wb") as log:
        broker = subprocess.Popen(
            [*java, "kafka.Kafka", str(folder / "server.properties")], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        until(lambda: is_open(port), lambda: (folder / "log").read_text()[-3000:])
        yield f"localhost:{port}"
    finally:
        broker.kill()
        broker.wait()


def is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def until(condition: Callable[[], bool], story: Callable[[], str], seconds: float = 60.0) -> None:
    ends_s = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends_s, story()
        time.sleep(0.2)


def as_user(compose: Json, secrets: Path, broker: str, service: str) -> dict[str, str]:
    """The environment of a service, with its passwords."""
    given = passwords(secrets)
    about = compose["services"][service]["environment"]
    found = {name: interpolated(str(value), given) for name, value in about.items()}
    return {**found, "SKELETONHUNTER_KAFKA__URL": broker, "SKELETONHUNTER_KAFKA__PARTITIONS": "1"}


def client(environment: dict[str, str], **more: Any) -> dict[str, Any]:
    kafka = load_settings(None, {k: v for k, v in environment.items() if "KAFKA__" in k}).kafka
    return {"bootstrap.servers": kafka.url, **kafka.librdkafka, "log_level": 0, **more}


def refusal(environment: dict[str, str], topic: str, seconds: float = 15.0) -> str:
    """Why a user may not read a topic; empty: it may."""
    errors: list[str] = []
    settings = client(environment, **{"group.id": "reader-x", "error_cb": lambda error: errors.append(str(error))})
    consumer = Consumer(settings | {"auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    ends_s = time.monotonic() + seconds
    try:
        while time.monotonic() < ends_s and not errors:
            message = consumer.poll(0.2)
            if message is not None and message.error():
                return str(message.error())
            if consumer.assignment():
                return ""
        return " ".join(errors) or "nothing happened"
    finally:
        consumer.close()


@pytest.mark.secure
def test_a_broker_so_set_up_lets_each_user_do_its_part_and_no_more(
    compose: Json, secrets: Path, kafka: str, tmp_path: Path
) -> None:
    admin = as_user(compose, secrets, kafka, "topics")
    for command in (["topics"], ["acls", "--apply"]):
        done = CliRunner().invoke(build_cli(), command, env=admin)
        assert done.exit_code == 0, done.output
    work = as_user(compose, secrets, kafka, "work")
    told: dict[str, KafkaError | None] = {}

    def write() -> bool:
        producer = Producer(client(work))
        for topic in ("skeleton-updates", "endpoint-map"):
            producer.produce(topic, b"{}", b"job", on_delivery=lambda error, sent: told.update({sent.topic(): error}))
        return producer.flush(30) == 0 and told["skeleton-updates"] is None

    until(write, lambda: f"what was granted came to: {told}")  # the broker hears of permissions a moment later
    refused = told["endpoint-map"]
    assert refused is not None and refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    reader = {**work, "SKELETONHUNTER_KAFKA__SECURITY__USERNAME": "reader"}
    reader["SKELETONHUNTER_KAFKA__SECURITY__PASSWORD"] = passwords(secrets)["KAFKA_READER_PASSWORD"]
    until(lambda: refusal(reader, "incidents") == "", lambda: "the reader may not read incidents")
    wrong = {**reader, "SKELETONHUNTER_KAFKA__SECURITY__PASSWORD": "guessed"}
    assert "Authentication failed" in refusal(wrong, "incidents")
    strange = certificates(tmp_path / "strange")
    assert "certificate verify failed" in refusal(
        {**reader, "SKELETONHUNTER_KAFKA__SECURITY__CA": str(strange / "ca.pem")}, "incidents"
    )
