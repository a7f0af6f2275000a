"""The doctor finds what is wrong with real things: a broker that is down, topics, readers, plans, databases, a host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from collectors.clocks.kernel import KernelClock
from schemas.codec import encode, key_of
from schemas.envelope import Message
from skeletonhunter import migrations
from skeletonhunter.collecting import load_agent_settings
from skeletonhunter.doctor.alerts import check_alerts
from skeletonhunter.doctor.clickhouse import check_clickhouse
from skeletonhunter.doctor.clock import check_clock
from skeletonhunter.doctor.findings import Finding, is_healthy
from skeletonhunter.doctor.host import check_host
from skeletonhunter.doctor.kafka import check_kafka
from skeletonhunter.doctor.plans import check_plans
from skeletonhunter.settings import AlertSettings, ClickHouseSettings, KafkaSettings, Settings
from skeletonhunter.sinks.connection import connect
from skeletonhunter.sinks.kafka_source import KafkaSource
from streams.records import Record
from streams.topic_admin import TopicAdmin
from tests.integration.clickhouse.kafka import Bench, broker, until
from tests.integration.collectors.agents import settings_file
from tests.unit.collectors.rnic.trees import card
from tests.unit.sinks.messages import received_examples

pytestmark = [pytest.mark.kafka, pytest.mark.clickhouse]

CHRONY = "A29FC87B,time.example,3,1753000000.0,{offset},0.000001,0.000002,1.0,0.0,0.01,0.0001,{bound},64.0,Normal"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with broker() as found:
        yield found


def of(findings: Iterator[Finding] | list[Finding], check: str) -> Finding:
    """The finding of a check."""
    [found] = [each for each in findings if each.check == check]
    return found


def example(topic: str, seq: int = 0, **fields: object) -> Record:
    value = received_examples(topic)[0].value
    assert isinstance(value, Message)
    value = msgspec.structs.replace(value, **fields)
    value = msgspec.structs.replace(value, producer=msgspec.structs.replace(value.producer, seq=seq))
    return Record(topic, 0, 0, key_of(topic, value).encode(), encode(topic, value), value.t_us)


def test_a_broker_that_is_down_is_the_one_failure_and_the_rest_is_skipped_by_name() -> None:
    found = list(check_kafka(Settings(kafka=KafkaSettings(url="127.0.0.1:1")), 0))
    assert [each.state for each in found] == ["failed", "skipped", "skipped", "skipped", "skipped"]
    assert "Kafka at 127.0.0.1:1 does not answer" in found[0].says


def test_topics_as_planned_are_fine_and_nobody_has_read_them_yet(address: str) -> None:
    bench = Bench(address)
    found = list(check_kafka(Settings(kafka=bench.settings), 0))
    assert of(found, "brokers").state == of(found, "topics").state == "ok"
    kept = of(found, "topic settings")  # topics of tests keep everything
    assert (kept.state, "has retention.ms=-1 instead of 259200000" in kept.says) == ("warning", True)
    readers = [each for each in found if each.check.startswith("reader ")]
    assert {each.state for each in readers} == {"warning"}
    assert {each.fix for each in readers} == {"Start: skeletonhunter work", "Start: skeletonhunter sink"}


def test_missing_topics_and_other_partitions_are_named(address: str) -> None:
    kafka = KafkaSettings(url=address, prefix=f"few-{time.time_ns()}-", partitions=2)
    new = [NewTopic(f"{kafka.prefix}incidents", 3, 1), NewTopic(f"{kafka.prefix}ticks", 2, 1)]
    admin = AdminClient({"bootstrap.servers": address})
    for done in admin.create_topics(new).values():
        done.result(20)
    found = TopicAdmin(address, kafka.prefix, {}).existing
    until(lambda: found() == {"incidents": 3, "ticks": 2}, "the broker tells of both topics")
    topics = [each for each in check_kafka(Settings(kafka=kafka), 0) if each.check == "topics"]
    assert [each.state for each in topics] == ["failed", "failed"]
    assert "topics are missing: " in topics[0].says
    assert topics[0].fix == "Run: skeletonhunter topics"
    assert f"{kafka.prefix}incidents has 3" in topics[1].says


def test_a_reader_that_is_behind_is_found_and_one_that_keeps_up_is_fine(address: str) -> None:
    bench = Bench(address)
    for number in range(6):
        bench.publish([example("incidents", number)])
    source = KafkaSource(bench.settings, "sink", ["incidents"])
    read = []
    until(lambda: bool(read.append(source.read(1, 0.2)) or read[-1].records), "one is read")
    source.commit(read[-1].positions)
    source.close()
    settings = Settings(kafka=bench.settings)
    behind = of(list(check_kafka(settings, 2)), f"reader {bench.settings.prefix}sink")
    assert behind.state == "failed", behind.says
    assert behind.says.endswith("messages behind, most of them in incidents (5)")
    assert of(list(check_kafka(settings, 100)), f"reader {bench.settings.prefix}sink").state == "ok"


def test_a_running_job_without_a_plan_or_with_an_old_one_is_found(address: str) -> None:
    bench = Bench(address)
    assert of(list(check_plans(bench.settings, 0)), "plans").state == "warning"
    job_map = example("endpoint-map", job="job-9", state="running", t_us=1_753_000_500_000_000)
    bench.publish([job_map])
    found = of(list(check_plans(bench.settings, 0)), "plans")
    assert (found.state, found.says) == ("failed", "running jobs without a probe plan: job-9")
    bench.publish([example("probe-plans", job="job-9", t_us=1_753_000_000_000_000)])
    found = of(list(check_plans(bench.settings, 0)), "plans")
    assert (found.state, found.says) == ("warning", "plans older than their job's map: job-9")
    bench.publish([example("probe-plans", 1, job="job-9", t_us=1_753_000_500_000_000)])
    found = of(list(check_plans(bench.settings, 1_753_000_560_000_000)), "plans")
    assert (found.state, found.says) == ("ok", "each of 1 running jobs has one, the oldest is 60 s old")


def test_a_database_is_looked_at_from_nothing_to_spoilt(tmp_path: Path) -> None:
    settings = ClickHouseSettings(dsn=f"chdb://{tmp_path / 'clickhouse'}")
    assert of(list(check_clickhouse(settings)), "clickhouse").state == "skipped"
    assert not (tmp_path / "clickhouse").exists()
    client = connect(settings)
    migrations.apply(client, settings.database)
    client.close()
    assert [each.state for each in check_clickhouse(settings)] == ["ok", "ok", "ok"]

    client = connect(settings)
    client.command(
        f"ALTER TABLE {settings.database}.schema_migrations DELETE WHERE number = 5 SETTINGS mutations_sync = 1"
    )
    client.close()
    found = list(check_clickhouse(settings))
    assert of(found, "migrations").says == f"database {settings.database} lacks 5 views"
    assert of(found, "migrations").fix == "Run: skeletonhunter migrate"
    assert of(found, "writing").state == "skipped"

    client = connect(settings)
    migrations.apply(client, settings.database)
    client.command(f"DROP TABLE {settings.database}.incidents SYNC")
    client.close()
    assert of(list(check_clickhouse(settings)), "writing").state == "failed"

    client = connect(settings)
    client.insert("schema_migrations", [(99, "future", "?")], ["number", "name", "digest"], settings.database)
    client.close()
    assert "has migration 99" in of(list(check_clickhouse(settings)), "migrations").says


def test_a_clickhouse_that_is_away_or_a_dsn_that_is_none_never_shows_a_password() -> None:
    for dsn in ("clickhouse://user:hidden@127.0.0.1:1/db", "mysql://user:hidden@h/db"):
        found = of(list(check_clickhouse(ClickHouseSettings(dsn=dsn))), "clickhouse")
        assert found.state == "failed"
        assert "hidden" not in found.says + found.fix


def test_who_is_to_be_told_is_looked_at_without_telling_them(tmp_path: Path) -> None:
    def alerts(**fields: object) -> list[Finding]:
        aimed = {"name": "oncall", "format": "slack", **fields}
        return list(
            check_alerts(msgspec.convert({"targets": [aimed]}, AlertSettings), {"HOOK": "http://127.0.0.1:1/t0k"})
        )

    assert of(list(check_alerts(AlertSettings(), {})), "alerts").state == "warning"
    assert of(alerts(url_file=str(tmp_path / "none")), "alerts").says.endswith("No such file or directory")
    refused = of(alerts(url_env="HOOK"), "alerts")
    assert (refused.state, "is loopback" in refused.says, "t0k" in refused.says) == ("failed", True, False)
    assert of(alerts(url="http://203.0.113.7/x", url_env=None), "alerts").state == "failed"  # reserved for examples
    assert of(alerts(url="http://1.1.1.1/x"), "alerts").says == "1 targets: oncall at http://1.1.1.1"


def host(folder: Path, more: str = "") -> list[Finding]:
    path = settings_file(folder, 0, "127.0.0.1:1", ["rnic-counters", "probing", "kernel-log"], more)
    path.write_text(path.read_text().replace('transport = "udp"', 'transport = "rdma"'))
    return list(check_host(load_agent_settings(path, {}), folder / "dev"))


def test_a_host_without_rnics_devices_and_logs_is_told_what_it_lacks(tmp_path: Path) -> None:
    found = host(tmp_path)
    assert of(found, "RNICs").says == f"{tmp_path}/sys/class/infiniband can't be read: No such file or directory" or of(
        found, "RNICs"
    ).says.startswith("there is no RNIC")
    assert (of(found, "RNICs").state, of(found, "verbs").state) == ("failed", "failed")
    assert of(found, "kernel log").state == "warning"
    assert of(found, "spool").state == "ok"


def test_rnics_and_their_ports_are_seen(tmp_path: Path) -> None:
    card(tmp_path / "sys", "mlx5_0", "0000:00:00.0", {"counters/port_xmit_data": 1, "state": "4: ACTIVE"})
    card(tmp_path / "sys", "mlx5_1", "0000:01:00.0", {"counters/port_xmit_data": 1, "state": "1: DOWN"})
    rnics = [each for each in host(tmp_path) if each.check == "RNICs"]
    assert [(each.state, each.says) for each in rnics] == [
        ("warning", "ports that are not active: mlx5_1 port 1 (DOWN)"),
        ("ok", "2: mlx5_0, mlx5_1"),
    ]


def test_a_spool_that_can_not_be_written_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "spool-0").write_text("a file")
    assert of(host(tmp_path), "spool").state == "failed"


UNSYNCHRONISED = KernelClock(state=5, status=0x40, offset=0, max_error_us=16_000_000, estimated_error_us=16_000_000)


def clock(folder: Path, answer: str) -> list[Finding]:
    """What is found where chronyc is a program that prints ``answer``."""
    program = folder / "chronyc"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    path = settings_file(folder, 0, "127.0.0.1:1", ["rnic-counters"])
    path.write_text(path.read_text().replace("vouched_us = 100.0", f'chronyc = ["{program}"]'))
    return list(check_clock(load_agent_settings(path, {}), 0.25, lambda: UNSYNCHRONISED))


def test_a_clock_is_judged_as_its_agent_sees_it(tmp_path: Path) -> None:
    [good] = clock(tmp_path, CHRONY.format(offset="0.00001", bound="0.0001"))
    assert (good.state, good.says) == ("ok", "source ntp, offset -10.0 us, off by at most 150 us")
    [far] = clock(tmp_path, CHRONY.format(offset="0.00001", bound="9.0"))
    assert far.state == "failed"
    assert "beyond 0.25 s (parameters.localization.clock_bound_s)" in far.says
    silent, alone = clock(tmp_path, "506 Cannot talk to daemon")
    assert (silent.state, silent.says.partition(":")[0]) == ("warning", "chrony does not answer")
    assert alone.state in ("warning", "failed")
    assert alone.says.startswith("source none")


def doctor(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "skeletonhunter", "doctor", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_the_command_tells_all_in_json_and_by_its_exit_code(address: str, tmp_path: Path) -> None:
    bench = Bench(address)
    options = ["--kafka", address, "--clickhouse", f"chdb://{tmp_path / 'db'}", "--json"]
    good = doctor(*options, SKELETONHUNTER_KAFKA__PREFIX=bench.settings.prefix, SKELETONHUNTER_KAFKA__PARTITIONS="2")
    said = json.loads(good.stdout)
    assert (good.returncode, said["healthy"]) == (0, True)
    assert is_healthy(msgspec.convert(said["findings"], list[Finding]))
    bad = doctor(*options, SKELETONHUNTER_KAFKA__PREFIX="nobody-", SKELETONHUNTER_KAFKA__PARTITIONS="2")
    assert (bad.returncode, json.loads(bad.stdout)["healthy"]) == (1, False)
    wrong = doctor("--json", SKELETONHUNTER_KAFKA__PARTITIONS="many")
    assert wrong.returncode == 1
    [only] = json.loads(wrong.stdout)["findings"]
    assert only["says"].startswith("environment variable SKELETONHUNTER_KAFKA__PARTITIONS: Expected `int`")
