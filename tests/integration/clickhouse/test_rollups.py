"""Roll-ups by the minute say what the rows say: however often and late they come, and in steps for an old database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from schemas import probing
from skeletonhunter import migrations
from skeletonhunter.migrations.catalogue import rollups
from skeletonhunter.sinks.clickhouse import ClickHouseWriter
from skeletonhunter.sinks.received import Received
from skeletonhunter.sinks.rollups import refresh
from tests.integration.clickhouse.asking import one, rows
from tests.unit.sinks.messages import T0_US, envelope_of, probe_train

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

pytestmark = pytest.mark.clickhouse

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
BEGIN_US = T0_US - T0_US % MINUTE_US


def results(job: str, seq: int, *trains: probing.ProbeResult) -> Received:
    fields = envelope_of("probe-results", seq=seq, t_us=trains[0].t_us, job=job, fabric="f-roll")
    return Received(probing.ProbeResults(**fields, src="c-1/r0", plan_version=1, results=trains), trains[0].t_us)


def train(dst: str, second: float, **fields: Any) -> probing.ProbeResult:
    return probe_train(dst, BEGIN_US + round(second * SECOND_US), **fields)


def told(client: Client, table: str, job: str) -> list[dict[str, Any]]:
    refresh(client, client.database or "")
    left_out = "EXCEPT (source_at, inserted_at, fabric, tenant, job)"
    return rows(client, f"SELECT * {left_out} FROM {table} FINAL WHERE job = '{job}' ORDER BY ALL")


def minutes_of(job: str) -> list[Received]:
    return [
        results(job, 1, train("c-2/r0", 1, rtt_us=(10.0, 20.0), sent=10, lost=0, path=("l1", "l2"))),
        results(job, 2, train("c-2/r0", 59.9, rtt_us=(30.0,), sent=10, lost=4, path=("l1", "l3"))),
        results(job, 3, train("c-3/r0", 30, rtt_us=(), sent=5, lost=5, outcome="lost", path=("l1",))),
        results(job, 4, train("c-3/r0", 31, rtt_us=(), sent=0, lost=0, outcome="not_sent", reason="no route")),
        results(job, 5, train("c-2/r0", 60, rtt_us=(50.0,), sent=10, lost=0, path=("l1", "l2"))),
    ]


def test_a_minute_of_a_pair_is_what_its_trains_were(client: Client, writer: ClickHouseWriter) -> None:
    writer.write("probe-results", minutes_of("j-pair"))
    first, lost, later = told(client, "pair_minutes", "j-pair")
    counted = {"dst": "c-2/r0", "trains": 2, "sent": 20, "lost": 4, "samples": 3, "rtt_us": 20.0, "rtt_max_us": 30.0}
    assert {name: first[name] for name in counted} == counted
    assert (lost["dst"], lost["lost_trains"], lost["not_sent"], lost["lost"]) == ("c-3/r0", 1, 1, 5)
    assert [lost[name] for name in ("rtt_us", "rtt_p99_us", "rtt_min_us", "rtt_max_us")] == [None] * 4
    assert (later["minute"] - first["minute"]).total_seconds() == 60


def test_a_link_counts_every_train_that_went_over_it(client: Client, writer: ClickHouseWriter) -> None:
    writer.write("probe-results", minutes_of("j-link"))
    found = {(row["link"], row["minute"].minute % 2): row for row in told(client, "link_minutes", "j-link")}
    parity = (BEGIN_US // MINUTE_US) % 2
    shared = found["l1", parity]
    assert (shared["trains"], shared["lost_trains"], shared["pairs"], shared["lossy_pairs"]) == (3, 1, 2, 2)
    assert (shared["sent"], shared["lost"], shared["rtt_us"]) == (25, 9, 20.0)
    assert (found["l2", parity]["lost"], found["l3", parity]["lost"]) == (0, 4)
    assert found["l2", 1 - parity]["rtt_us"] == 50.0


def test_outcomes_are_counted_with_what_agents_say(client: Client, writer: ClickHouseWriter) -> None:
    writer.write("probe-results", minutes_of("j-outcome"))
    found = [(row["outcome"], row["reason"], row["trains"]) for row in told(client, "outcome_minutes", "j-outcome")]
    assert sorted(found) == [("lost", "", 1), ("not_sent", "no route", 1), ("reply", "", 1), ("reply", "", 2)]


def test_what_comes_again_or_late_is_counted_once(client: Client, writer: ClickHouseWriter) -> None:
    every = minutes_of("j-again")
    writer.write("probe-results", every[:2])
    told(client, "pair_minutes", "j-again")
    writer.write("probe-results", every)
    once = {rollup.table: told(client, rollup.table, "j-again") for rollup in rollups()}
    writer.write("probe-results", every[::-1])
    assert {rollup.table: told(client, rollup.table, "j-again") for rollup in rollups()} == once
    assert sum(row["sent"] for row in once["pair_minutes"]) == 35
    late = results("j-again", 9, train("c-2/r0", 2, rtt_us=(90.0,), sent=10, lost=0, path=("l1", "l2")))
    writer.write("probe-results", [late])
    assert sum(row["sent"] for row in told(client, "pair_minutes", "j-again")) == 45
    assert sum(row["sent"] for row in told(client, "outcome_minutes", "j-again")) == 45


def test_an_old_database_is_caught_up_with_an_hour_at_a_time(client: Client, database: str) -> None:
    old = f"{database}_old"
    migrations.apply(client, old)
    fields = "t_us, fabric, job, src, dst, outcome, sent, seq, item, inserted_at"
    client.command(
        f"INSERT INTO {old}.probe_results ({fields}) SELECT {BEGIN_US} + number * 60000000, 'f', 'j', 's', 'd', "
        "'reply', 10, number, 0, toStartOfHour(now()) - INTERVAL 20 DAY + number * 600 FROM numbers(24)"
    )
    rollup = next(each for each in rollups() if each.table == "pair_minutes")
    client.command(f"DROP VIEW {old}.{rollup.name}")  # which would take a step of its own at the next full minute
    names = ", ".join(row["name"] for row in rows(client, f"DESCRIBE ({rollup.query})"))
    counts = []
    for _ in range(5):
        client.command(f"INSERT INTO {rollup.table} ({names}) {rollup.query}")
        counts.append(one(client, f"SELECT count() FROM {rollup.table} FINAL"))
    client.command(f"DROP DATABASE {old}")
    client.database = database
    assert counts == [7, 14, 21, 24, 24]
