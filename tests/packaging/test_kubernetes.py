"""The manifests are of the API's types, give the least powers, fit each other and the program; the unit is hardened."""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from skeletonhunter.collecting import load_agent_settings
from skeletonhunter.settings import load_settings
from tests.packaging.kubernetes_rules import TYPES, excesses, misfits

CHECKOUT = Path(__file__).parents[2]
BASE = CHECKOUT / "deploy" / "kubernetes" / "base"
UNIT = CHECKOUT / "deploy" / "skeletonhunter-agent.service"
KUSTOMIZATION = yaml.safe_load((BASE / "kustomization.yaml").read_text())
MANIFESTS = [each for name in KUSTOMIZATION["resources"] for each in yaml.safe_load_all((BASE / name).read_text())]
SERVICES = {each["metadata"]["name"]: each for each in MANIFESTS if each["kind"] in ("DaemonSet", "Deployment")}
JOBS = {each["metadata"]["name"]: each for each in MANIFESTS if each["kind"] == "Job"}
WORKLOADS = SERVICES | JOBS
MOST_EXPOSED = 3.0
Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_each_manifest_is_of_its_type(manifest: dict[str, Any]) -> None:
    assert misfits(manifest) == []


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_each_part_has_the_least_powers(name: str) -> None:
    assert excesses(WORKLOADS[name]) == []


def test_all_files_are_listed_and_all_kinds_known() -> None:
    files = {path.name for path in BASE.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(KUSTOMIZATION["resources"]) == files
    assert {(each["apiVersion"], each["kind"]) for each in MANIFESTS} == set(TYPES)
    assert set(SERVICES) == {"agent", "maps", "work", "sink", "alert"}
    assert set(JOBS) == {"topics", "migrate"}


def _container(change: Change) -> Change:
    return lambda workload: change(workload["spec"]["template"]["spec"]["containers"][0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_container(lambda c: c["securityContext"].update(privileged=True)), "gain privileges"),
        (
            _container(lambda c: c["securityContext"].update(capabilities={"drop": ["ALL"], "add": ["SYS_ADMIN"]})),
            "SYS_ADMIN",
        ),
        (_container(lambda c: c["securityContext"].pop("readOnlyRootFilesystem")), "write to its image"),
        (_container(lambda c: c["resources"].pop("limits")), "memory is not bounded"),
        (lambda w: w["spec"]["template"]["spec"].pop("securityContext"), "may be root"),
        (lambda w: w["spec"]["template"]["spec"].update(hostPID=True), "hostPID"),
        (lambda w: w["spec"]["template"]["spec"].pop("automountServiceAccountToken"), "token"),
        (
            lambda w: w["spec"]["template"]["spec"]["volumes"].append({"name": "x", "hostPath": {"path": "/"}}),
            "host's /",
        ),
    ],
)
def test_more_power_is_noticed(change: Change, words: str) -> None:
    workload = copy.deepcopy(WORKLOADS["sink"])
    change(workload)
    assert any(words in each for each in excesses(workload))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: w["spec"].update(replica=2), "no such field"),
        (lambda w: w["spec"].update(replicas="2"), "expected int"),
        (lambda w: w["spec"].pop("selector"), "selector"),
        (_container(lambda c: c.update(env=["A=b"])), "expected an object"),
    ],
)
def test_what_is_of_no_type_is_noticed(change: Change, words: str) -> None:
    workload = copy.deepcopy(WORKLOADS["sink"])
    change(workload)
    assert any(words in each for each in misfits(workload))


def test_names_fit_each_other() -> None:
    accounts = {each["metadata"]["name"] for each in MANIFESTS if each["kind"] == "ServiceAccount"}
    maps = {each["name"] for each in KUSTOMIZATION["configMapGenerator"]}
    for name, workload in WORKLOADS.items():
        spec, pod = workload["spec"], workload["spec"]["template"]["spec"]
        labels = spec["template"]["metadata"]["labels"]
        assert name in JOBS or spec["selector"]["matchLabels"].items() <= labels.items()
        assert pod["serviceAccountName"] in accounts
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} == set(volumes)
        assert volumes["settings"]["configMap"]["name"] in maps
        secrets = {volume: about["secret"]["secretName"] for volume, about in volumes.items() if "secret" in about}
        assert {
            "kafka": f"kafka-{name}",
            "clickhouse": f"clickhouse-{name}",
            "targets": "alert",
        }.items() >= secrets.items()


def test_network_policies_choose_pods_that_exist() -> None:
    policies = [each["spec"] for each in MANIFESTS if each["kind"] == "NetworkPolicy"]
    assert any(not each["podSelector"] and each["policyTypes"] == ["Ingress", "Egress"] for each in policies)
    labels = [workload["spec"]["template"]["metadata"]["labels"] for workload in WORKLOADS.values()]
    for each in policies:
        wanted = each["podSelector"].get("matchLabels", {})
        among = each["podSelector"].get("matchExpressions", ())
        for name in {name for one in among for name in one["values"]} or {None}:
            also = {one["key"]: name for one in among}
            assert any((wanted | also).items() <= own.items() for own in labels)
    ports = {port["port"] for each in policies for rule in each.get("ingress", ()) for port in rule["ports"]}
    assert ports == {9464, 9465}, "nobody calls in but for metrics"


def test_the_settings_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the secrets where a pod has them."""
    for name in ("password", "ca.pem"):
        (tmp_path / name).write_text("x")
    for file in ("settings.toml", "agent.toml", "maps.toml"):
        text = (BASE / file).read_text().replace("/run/secrets/kafka", str(tmp_path))
        (tmp_path / file).write_text(text)
    user = {"SKELETONHUNTER_KAFKA__SECURITY__USERNAME": "work"}
    settings = load_settings(tmp_path / "settings.toml", user)
    assert settings.kafka.librdkafka["sasl.username"] == "work"
    agent = load_agent_settings(tmp_path / "agent.toml", {"SKELETONHUNTER_AGENT__HOST": "gpu-1"})
    assert "kernel-log" not in agent.agent.parts and agent.agent.host == "gpu-1"
    assert load_agent_settings(tmp_path / "maps.toml", {}).agent.parts == ("endpoint-kubernetes",)


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_each_part_that_stays_is_asked_whether_it_lives_at_a_place_that_it_serves(name: str) -> None:
    (container,) = SERVICES[name]["spec"]["template"]["spec"]["containers"]
    (port,) = container["ports"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/metrics", "port": port["name"]}
    file = {"agent": "agent.toml", "maps": "maps.toml"}.get(name, "settings.toml")
    assert f':{port["containerPort"]}"' in (BASE / file).read_text()


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_an_upgrade_and_a_drained_node_take_one_at_a_time(name: str) -> None:
    spec = SERVICES[name]["spec"]
    if name in ("work", "sink", "alert"):
        assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
        assert spec["minReadySeconds"] >= 20
        budgets = [each["spec"] for each in MANIFESTS if each["kind"] == "PodDisruptionBudget"]
        mine = [each for each in budgets if each["selector"] == spec["selector"]]
        assert [each["maxUnavailable"] for each in mine] == [1]
    requests = spec["template"]["spec"]["containers"][0]["resources"]["requests"]
    assert set(requests) == {"cpu", "memory"}


def test_the_image_of_the_manifests_is_that_of_the_project() -> None:
    images = {each["spec"]["template"]["spec"]["containers"][0]["image"] for each in WORKLOADS.values()}
    version = re.search(r'^version = "(.*)"', (CHECKOUT / "pyproject.toml").read_text(), re.M)
    assert version and images == {f"skeletonhunter:{version[1]}", f"skeletonhunter-agent:{version[1]}"}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing")
def test_the_unit_is_hardened(tmp_path: Path) -> None:
    assert exposure(UNIT) <= MOST_EXPOSED
    soft = tmp_path / "soft.service"
    soft.write_text(re.sub(r"(?m)^(SystemCall|Restrict|Protect|Capability).*\n", "", UNIT.read_text()))
    assert exposure(soft) > MOST_EXPOSED


def exposure(unit: Path) -> float:
    """What systemd thinks of a unit, from 0 (safe) to 10."""
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.search(r"exposure level for .*: ([0-9.]+)", told)
    assert found, told
    return float(found[1])
