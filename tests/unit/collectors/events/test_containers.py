"""What runtimes say of containers: which started or ended, and how bad that is."""

from __future__ import annotations

import json

import pytest

from collectors.events.containers import LONGEST, ContainerEvent, EventLines, notice_of, parse_container_event
from tests.unit.collectors.events.hosts import DATA


def container_lines() -> list[tuple[str, str]]:
    rows = [line.split("\t", 1) for line in (DATA / "containers.tsv").read_text().splitlines()]
    return [(form, line) for form, line in rows]


def test_every_runtime_s_words() -> None:
    found = [(form, parse_container_event(line)) for form, line in container_lines()]
    assert all(event is not None and "c-01" in event.names for _, event in found)
    told_by = [(form, event.what, event.exit_code) for form, event in found if event is not None]
    assert told_by == [
        ("docker", "exit", 137), ("docker", "start", None), ("podman", "exit", 0), ("containerd", "exit", 1),
        ("containerd", "oom", None), ("cri", "exit", 137), ("own", "exit", 9),
    ]  # fmt: skip
    times = {event.t_us for _, event in found if event is not None}
    assert times == {1_753_000_000_123_456, 1_753_000_000_000_000}


def test_lines_and_objects_over_several_lines_are_events_alike() -> None:
    lines = [line for _, line in container_lines()]
    printed = [part for line in lines for part in (indented(line) if line.startswith("{") else [line])]
    assert [parse_container_event(line) for line in EventLines().take(printed)] == [
        parse_container_event(line) for line in lines
    ]
    joining = EventLines()
    assert list(joining.take(["{", '  "container": "c-01",'])) == [], "it waits for its end"
    assert list(joining.take(["{", '  "container": "c-02"', "}"])) == ['{"container": "c-02"}'], "another one began"
    assert list(joining.take(["{", *['  "x": 1,'] * LONGEST, "}", "whole"]))[-1] == "whole"


def indented(line: str) -> list[str]:
    return json.dumps(json.loads(line), indent=2).splitlines()


def test_a_pod_is_known_by_the_name_that_maps_of_kubernetes_have() -> None:
    cri = next(line for form, line in container_lines() if form == "cri")
    pod = '"io.kubernetes.pod.namespace":"ml","io.kubernetes.pod.name":"c-01","exitCode":"1"'
    docker = f'{{"Type":"container","Action":"die","Actor":{{"ID":"f00","Attributes":{{{pod}}}}}}}'
    for line in (cri, docker):
        event = parse_container_event(line)
        assert event is not None and {"ml.c-01", "c-01", "f00"} <= set(event.names)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            '2019-05-04T18:05:45.011072877-05:00 container oom 29d72966e0be (annotation.ports=[{"containerPort":8888}],'
            " io.kubernetes.pod.name=c-01, io.kubernetes.pod.namespace=ml, name=k8s)",
            ("oom", None, "ml.c-01", 1_557_011_145_011_072),
        ),
        (
            "2019-04-27T22:47:05.212629470-04:00 container die 683b0909d556 (exitCode=137, image=train:1, name=c-01)",
            ("exit", 137, "c-01", 1_556_419_625_212_629),
        ),
        (
            "2019-04-27 22:47:05.212629470 -0400 EDT container died 683b0909d556 (image=train:1, name=c-01)",
            ("exit", None, "c-01", 1_556_419_625_212_629),
        ),
        (
            '{"Type":"container","Action":"died","Actor":{"ID":"cc0d78496923","Attributes":{"containerExitCode":"3",'
            '"image":"train:1","name":"c-01"}},"scope":"local","time":1609413164,"timeNano":1609413164982188073}',
            ("exit", 3, "c-01", 1_609_413_164_982_188),
        ),
    ],
)
def test_plain_lines_of_docker_and_podman(line: str, expected: tuple[str, int | None, str, int]) -> None:
    event = parse_container_event(line)
    what, code, name, t_us = expected
    assert event is not None and (event.what, event.exit_code, event.t_us) == (what, code, t_us)
    assert name in event.names


@pytest.mark.parametrize(
    "line",
    [
        "2019-04-27T22:47:05.2-04:00 container exec_die 683b0909d556 (exitCode=0, name=c-01)",
        "2019-04-27T22:47:05.2-04:00 network connect 683b0909d556 (name=bridge)",
        "", "no event", "{}", '{"container": 5}', '{"Type":"network","Action":"connect","Actor":{"ID":"x"}}',
        '2025-07-20 08:26:40 +0000 UTC k8s.io /tasks/exit {"container_id":"c-01","id":"exec-1","exit_status":1}',
        '2025-07-20 08:26:40 +0000 UTC k8s.io /images/update {"name":"train"}',
        '{"containerId":"f00","containerEventType":"CONTAINER_STOPPED_EVENT","podSandboxStatus":{"id":"f00"}}',
        '{"Type":"container","Action":"die","Actor":{"ID":"f00","Attributes":'
        '{"io.kubernetes.docker.type":"podsandbox","io.kubernetes.pod.name":"c-01","exitCode":"0"}}}',
        '{"status":"exec_die","id":"1","Action":"exec_die","Actor":{"ID":"1","Attributes":{"exitCode":"0"}}}',
    ],
)  # fmt: skip
def test_what_is_no_start_or_end_of_a_container(line: str) -> None:
    assert parse_container_event(line) is None


@pytest.mark.parametrize(
    ("event", "severity"),
    [
        (ContainerEvent(what="exit", names=("c",), exit_code=0), "info"),
        (ContainerEvent(what="exit", names=("c",), exit_code=1), "error"),
        (ContainerEvent(what="exit", names=("c",)), "warning"),
        (ContainerEvent(what="oom", names=("c",)), "error"),
        (ContainerEvent(what="start", names=("c",)), "info"),
    ],
)
def test_how_bad_an_end_is(event: ContainerEvent, severity: str) -> None:
    assert notice_of(event, "c", "words").severity == severity
