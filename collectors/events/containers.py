"""Which containers start and end, and how? What container runtimes print about it, one event a line, or an object over
several lines, as crictl does.

Known forms: ``docker events`` (plain, or ``--format '{{json .}}'``) and Podman's, ``ctr events`` (``TIME NAMESPACE
/tasks/exit {json}``), CRI (``crictl events -o json``), and our own ``{"container": "c-01", "event": "exit",
"exit_code": 1, "t_us": ...}`` for anything else. The end of an ``exec`` inside a container is not its end, nor is that
of a pod's sandbox, which runs nothing. Of Kubernetes a pod is also known by the name that its maps have,
``<namespace>.<pod>``. Exit code 0 is ``info`` (a job that is done), another one an ``error``, an unknown one a
``warning``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from collectors.events.instants import of_iso
from collectors.events.notices import Notice, Severity, Subject, Value
from schemas.instants import LATEST_US

What = Literal["start", "exit", "oom"]


class ContainerEvent(Struct, frozen=True, kw_only=True):
    """One event; ``names``: id and every name that the runtime gives, to find the container in the endpoint map."""

    what: What
    names: tuple[str, ...]
    exit_code: int | None = None
    reason: str | None = None
    t_us: int | None = None


_CTR = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? [+-]\d{4}) \S+ \S+ /tasks/(start|exit|oom) (\{.*\})")
_PLAIN = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z| ?[+-]\d\d:?\d\d)?)(?: [A-Z]{1,5})?"
    r" container (\w{1,16}) ([0-9a-f]{12,64}) \((.*)\)"
)
_ATTRIBUTE = re.compile(r"(?:^|, )([\w./-]{1,128})=([^,]{0,256})")
_DOCKER: dict[str, What] = {"start": "start", "die": "exit", "died": "exit", "oom": "oom"}
_CRI: dict[str, What] = {"CONTAINER_STARTED_EVENT": "start", "CONTAINER_STOPPED_EVENT": "exit"}


LONGEST = 1_000_000


class EventLines:
    """Puts objects together that are printed over several lines, from ``{`` to ``}`` alone at their beginnings."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0

    def take(self, lines: Iterable[str]) -> Iterator[str]:
        """Whole events; an object that has no end yet waits for it, one longer than ``LONGEST`` is dropped."""
        for line in lines:
            text = line.rstrip()
            if not self._parts and text != "{":
                yield text
                continue
            if text == "{" or self._length > LONGEST:
                self.forget()
            self._parts.append(text.strip())
            self._length += len(text)
            if text == "}":
                yield "".join(self._parts)
                self.forget()

    def forget(self) -> None:
        """What has begun will not end."""
        self._parts, self._length = [], 0


def parse_container_event(line: str) -> ContainerEvent | None:
    """Reads one line; None: it is no start, exit or lack of memory of a container."""
    line = line.strip()
    if found := _CTR.fullmatch(line):
        body = _object(found[3])
        return None if body is None else _of_ctr(body, found[2], found[1])
    if found := _PLAIN.fullmatch(line[:LONGEST]):
        labels = dict(_ATTRIBUTE.findall(found[4]))
        return _of_docker({"Action": found[2], "Actor": {"ID": found[3], "Attributes": labels}, "Time": found[1]})
    body = _object(line) if line.startswith("{") else None
    if body is None:
        return None
    if "containerEventType" in body:
        return _of_cri(body)
    return _of_own(body) if isinstance(body.get("container"), str) else _of_docker(body)


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _of_ctr(body: dict[str, Any], topic: str, stamp: str) -> ContainerEvent | None:
    name = body.get("container_id")
    if not isinstance(name, str) or body.get("id", name) != name:  # another id: an exec inside the container
        return None
    what: What = "start" if topic == "start" else "exit" if topic == "exit" else "oom"
    code = _whole(body.get("exit_status", 0 if topic == "exit" else None))
    return ContainerEvent(what=what, names=(name,), exit_code=code, t_us=of_iso(stamp, 0))


def _of_cri(body: dict[str, Any]) -> ContainerEvent | None:
    what, name = _CRI.get(str(body["containerEventType"])), body.get("containerId")
    if what is None or not isinstance(name, str):
        return None
    names, code, reason = [name], None, None
    sandbox = _mapping(body.get("podSandboxStatus"))
    if sandbox.get("id") == name:
        return None
    pod = _mapping(sandbox.get("metadata"))
    listed = body.get("containersStatuses")
    for status in listed if isinstance(listed, list) else ():
        if isinstance(status, dict) and status.get("id") == name:
            names.append(str(_mapping(status.get("metadata")).get("name", "")))
            code, reason = _whole(status.get("exitCode")), status.get("reason")
    names += _of_pod(pod.get("namespace"), pod.get("name"))
    created = _whole(body.get("createdAt"))
    return ContainerEvent(
        what=what,
        names=tuple(each for each in names if each),
        exit_code=code if what == "exit" else None,
        reason=reason if isinstance(reason, str) and reason else None,
        t_us=_instant(created // 1_000) if created is not None else None,
    )


def _of_own(body: dict[str, Any]) -> ContainerEvent | None:
    what = body.get("event")
    if what not in ("start", "exit", "oom"):
        return None
    t_us = _whole(body.get("t_us"))
    return ContainerEvent(
        what=what,
        names=(body["container"],),
        exit_code=_whole(body.get("exit_code")),
        t_us=_instant(t_us) if t_us is not None else None,
    )


def _of_docker(body: dict[str, Any]) -> ContainerEvent | None:
    if str(body.get("Type", "container")) != "container":
        return None
    what = _DOCKER.get(str(body.get("Action") or body.get("status") or body.get("Status") or ""))
    actor = _mapping(body.get("Actor"))
    labels = _mapping(actor.get("Attributes")) or _mapping(body.get("Attributes"))
    if labels.get("io.kubernetes.docker.type") == "podsandbox":
        return None
    names = [actor.get("ID"), body.get("id"), body.get("ID"), labels.get("name"), body.get("Name")]
    names += _of_pod(labels.get("io.kubernetes.pod.namespace"), labels.get("io.kubernetes.pod.name"))
    names.append(labels.get("io.kubernetes.container.name"))
    texts = tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name))
    if what is None or not texts:
        return None
    nanoseconds, seconds = _whole(body.get("timeNano")), _whole(body.get("time"))
    t_us = nanoseconds // 1_000 if nanoseconds is not None else None if seconds is None else seconds * 1_000_000
    if t_us is None and isinstance(body.get("Time"), str):
        t_us = of_iso(body["Time"], 0)
    code = _whole(labels.get("exitCode", labels.get("containerExitCode", body.get("ContainerExitCode"))))
    return ContainerEvent(
        what=what, names=texts, exit_code=code if what == "exit" else None, t_us=_instant(t_us) if t_us else None
    )


def _of_pod(namespace: object, pod: object) -> list[str]:
    """Names of a pod: as maps made of Kubernetes have it, and alone."""
    if not isinstance(pod, str) or not pod:
        return []
    return [f"{namespace}.{pod}", pod] if isinstance(namespace, str) and namespace else [pod]


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _instant(t_us: int) -> int | None:
    return t_us if t_us <= LATEST_US else None


def notice_of(event: ContainerEvent, container: str, line: str) -> Notice:
    """What an event says of a container of the endpoint map."""
    values: dict[str, Value] = {}
    if event.exit_code is not None:
        values["exit_code"] = event.exit_code
    if event.reason is not None:
        values["reason"] = event.reason
    severity: Severity = "info"
    if event.what == "oom":
        severity, values["reason"] = "error", "out of memory"
    elif event.what == "exit":
        severity = "warning" if event.exit_code is None else "error" if event.exit_code else "info"
    return Notice(
        code="container_start" if event.what == "start" else "container_exit",
        severity=severity,
        subject=Subject("container", container),
        text=line.strip()[:1_000],
        values=values,
    )
