"""The overlays come to manifests that keep the rules of the base, and to what Kustomize itself makes of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skeletonhunter.settings import load_settings
from tests.packaging.kubernetes_rules import excesses, misfits
from tests.packaging.kustomizing import built, kustomize, resolved, without_digests

KUBERNETES = Path(__file__).parents[2] / "deploy" / "kubernetes"
OVERLAYS = ("autoscaled", "small", "tls")
SECRETS = {f"kafka-{name}" for name in ("agent", "maps", "work", "sink", "alert", "topics")} | {
    f"clickhouse-{name}" for name in ("sink", "migrate")
}
Json = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifests, with made-up secrets where an operator has his own."""
    copied = tmp_path_factory.mktemp("kubernetes") / "kubernetes"
    shutil.copytree(KUBERNETES, copied, ignore=shutil.ignore_patterns("secrets"))
    secrets = copied / "overlays" / "tls" / "secrets"
    secrets.mkdir()
    for name in (*SECRETS, "ca.pem"):
        (secrets / name).write_text(f"{name}\n")
    return copied


def named(manifests: list[Json], kind: str) -> dict[str, Json]:
    return {each["metadata"]["name"]: each for each in manifests if each["kind"] == kind}


def test_every_overlay_is_tried() -> None:
    assert {path.name for path in (KUBERNETES / "overlays").iterdir()} == set(OVERLAYS)


@pytest.mark.parametrize("name", OVERLAYS)
def test_each_overlay_keeps_the_rules_of_the_base(folder: Path, name: str) -> None:
    manifests = resolved(folder / "overlays" / name)
    assert [fault for each in manifests for fault in misfits(each)] == []
    workloads = [each for each in manifests if each["kind"] in ("DaemonSet", "Deployment", "Job")]
    assert len(workloads) == 7
    assert [fault for each in workloads for fault in excesses(each)] == []
    objects = {"configMap": named(manifests, "ConfigMap"), "secret": named(manifests, "Secret")}
    for each in workloads if name == "tls" else ():
        for volume in each["spec"]["template"]["spec"]["volumes"]:
            wanted = volume.get("secret", {}).get("secretName")
            assert wanted in {None, "alert"} | objects["secret"].keys()


@pytest.mark.parametrize("name", ["../base", *OVERLAYS])
def test_kustomize_itself_says_the_same(folder: Path, name: str) -> None:
    command = kustomize()
    if command is None:
        pytest.skip("neither kustomize nor kubectl is here")
    there = folder / "overlays" / name
    assert without_digests(built(command, there)) == resolved(there.resolve())


def test_secrets_of_the_tls_overlay_are_those_that_the_pods_mount(folder: Path) -> None:
    manifests = resolved(folder / "overlays" / "tls")
    assert set(named(manifests, "Secret")) == SECRETS
    for kind, name in (("Deployment", "sink"), ("Job", "migrate")):
        (container,) = named(manifests, kind)[name]["spec"]["template"]["spec"]["containers"]
        environment = {each["name"]: each.get("value") for each in container["env"]}
        assert environment["SKELETONHUNTER_CLICKHOUSE__CA"] == "/run/secrets/clickhouse/ca.pem"
        assert environment["SKELETONHUNTER_CLICKHOUSE__PASSWORD_FILE"] == "/run/secrets/clickhouse/password"


def test_there_are_never_more_workers_than_partitions(folder: Path, tmp_path: Path) -> None:
    for name in OVERLAYS:
        manifests = resolved(folder / "overlays" / name)
        text = named(manifests, "ConfigMap")["settings"]["data"]["settings.toml"]
        (tmp_path / "settings.toml").write_text(text.replace("/run/secrets/kafka", str(tmp_path)))
        for file in ("password", "ca.pem"):
            (tmp_path / file).write_text("x")
        user = {"SKELETONHUNTER_KAFKA__SECURITY__USERNAME": "work"}
        partitions = load_settings(tmp_path / "settings.toml", user).kafka.partitions
        scaler = named(manifests, "HorizontalPodAutoscaler").get("work")
        most = scaler["spec"]["maxReplicas"] if scaler else named(manifests, "Deployment")["work"]["spec"]["replicas"]
        assert most <= partitions, name


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace("count: 1", "count: 2"),
        lambda text: text + "  - path: other.yaml\n",
    ],
)
def test_a_difference_from_kustomize_would_be_seen(folder: Path, tmp_path: Path, spoil: Callable[[str], str]) -> None:
    command = kustomize()
    if command is None:
        pytest.skip("neither kustomize nor kubectl is here")
    shutil.copytree(folder, tmp_path / "k")
    small = tmp_path / "k" / "overlays" / "small"
    before = without_digests(built(command, small))
    (small / "other.yaml").write_text((small / "memory.yaml").read_text().replace("1Gi", "3Gi"))
    path = small / "kustomization.yaml"
    path.write_text(spoil(path.read_text()))
    assert resolved(small) != before
    assert resolved(small) == without_digests(built(command, small))
