"""How is the agent set up? One frozen value; read from a TOML file, the environment and flags by the program.

Each group of parts brings its own section. What the types can't express is checked in ``contradictions``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from collectors.kafka_access import KafkaAccess
from collectors.part_settings import ClockSettings, EventSettings, FlowSettings, SwitchSettings, address_of
from collectors.probing.settings import ProbingSettings
from collectors.rnic.settings import RnicSettings

HOST_PARTS = ("rnic-counters", "rnic-bursts", "rnic-state", "probing", "kernel-log", "configuration")
"""What an agent on a host does unless it is told otherwise."""

Text = Annotated[str, Meta(min_length=1)]


class IdentitySettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who the agent is, what it does, and what it may use.

    fabric: the fabric that everything it reports belongs to; there is no default.
    name: the agent's name, unique in the fabric (default: the host, with the container in a sidecar).
    host: the host as maps name it (default: the host name of the system).
    container: in a sidecar the container whose endpoints it looks after (default: all on the host).
    parts: what it does; see the guide for all of them.
    heartbeat_s: seconds between two health messages.
    cpu_percent: processor time, percent of one core, above which it stretches its intervals.
    log_level: what is said on standard error: this and what is worse.
    metrics: `host:port` to serve Prometheus's metrics on, such as `0.0.0.0:9465` (default: nowhere).
    sys: where sysfs is.
    proc: where procfs is.
    """

    fabric: Text
    name: str = ""
    host: str = ""
    container: str = ""
    parts: tuple[str, ...] = HOST_PARTS
    heartbeat_s: Annotated[float, Meta(ge=0.5, le=60.0)] = 5.0
    cpu_percent: Annotated[float, Meta(gt=0.0, le=100.0)] = 5.0
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    metrics: Annotated[str, Meta(pattern=r":[0-9]{1,5}$")] | None = None
    sys: Text = "/sys"
    proc: Text = "/proc"


class AgentKafkaSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where Kafka is, and what waits while it is away.

    url: a list of `host:port`, separated by commas.
    prefix: stands before each topic.
    follow: read maps and plans from Kafka; an agent without endpoints (of a switch, of Kubernetes) need not.
    fetch_wait_ms: how long a broker may hold a read when there is nothing new.
    librdkafka: goes to confluent-kafka as it is; TLS and users have a table of their own, `[kafka.security]`.
    spool: folder for what waits while Kafka is away; of this agent alone.
    spool_mb: megabytes that may wait there; beyond it the oldest messages are dropped, counted and reported.
    renew_s: seconds without any confirmation after which a new producer tries; beyond it messages may arrive twice.
    stop_s: seconds that a stopping agent gives Kafka; what is left waits in the spool for the next run.
    """

    url: Text = "localhost:9092"
    prefix: Annotated[str, Meta(pattern="^[a-zA-Z0-9._-]*$")] = ""
    follow: bool = True
    fetch_wait_ms: Annotated[int, Meta(ge=1, le=30000)] = 5000
    librdkafka: dict[str, str | int | float | bool] = {}
    security: KafkaAccess = field(default_factory=KafkaAccess)
    spool: Text = "/var/lib/skeletonhunter/spool"
    spool_mb: Annotated[float, Meta(ge=1.0, le=100_000.0)] = 256.0
    renew_s: Annotated[float, Meta(ge=5.0, le=86400.0)] = 300.0
    stop_s: Annotated[float, Meta(ge=0.0, le=60.0)] = 5.0


class MapSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where maps come from when this agent is to publish them (parts `endpoint-files`, `fabric-file`, `fabric-lldp`).

    endpoints: JSON files, one for each job, with the fields of `endpoint-map`.
    fabric: a JSON file with the fields of `fabric-map`.
    neighbours: a folder with the output of `lldpctl -f json` of each device, named `<device>.json`.
    leaf: pattern of the names of leaf switches among the neighbours.
    spine: pattern of the names of spine switches.
    core: pattern of the names of core switches.
    look_s: seconds between two looks at the files.
    again_s: seconds after which an unchanged map is published again.
    rnics: names of RNICs by network device ("eth2" to "mlx5_0"), for hosts among the neighbours.
    devices: how the device of each RNIC is found, where its name in the map is not the kernel's.
    """

    endpoints: tuple[str, ...] = ()
    fabric: str = ""
    neighbours: str = ""
    leaf: str = "leaf"
    spine: str = "spine"
    core: str = "core"
    look_s: Annotated[float, Meta(ge=0.1, le=3600.0)] = 2.0
    again_s: Annotated[float, Meta(ge=1.0, le=86400.0)] = 300.0
    rnics: dict[str, str] = {}
    devices: dict[str, str] = {}


class KubernetesSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How jobs are found in Kubernetes (part `endpoint-kubernetes`; one agent for a cluster, not one for each host).

    namespace: look at this one only (default: all).
    selector: label selector of the pods that belong to jobs.
    job_label: label that names the job of a pod.
    rank_label: label that numbers the pods of a job; with the RNICs per pod it gives the ranks.
    resource_claims: also read what the devices of dynamic resource allocation were bound to.
    kubeconfig: file to log in with (default: the service account of the pod).
    look_s: seconds between two looks.
    timeout_s: seconds that the API server has for an answer.
    """

    namespace: str = ""
    selector: str = "skeletonhunter.io/job"
    job_label: Text = "skeletonhunter.io/job"
    rank_label: Text = "batch.kubernetes.io/job-completion-index"
    resource_claims: bool = False
    kubeconfig: str = ""
    look_s: Annotated[float, Meta(ge=1.0, le=3600.0)] = 5.0
    timeout_s: Annotated[float, Meta(ge=0.1, le=60.0)] = 5.0


class AgentSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that an operator may tell an agent."""

    agent: IdentitySettings
    kafka: AgentKafkaSettings = field(default_factory=AgentKafkaSettings)
    maps: MapSettings = field(default_factory=MapSettings)
    kubernetes: KubernetesSettings = field(default_factory=KubernetesSettings)
    rnic: RnicSettings = field(default_factory=RnicSettings)
    probing: ProbingSettings = field(default_factory=ProbingSettings)
    clock: ClockSettings = field(default_factory=ClockSettings)
    flows: FlowSettings = field(default_factory=FlowSettings)
    events: EventSettings = field(default_factory=EventSettings)
    switches: SwitchSettings = field(default_factory=SwitchSettings)


def contradictions(settings: AgentSettings, known_parts: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """What the types can't express: (field, what is wrong with it)."""
    yield from _wrong_parts(settings, known_parts)
    for name, number in _numbers("", settings):
        if not math.isfinite(number):
            yield name, f"Expected a finite number, got {number}"
    for name, path in _paths(settings):
        if path and not Path(path).is_absolute():
            yield name, f"Expected an absolute path, got {path!r}"
    yield from _wrong_events(settings.events)


NEEDED = {
    "endpoint-files": ("maps.endpoints", "a file"),
    "fabric-file": ("maps.fabric", "a file"),
    "fabric-lldp": ("maps.neighbours", "a folder"),
    "log-files": ("events.logs", "a file"),
    "job-logs": ("events.job_logs", "a file"),
    "syslog": ("events.syslog", "an address"),
    "switches-gnmi": ("switches.gnmi", "a switch"),
    "switches-sonic": ("switches.sonic", "a switch"),
}
"""Parts that have nothing to do without a setting."""


def _wrong_parts(settings: AgentSettings, known_parts: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    parts = settings.agent.parts
    for index, part in enumerate(parts):
        if part not in known_parts:
            yield "agent.parts", f"Expected one of {', '.join(known_parts)}, got {part!r}"
        if part in parts[:index]:
            yield "agent.parts", f"Part {part!r} is listed twice"
        if part in NEEDED:
            name, what = NEEDED[part]
            section, _, wanted = name.partition(".")
            if not getattr(getattr(settings, section), wanted):
                yield name, f"Part {part!r} needs {what} here"


def _paths(settings: AgentSettings) -> Iterator[tuple[str, str]]:
    yield "kafka.spool", settings.kafka.spool
    yield "maps.fabric", settings.maps.fabric
    yield "maps.neighbours", settings.maps.neighbours
    yield "probing.key_file", settings.probing.key_file
    for path in settings.maps.endpoints:
        yield "maps.endpoints", path
    for path in settings.events.logs:
        yield "events.logs", path
    for container, path in settings.events.job_logs.items():
        yield f"events.job_logs.{container}", path


def _wrong_events(events: EventSettings) -> Iterator[tuple[str, str]]:
    for size in events.hugepages:
        if not size.isdecimal():
            yield f"events.hugepages.{size}", f"Expected a size in kB, got {size!r}"
    try:
        if events.syslog:
            address_of(events.syslog)
    except ValueError as error:
        yield "events.syslog", str(error)


def _numbers(prefix: str, section: object) -> Iterator[tuple[str, float]]:
    if isinstance(section, Struct):
        for name in section.__struct_fields__:
            yield from _numbers(f"{prefix}.{name}" if prefix else name, getattr(section, name))
    elif isinstance(section, float):
        yield prefix, section
