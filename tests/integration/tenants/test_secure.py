"""On Apache Kafka with its authorizer: who may do what, tried. Run by .ci/secure-kafka.sh."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from skeletonhunter.settings import Settings
from skeletonhunter.tenants.ownership import DOWN, UP
from skeletonhunter.tenants.relay import Relay
from streams.topic_admin import TopicAdmin, TopicError
from tests.integration.tenants.conftest import SecureKafka, wrong_password
from tests.integration.tenants.people import JOBS, Client, said

pytestmark = [pytest.mark.secure, pytest.mark.timeout(200)]
DENIED = "TOPIC_AUTHORIZATION_FAILED"


@pytest.mark.parametrize("topic", UP)
def test_an_agent_publishes_as_its_own_tenant_only(secure: SecureKafka, topic: str) -> None:
    value = said(topic, "acme")
    assert Client(secure.own("agent-acme", "acme")).tell(topic, value) == ""
    assert Client(secure.own("agent-acme", "bolt")).tell(topic, value) == DENIED
    assert Client(secure.settings("agent-acme")).tell(topic, value) == DENIED


@pytest.mark.parametrize("topic", [*DOWN, *UP])
def test_an_agent_reads_nothing_of_another_tenant(secure: SecureKafka, topic: str) -> None:
    for place in (lambda user: secure.own(user, "bolt"), secure.settings):
        assert Client(place("admin")).tell(topic, said(topic, "bolt")) == ""
        assert len(Client(place("admin")).read(topic, most=1)[0]) == 1
        assert Client(place("agent-acme")).read(topic, patience_s=1.5) == ([], DENIED)


@pytest.mark.parametrize("topic", DOWN)
def test_an_agent_reads_what_is_told_to_its_tenant_and_can_not_write_it(secure: SecureKafka, topic: str) -> None:
    own = Client(secure.own("agent-acme", "acme"))
    assert own.read(topic, patience_s=1.0)[1] == ""
    assert own.tell(topic, said(topic, "acme")) == DENIED


def test_nobody_but_the_scheduler_says_whose_a_job_is(secure: SecureKafka) -> None:
    stolen = said("endpoint-map", "acme", JOBS["bolt"])
    for user in ("agent-acme", "relay-acme", "agent", "work", "sink", "alert", "reader"):
        assert Client(secure.settings(user)).tell("endpoint-map", stolen) == DENIED
    assert Client(secure.settings("maps")).tell("endpoint-map", said("endpoint-map", "bolt")) == ""


def test_who_does_not_know_the_password_or_the_authority_gets_nothing(secure: SecureKafka) -> None:
    settings = wrong_password(secure.settings("agent-acme"))
    assert Client(settings).tell("probe-results", said("probe-results", "acme")) != ""
    with pytest.raises(TopicError, match="does not answer"):
        TopicAdmin(settings.url, settings.prefix, settings.librdkafka).existing()
    plain = {"security.protocol": "plaintext"}
    with pytest.raises(TopicError, match="does not answer"):
        TopicAdmin(settings.url, settings.prefix, plain).existing()
    strangers = {**secure.settings("agent-acme").librdkafka}
    del strangers["ssl.ca.location"]
    with pytest.raises(TopicError, match="does not answer"):
        TopicAdmin(settings.url, settings.prefix, strangers).existing()


def test_the_relay_has_what_it_needs_and_keeps_tenants_apart(secure: SecureKafka) -> None:
    maps = Client(secure.settings("maps"))
    for tenant in JOBS:
        assert maps.tell("endpoint-map", said("endpoint-map", tenant)) == ""
    agent = Client(secure.own("agent-acme", "acme"))
    assert agent.tell("probe-results", said("probe-results", "acme", JOBS["bolt"], src="forged/mlx5_0")) == ""
    assert agent.tell("job-progress", said("job-progress", "acme")) == ""
    relay = Relay(Settings(kafka=secure.settings("relay-acme")), "acme", threading.Event())
    relay.maps.begin(relay.stop)
    ends_s = time.monotonic() + 60
    while not (relay.counts.refused and relay.counts.down and relay.counts.up) and time.monotonic() < ends_s:
        relay.turn()
    for part in (relay.maps, relay.down, relay.up):
        part.close()
    assert relay.counts.refused >= 1 and relay.counts.up >= 1 and relay.counts.down >= 1
    keys = {key for key, _ in agent.read("endpoint-map", patience_s=2.0)[0]}
    assert keys == {JOBS["acme"]}
    seen = Client(secure.settings("reader"))
    assert not any(b"forged/mlx5_0" in (raw or b"") for _, raw in seen.read("probe-results", patience_s=2.0)[0])
    assert any(b"foreign_producer" in (raw or b"") for _, raw in seen.read("probe-results-dlq", patience_s=2.0)[0])


def test_a_worker_and_a_sink_run_with_their_permissions_alone(secure: SecureKafka, tmp_path: Path) -> None:
    """The real programs, by their real settings: Faust and librdkafka over TLS as users."""
    reader, bad = Client(secure.settings("reader")), b"no JSON"
    with ExitStack() as stack:
        running = [stack.enter_context(program(secure, user, tmp_path)) for user in ("work", "sink")]
        agent = Client(secure.settings("agent"))
        assert agent.write("probe-results", "x", bad) == agent.write("job-progress", "x", bad) == ""
        ends_s = time.monotonic() + 120
        letters: set[str] = set()
        while len(letters) < 2 and time.monotonic() < ends_s:
            assert all(process.poll() is None for process in running), logs(tmp_path)
            for topic in ("probe-results", "job-progress"):  # a stage judges the one, the sink the other
                if reader.read(f"{topic}-dlq", most=1, patience_s=2.0)[0]:
                    letters.add(topic)
        assert letters == {"probe-results", "job-progress"}, logs(tmp_path)
        assert reader.read("ticks", most=5, patience_s=5.0)[0]
    told = logs(tmp_path)
    assert "AUTHORIZATION" not in told.upper()
    assert not any(password in told for password in secure.passwords.values())


@contextmanager
def program(secure: SecureKafka, user: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program of ours as a user of Kafka; it must end in order when it is asked to."""
    own = {"WORKER__DATA_DIR": str(folder / user), "CLICKHOUSE__DSN": f"chdb://{folder}/db"}
    environment = {**os.environ, **secure.environment(user), **{f"SKELETONHUNTER_{n}": text for n, text in own.items()}}
    with (folder / f"{user}.log").open("wb") as log:
        command = [sys.executable, "-m", "skeletonhunter", user]
        with subprocess.Popen(command, env=environment, stdout=log, stderr=log) as process:
            try:
                yield process
            finally:
                process.terminate()
                code = process.wait(30)
    assert code == 0, logs(folder)


def logs(folder: Path) -> str:
    """What the programs said."""
    return "\n".join(path.read_text()[-6000:] for path in sorted(folder.glob("*.log")))
