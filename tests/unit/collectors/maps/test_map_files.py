"""Map files: published when they change, refused in one sentence, said again from time to time."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from collectors.maps.map_files import MapFiles, parse_map
from collectors.observing import Observed
from collectors.stamping import Stamper
from schemas.codec import decode
from schemas.envelope import Clock
from schemas.maps import EndpointMap, FabricMap
from tests.unit.collectors.hand_clock import HandClock

ENDPOINT = {
    "endpoint": "c-1/mlx5_0",
    "container": "c-1",
    "host": "h-1",
    "rnic": "mlx5_0",
    "rail": 0,
    "rank": 0,
    "state": "ready",
}
JOB = {"job": "j-1", "state": "running", "reason": "r", "endpoints": [ENDPOINT]}
FABRIC = {
    "version": 3,
    "nodes": [{"id": "leaf-0", "kind": "leaf"}, {"id": "h-1/mlx5_0", "kind": "rnic"}],
    "links": [{"id": "l1", "a": "h-1/mlx5_0/p0", "b": "leaf-0/1"}],
    "ecmp": {"method": "traced"},
}


def write(path: Path, fields: Any, mtime_s: float = 1_753_000_000.0) -> Path:
    path.write_text(json.dumps(fields))
    os.utime(path, (mtime_s, mtime_s))
    return path


def collect(files: MapFiles, clock: HandClock, seconds: float = 1.0) -> list[Observed]:
    return list(files.collect(clock.move(seconds)))


def test_a_file_becomes_a_message_of_its_topic(tmp_path: Path) -> None:
    clock = HandClock()
    stamper = Stamper("h-1", "b", "pod-7", lambda: Clock(source="none", offset_us=0.0, error_us=1.0))
    endpoints = MapFiles("endpoint-map", [write(tmp_path / "j.json", JOB)], 2.0, 300.0)
    (observed,) = collect(endpoints, clock)
    stamped = stamper.stamp(observed)
    value = decode(stamped.topic, stamped.key, stamped.value, observed.t_us)
    assert isinstance(value, EndpointMap)
    assert (value.job, value.version, value.producer.id) == ("j-1", 1_753_000_000_000, "agent:h-1/endpoint-map.j-1")
    fabric = MapFiles("fabric-map", [write(tmp_path / "f.json", FABRIC)], 2.0, 300.0)
    (observed,) = collect(fabric, clock)
    stamped = stamper.stamp(observed)
    value = decode(stamped.topic, stamped.key, stamped.value, observed.t_us)
    assert isinstance(value, FabricMap) and value.version == 3


def test_it_is_said_when_it_changes_and_again_from_time_to_time(tmp_path: Path) -> None:
    clock, path = HandClock(), write(tmp_path / "j.json", JOB)
    files = MapFiles("endpoint-map", [path], 2.0, 300.0)
    assert len(collect(files, clock)) == 1
    assert collect(files, clock) == []
    write(path, {**JOB, "state": "ended"}, 1_753_000_001.0)
    (observed,) = collect(files, clock)
    assert (observed.fields["state"], observed.fields["version"]) == ("ended", 1_753_000_001_000)
    assert collect(files, clock, 299.0) == []
    assert len(collect(files, clock, 1.0)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "{file}: not JSON: unexpected end of data"),
        ("[]", "{file}: expected a JSON object, got list"),
        (
            json.dumps({**JOB, "state": "asleep"}),
            "{file}: Expected one of 'starting', 'running', 'ended', got 'asleep'",
        ),
        (
            json.dumps({**JOB, "endpoints": [{**ENDPOINT, "rail": -1}]}),
            "{file}: Expected `int` >= 0 - at `$.endpoints[0]",
        ),
        (json.dumps({**JOB, "endpoints": [ENDPOINT, ENDPOINT]}), "{file}: an endpoint is listed twice in endpoints"),
        (json.dumps({key: JOB[key] for key in JOB if key != "job"}), "{file}: Object missing required field `job`"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "j.json"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        list(MapFiles("endpoint-map", [path], 2.0, 300.0).collect(HandClock()()))
    assert str(caught.value).startswith(message.replace("{file}", str(path)))


def test_a_wrong_file_holds_up_no_other_and_what_was_said_stays(tmp_path: Path) -> None:
    clock = HandClock()
    good, bad = write(tmp_path / "a.json", JOB), write(tmp_path / "b.json", {**JOB, "job": "j-2"})
    files = MapFiles("endpoint-map", [bad, good], 2.0, 10.0)
    assert len(collect(files, clock)) == 2
    bad.write_text("{")
    heard: list[Observed] = []
    with pytest.raises(ValueError, match=r"b\.json: not JSON"):
        for observed in files.collect(clock.move(10.0)):
            heard.append(observed)
    assert [observed.fields["job"] for observed in heard] == ["j-2", "j-1"]


def test_a_missing_file_is_named_and_taken_when_it_comes(tmp_path: Path) -> None:
    clock, path = HandClock(), tmp_path / "j.json"
    files = MapFiles("endpoint-map", [path], 2.0, 300.0)
    with pytest.raises(ValueError, match=r"j.json: No such file or directory"):
        collect(files, clock)
    write(path, JOB)
    assert len(collect(files, clock)) == 1


def test_an_envelope_in_the_file_is_not_believed() -> None:
    fields = parse_map("endpoint-map", "f", json.dumps({**JOB, "fabric": "x", "t_us": 5}).encode(), 7)
    assert not {"fabric", "t_us", "producer", "clock", "v"} & fields.keys()
    assert fields["version"] == 7
