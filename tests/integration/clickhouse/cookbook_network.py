"""What the cookbook must say of links, queues, flow tables and records that were refused."""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.integration.clickhouse.cookbook_jobs import ILL, JOB
from tests.integration.clickhouse.cookbook_world import World

BUSY = "spine-0/5"
FLAPPING_OFFLOAD = "h-5209"
"""The congested port and the host of the stuttering virtual switch in the simulated recording."""


def links_dropped_most(bundled: World, simulated: World) -> None:
    first, second, *_ = simulated.ask("links_dropped_most")
    [fabric] = simulated.values("fabric-map")
    link = next(link for link in fabric.links if link.id == "l16")
    assert (first["link"], first["a"], first["b"]) == ("l16", link.a, link.b)
    assert first["crc_errors"] > 1_000 and first["dropped"] == 0
    assert BUSY in (second["a"], second["b"]) and second["dropped"] > 0
    trains = [train.of for train in simulated.trains() if train.of.path and "l16" in train.of.path]
    loss = sum(train.lost for train in trains) / sum(train.sent for train in trains)
    assert first["probe_loss"] == pytest.approx(loss)
    assert {row["dropped"] + row["crc_errors"] for row in bundled.ask("links_dropped_most")} == {0}


def suspicious_links(bundled: World, simulated: World) -> None:
    assert simulated.ask("suspicious_links")[0]["link"] == "l16"
    path = {link for train in bundled.trains() if (train.src, train.of.dst) == ILL for link in train.of.path or ()}
    answer = bundled.ask("suspicious_links")
    assert {row["link"] for row in answer} <= path
    assert all(row["jobs"] == [JOB] and 0 < row["lossy"] < row["pair_minutes"] for row in answer)


def shares_a_link_with(_: World, simulated: World) -> None:
    ill = next(t for t in simulated.trains() if t.of.path and {"l16", "l40"} <= set(t.of.path) and t.of.lost > 0)
    answer = simulated.ask("shares_a_link_with", job=ill.job, src=ill.src, dst=ill.of.dst)
    own = [t for t in simulated.trains() if (t.job, t.src, t.of.dst) == (ill.job, ill.src, ill.of.dst)]
    links = {link for train in own for link in train.of.path or ()}
    crossing: dict[tuple[str, str], int] = defaultdict(int)
    for train in simulated.trains():
        for link in links & set(train.of.path or ()):
            crossing[link, train.job] += train.of.sent > 0
    assert {(row["link"], row["job"]): row["trains"] for row in answer} == dict(crossing)
    assert len({row["job"] for row in answer if row["link"] == "l40"}) == 2


def congested_ports(bundled: World, simulated: World) -> None:
    first, second, *_ = simulated.ask("congested_ports", deep_bytes=100_000)
    depths = [
        depth
        for message in simulated.values("switch-queues")
        for queue in message.ports
        if f"{message.switch}/{queue.port}" == BUSY
        for depth in queue.depth_bytes
        if depth is not None
    ]
    assert (first["port"], first["depth_max"]) == (BUSY, max(depths))
    assert first["deep_share"] == pytest.approx(sum(depth >= 100_000 for depth in depths) / len(depths))
    assert (second["deep_share"], second["first_deep"]) == (0, None)
    assert {row["deep_share"] for row in bundled.ask("congested_ports", deep_bytes=100_000)} == {0}


def marks_and_pauses(_: World, simulated: World) -> None:
    first, *others = simulated.ask("marks_and_pauses")
    marked = [
        count
        for message in simulated.values("switch-queues")
        for queue in message.ports
        if f"{message.switch}/{queue.port}" == BUSY
        for count in queue.ecn_marked or ()
        if count is not None
    ]
    assert (first["port"], first["ecn_marked"]) == (BUSY, max(marked) - min(marked))
    assert all(row["ecn_marked"] == 0 for row in others)


def flow_table_changes(bundled: World, simulated: World) -> None:
    changes = bundled.ask("flow_table_changes", host="h-2269")
    onset_us = next(fault.start_us for fault in bundled.truth.faults) if bundled.truth else 0
    assert changes and all(row["time"].timestamp() * 1e6 > onset_us - 15e6 for row in changes)
    assert {row["change"] for row in changes} <= {"came", "went", "changed"}
    healthy = bundled.ask("flow_table_changes", host="h-2461")
    assert healthy == []
    stuttering = simulated.ask("flow_table_changes", host=FLAPPING_OFFLOAD)
    quiet = simulated.ask("flow_table_changes", host="h-8787")
    assert len(stuttering) > len(quiet)


def records_refused(bundled: World, _: World) -> None:
    """Of the records that the test has refused before."""
    answer = bundled.ask("records_refused")
    assert [(row["topic"], row["reason"], row["records"], row["key"]) for row in answer] == [
        ("probe-results", "invalid_json", 2, JOB),
        ("device-events", "invalid_value", 1, "fab-1"),
    ]
    assert answer[0]["detail"] == "the second"
