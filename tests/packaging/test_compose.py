"""docker-compose.yml, the container file and Grafana's files fit the program and each other."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.packaging.compose_rules import faults

CHECKOUT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())
EXAMPLE = CHECKOUT / "deploy/compose.env.example"

Service = dict[str, Any]


def test_no_rule_is_broken() -> None:
    assert faults(COMPOSE, CHECKOUT) == []


def _spoil(service: str, key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(compose: dict[str, Any]) -> None:
        compose["services"][service][key] = value

    return change


def _set(service: str, variable: str, value: str) -> Callable[[dict[str, Any]], None]:
    def change(compose: dict[str, Any]) -> None:
        compose["services"][service]["environment"][variable] = value

    return change


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda compose: compose["services"].pop("sink"), "there is no service sink"),
        (_spoil("kafka", "image", "apache/kafka"), "kafka: image 'apache/kafka' is not pinned to a version"),
        (_spoil("kafka", "image", "apache/kafka:latest"), "kafka: image 'apache/kafka:latest' is not pinned"),
        (_spoil("sink", "command", ["sinc"]), "sink: command ['sinc'] is none of the program's"),
        (_spoil("sink", "command", ["sink", "--faster"]), "sink: command sink has no option --faster"),
        (_spoil("migrate", "restart", "always"), "sink: waits for the end of migrate, which is restarted"),
        (
            lambda compose: compose["services"]["clickhouse"].pop("healthcheck"),
            "migrate: waits for the health of clickhouse, which has no health check",
        ),
        (_spoil("sink", "depends_on", {"zookeeper": {"condition": "service_started"}}), "sink: depends on zookeeper"),
        (
            _spoil("work", "volumes", ["state:/var/lib/skeletonhunter"]),
            "work: uses volume state, which is not declared",
        ),
        (_spoil("grafana", "volumes", ["./deploy/nowhere:/x:ro"]), "grafana: mounts ./deploy/nowhere"),
        (_spoil("grafana", "ports", ["3000:3000"]), "grafana: port 3000:3000 is open to more than this machine"),
        (_spoil("work", "build", {"context": ".", "dockerfile": "Dockerfile"}), "work: has no container file"),
        (_set("grafana", "GF_SECURITY_ADMIN_PASSWORD", "admin"), "grafana: GF_SECURITY_ADMIN_PASSWORD holds a secret"),
        (
            _set("sink", "SKELETONHUNTER_CLICKHOUSE__DSN", "clickhouse://u:pw@clickhouse/x"),
            "sink: SKELETONHUNTER_CLICKHOUSE__DSN holds a secret",
        ),
        (
            _set("work", "SKELETONHUNTER_KAFKA__URI", "kafka:9092"),
            "work: environment variable SKELETONHUNTER_KAFKA__URI",
        ),
        (_set("work", "SKELETONHUNTER_KAFKA__PARTITIONS", "many"), "work: environment variable"),
        (_set("work", "KAFKA_URL", "kafka:9092"), "work: sets KAFKA_URL, which the program does not read"),
    ],
)
def test_every_rule_can_be_broken(spoil: Callable[[dict[str, Any]], None], fault: str) -> None:
    compose = copy.deepcopy(COMPOSE)
    spoil(compose)
    assert any(each.startswith(fault) for each in faults(compose, CHECKOUT)), faults(compose, CHECKOUT)


def test_all_commands_that_run_for_ever_wait_for_the_topics() -> None:
    ours = {name: service for name, service in COMPOSE["services"].items() if name in ("work", "sink", "alert")}
    for service in ours.values():
        assert service["depends_on"]["topics"] == {"condition": "service_completed_successfully"}
    assert ours["sink"]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


def test_the_example_names_every_variable_that_compose_asks_for() -> None:
    asked = set(re.findall(r"\$\{(\w+)", (CHECKOUT / "docker-compose.yml").read_text()))
    named = dict(line.split("=", 1) for line in EXAMPLE.read_text().splitlines() if not line.startswith("#"))
    assert set(named) == asked
    assert not any(named.values())


def test_the_image_has_the_version_python_and_files_of_the_project() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    text = (CHECKOUT / "deploy/Containerfile").read_text()
    assert {service["image"] for service in COMPOSE["services"].values() if "build" in service} == {
        f"skeletonhunter:{project['project']['version']}"
    }
    bases = re.findall(r"^FROM (\S+)", text, re.M)
    assert {base.split("-")[0] for base in bases} == {"python:" + project["project"]["requires-python"].lstrip(">=")}
    copied = set(re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.M))
    sources = {source for line in copied for source in line.split()}
    packages = set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    assert packages < sources
    allowed = {line[1:] for line in (CHECKOUT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert sources == allowed
    for source in sources:
        assert (CHECKOUT / source).exists()


def test_the_image_runs_the_program_and_not_as_root() -> None:
    lines = (CHECKOUT / "deploy/Containerfile").read_text().splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users == ["skeletonhunter"]
    entry = next(json.loads(line.removeprefix("ENTRYPOINT ")) for line in lines if line.startswith("ENTRYPOINT "))
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    assert set(entry) <= set(project["project"]["scripts"])


def test_grafana_finds_its_data_source_and_dashboards() -> None:
    provisioning = CHECKOUT / "deploy/grafana/provisioning"
    sources = yaml.safe_load((provisioning / "datasources/clickhouse.yaml").read_text())["datasources"]
    kinds = {source["uid"]: source["type"] for source in sources}
    grafana = COMPOSE["services"]["grafana"]
    provider = yaml.safe_load((provisioning / "dashboards/skeletonhunter.yaml").read_text())["providers"][0]
    mounts = dict(str(volume).removesuffix(":ro").split(":") for volume in grafana["volumes"])
    [folder] = [Path(source) for source, target in mounts.items() if target == provider["options"]["path"]]
    boards = [json.loads(file.read_text()) for file in (CHECKOUT / folder).glob("*.json")]
    assert boards
    for panel in (panel for board in boards for panel in board["panels"]):
        assert kinds[panel["datasource"]["uid"]] == panel["datasource"]["type"]
    assert sources[0]["type"] in grafana["environment"]["GF_PLUGINS_PREINSTALL_SYNC"]
    assert sources[0]["jsonData"]["host"] in COMPOSE["services"]
    used = {name for name in re.findall(r"\$(\w+)", (provisioning / "datasources/clickhouse.yaml").read_text())}
    assert used <= set(grafana["environment"])


def test_dashboards_read_as_a_user_who_may_not_write() -> None:
    users = ElementTree.parse(CHECKOUT / "deploy/clickhouse/users.d/reader.xml").getroot()
    reader = COMPOSE["services"]["grafana"]["environment"]["CLICKHOUSE_USER"]
    user = users.find(f"users/{reader}")
    assert user is not None
    password = user.find("password")
    assert password is not None
    assert password.attrib["from_env"] in COMPOSE["services"]["clickhouse"]["environment"]
    profile = user.findtext("profile")
    assert users.findtext(f"profiles/{profile}/readonly") == "2"
    assert {query.text for query in user.findall("grants/query")} == {"GRANT SELECT ON skeletonhunter.*"}


def _compose_programs() -> list[list[str]]:
    """The compose programs of this machine; both read files without an engine."""
    found = [["docker-compose"]] if shutil.which("docker-compose") else []
    if shutil.which("docker"):
        answer = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
        found += [["docker", "compose"]] if answer.returncode == 0 else []
    return found


def test_compose_itself_accepts_the_file(tmp_path: Path) -> None:
    programs = _compose_programs()
    if not programs:
        pytest.skip("neither `docker compose` nor `docker-compose` is installed")
    variables = re.findall(r"^(\w+)=", EXAMPLE.read_text(), re.M)
    environment = os.environ | dict.fromkeys(variables, "Secret1") | {"HOME": str(tmp_path)}
    for program in programs:
        command = [*program, "-f", str(CHECKOUT / "docker-compose.yml"), "--profile", "alerts", "config", "--quiet"]
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr
        missing = {name: value for name, value in environment.items() if name != "GRAFANA_PASSWORD"}
        refused = subprocess.run(command, env=missing, capture_output=True, text=True, check=False)
        assert refused.returncode != 0
        assert "GRAFANA_PASSWORD" in refused.stderr
