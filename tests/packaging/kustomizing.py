"""What does a Kustomize folder come to? By Kustomize itself where there is one, and by the part of it that we use.

``resolved`` knows: resources, namespace, replicas, patches by strategic merge (lists by ``name``), generated config
maps and secrets (behaviour create or merge). Names of generated objects get a digest from Kustomize, which
``without_digests`` takes off again.
"""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
CLUSTER_WIDE = {"Namespace", "ClusterRole", "ClusterRoleBinding"}
KNOWN = {
    "apiVersion", "kind", "namespace", "resources", "replicas", "patches", "configMapGenerator", "secretGenerator"
}  # fmt: skip


def kustomize() -> list[str] | None:
    """The command that builds, if there is one."""
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    return ["kubectl", "kustomize"] if shutil.which("kubectl") else None


def built(command: list[str], folder: Path) -> list[Json]:
    """What Kustomize says."""
    told = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    return [each for each in yaml.safe_load_all(told.stdout) if each]


def without_digests(manifests: list[Json]) -> list[Json]:
    """With the names that generated objects were given, in the order of kind and name."""
    text = yaml.safe_dump_all(manifests)
    for kind in ("ConfigMap", "Secret"):
        for each in manifests:
            name = each["metadata"]["name"]
            if each["kind"] == kind:
                text = re.sub(rf"\b{re.escape(name)}\b", re.sub(r"-[a-z0-9]{10}$", "", name), text)
    return sorted(yaml.safe_load_all(text), key=_place)


def _place(manifest: Json) -> tuple[str, str]:
    return manifest["kind"], manifest["metadata"]["name"]


def resolved(folder: Path) -> list[Json]:
    """What the folder comes to, names without digests."""
    asked = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert set(asked) <= KNOWN, f"{folder}: {set(asked) - KNOWN} is not known here"
    found: list[Json] = []
    for name in asked["resources"]:
        path = folder / name
        found += resolved(path) if path.is_dir() else list(yaml.safe_load_all(path.read_text()))
    for each in found:
        if "namespace" in asked and each["kind"] not in CLUSTER_WIDE:
            each["metadata"]["namespace"] = asked["namespace"]
    for kind, listed in (("ConfigMap", "configMapGenerator"), ("Secret", "secretGenerator")):
        for rule in asked.get(listed, ()):
            _generate(found, kind, rule, folder, asked.get("namespace"))
    for each in asked.get("replicas", ()):
        next(m for m in found if m["metadata"]["name"] == each["name"] and "replicas" in m["spec"])["spec"][
            "replicas"
        ] = each["count"]
    for patch in asked.get("patches", ()):
        for change in yaml.safe_load_all((folder / patch["path"]).read_text()):
            target = next(m for m in found if _place(m) == _place(change))
            target.update(_merged(target, {**change, "metadata": target["metadata"]}))
    return sorted(found, key=_place)


def _generate(found: list[Json], kind: str, rule: Json, folder: Path, namespace: str | None) -> None:
    data = {}
    for given in rule["files"]:
        name, _, path = given.rpartition("=")
        raw = (folder / path).read_bytes()
        data[name or Path(path).name] = raw.decode() if kind == "ConfigMap" else b64encode(raw).decode()
    if rule.get("behavior") == "merge":
        next(m for m in found if _place(m) == (kind, rule["name"]))["data"].update(data)
        return
    metadata = {"name": rule["name"], "namespace": rule.get("namespace", namespace)}
    made: Json = {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": data}
    found.append(made | ({"type": "Opaque"} if kind == "Secret" else {}))


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{name: _merged(old.get(name), item) for name, item in new.items()}}
    if isinstance(old, list) and all(isinstance(item, dict) and "name" in item for item in [*old, *new]):
        by_name = {item["name"]: item for item in new}
        kept = [_merged(item, by_name.pop(item["name"], {})) for item in old]
        return [*by_name.values(), *kept]
    return copy.deepcopy(new)
