"""Which rules does docker-compose.yml have to keep? Checked without a docker engine, by reading it and the program.

``faults(compose, checkout)`` names each rule that is broken, with the service and what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer.main

from skeletonhunter.cli import build_cli
from skeletonhunter.settings import SettingsError, load_settings

Json = dict[str, Any]

NEEDED = {"kafka", "clickhouse", "topics", "migrate", "work", "sink", "alert", "grafana"}
OURS = "skeletonhunter:"
LISTS_OF_THE_OPERATOR = dict.fromkeys(("SKELETONHUNTER_ALERTS__WEBHOOKS", "SKELETONHUNTER_ALERTS__ALLOW_NETWORKS"), "")
ONE_SHOT = {"topics", "migrate"}
_PIN = re.compile(r"^[\w./-]+:\d+(\.\d+)+$")
_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?P<rest>:[?-][^}]*)?\}")


def faults(compose: Json, checkout: Path) -> list[str]:
    """The rules that are broken."""
    services: dict[str, Json] = compose["services"]
    found = [f"there is no service {name}" for name in sorted(NEEDED - set(services))]
    for name, service in services.items():
        found += [f"{name}: {fault}" for fault in _service(name, service, compose, checkout)]
    return found


def interpolated(text: str, given: Mapping[str, str]) -> str:
    """A value as compose would make it, with ``given`` for variables."""
    return _VARIABLE.sub(lambda match: given.get(match["name"], (match["rest"] or ":-")[2:]), text)


def _service(name: str, service: Json, compose: Json, checkout: Path) -> Iterator[str]:
    if not _PIN.match(service.get("image", "")):
        yield f"image {service.get('image')!r} is not pinned to a version"
    yield from _waits(service, compose["services"])
    yield from _volumes(service, compose.get("volumes", {}), checkout)
    yield from _secrets(service.get("environment", {}))
    for port in service.get("ports", ()):
        if not str(port).startswith("127.0.0.1:"):
            yield f"port {port} is open to more than this machine"
    if service.get("image", "").startswith(OURS):
        yield from _program(name, service, checkout)


def _waits(service: Json, services: dict[str, Json]) -> Iterator[str]:
    for other, how in service.get("depends_on", {}).items():
        if other not in services:
            yield f"depends on {other}, which is no service"
        elif how["condition"] == "service_healthy" and "healthcheck" not in services[other]:
            yield f"waits for the health of {other}, which has no health check"
        elif how["condition"] == "service_completed_successfully" and services[other].get("restart") != "no":
            yield f"waits for the end of {other}, which is restarted"


def _volumes(service: Json, declared: Json, checkout: Path) -> Iterator[str]:
    for volume in service.get("volumes", ()):
        source = str(volume).partition(":")[0]
        if source.startswith((".", "/")):
            if not (checkout / source).exists():
                yield f"mounts {source}, which does not exist"
        elif source not in declared:
            yield f"uses volume {source}, which is not declared"


def _secrets(environment: Mapping[str, str]) -> Iterator[str]:
    for variable, value in environment.items():
        is_secret = variable.endswith("PASSWORD") or ("@" in interpolated(str(value), {}) and "://" in str(value))
        if is_secret and ":?" not in str(value):
            yield f"{variable} holds a secret that does not come from the environment"


def _program(name: str, service: Json, checkout: Path) -> Iterator[str]:
    yield from _command(service.get("command", []))
    if name in ONE_SHOT and service.get("restart") != "no":
        yield "runs once, so it must not be restarted"
    given = {match["name"]: "Secret1" for value in _values(service) for match in _VARIABLE.finditer(value)}
    environment = {
        variable: interpolated(str(value), given) for variable, value in service.get("environment", {}).items()
    }
    strangers = [variable for variable in environment if not variable.startswith("SKELETONHUNTER_")]
    if strangers:
        yield f"sets {strangers[0]}, which the program does not read"
    try:
        load_settings(None, environment | LISTS_OF_THE_OPERATOR)
    except SettingsError as error:
        yield str(error)
    build = service.get("build", {})
    if not (checkout / build.get("context", "?") / build.get("dockerfile", "?")).is_file():
        yield "has no container file"


def _values(service: Json) -> list[str]:
    return [str(value) for value in service.get("environment", {}).values()]


def _command(command: list[str]) -> Iterator[str]:
    program = typer.main.get_command(build_cli())
    commands = getattr(program, "commands", {})
    if not command or command[0] not in commands:
        yield f"command {command} is none of the program's"
        return
    known = {option for parameter in commands[command[0]].params for option in parameter.opts}
    for word in command[1:]:
        if word.startswith("--") and word.partition("=")[0] not in known:
            yield f"command {command[0]} has no option {word}"
