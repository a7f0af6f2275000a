"""Which rules do the manifests for Kubernetes have to keep? Read with the types of its API, without a cluster.

``misfits`` names every field that the API's type does not have, of the wrong kind, or missing. ``excesses`` names every
power that a pod has and need not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kubernetes import client

Json = dict[str, Any]

TYPES = {
    ("v1", "Namespace"): "V1Namespace",
    ("v1", "ServiceAccount"): "V1ServiceAccount",
    ("batch/v1", "Job"): "V1Job",
    ("apps/v1", "DaemonSet"): "V1DaemonSet",
    ("apps/v1", "Deployment"): "V1Deployment",
    ("policy/v1", "PodDisruptionBudget"): "V1PodDisruptionBudget",
    ("networking.k8s.io/v1", "NetworkPolicy"): "V1NetworkPolicy",
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): "V1ClusterRole",
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): "V1ClusterRoleBinding",
}
GENERATED = {
    ("v1", "ConfigMap"): "V1ConfigMap",
    ("v1", "Secret"): "V1Secret",
    ("autoscaling/v2", "HorizontalPodAutoscaler"): "V2HorizontalPodAutoscaler",
}
"""What overlays add."""
POWERS = {"agent": {"NET_RAW", "NET_ADMIN"}}
HOST_PATHS = {"agent": {"/sys"}}
HOST_NETWORK = {"agent"}
TOKENS = {"maps"}
_PLAIN = {"str": str, "bytes": str, "int": int, "bool": bool, "float": (int, float), "object": object}


def misfits(manifest: Json) -> list[str]:
    """What the API would refuse or ignore."""
    kind = (manifest.get("apiVersion", ""), manifest.get("kind", ""))
    known = TYPES | GENERATED
    return list(_misfits(manifest, known[kind], kind[1])) if kind in known else [f"unknown kind {kind}"]


def _misfits(value: Any, wanted: str, place: str) -> Iterator[str]:
    inner = re.fullmatch(r"([Ll]ist|[Dd]ict)[\[(](?:str, ?)?(.*)[\])]", wanted)
    if inner:
        kind = list if inner[1].lower() == "list" else dict
        if not isinstance(value, kind):
            yield f"{place}: expected {kind.__name__}, got {value!r}"
            return
        for name, item in enumerate(value) if isinstance(value, list) else value.items():
            yield from _misfits(item, inner[2], f"{place}[{name}]")
    elif wanted in _PLAIN:
        is_wrong = not isinstance(value, _PLAIN[wanted]) or (wanted != "bool" and isinstance(value, bool))  # type: ignore[arg-type]
        if wanted != "object" and is_wrong:
            yield f"{place}: expected {wanted}, got {value!r}"
    elif wanted not in ("datetime", "IntOrString"):
        yield from _of_type(value, getattr(client, wanted), place)


def _of_type(value: Any, model: Any, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place}: expected an object, got {value!r}"
        return
    fields = {on_wire: name for name, on_wire in model.attribute_map.items()}
    for name, item in value.items():
        if name not in fields:
            yield f"{place}.{name}: {model.__name__} has no such field"
        else:
            yield from _misfits(item, model.openapi_types[fields[name]], f"{place}.{name}")
    try:
        model(**{fields[name]: item for name, item in value.items() if name in fields})
    except ValueError as error:
        yield f"{place}: {error}"


def excesses(workload: Json) -> list[str]:
    """Powers that the pods of a DaemonSet or Deployment have and need not have."""
    name, pod = workload["metadata"]["name"], workload["spec"]["template"]["spec"]
    return [f"{name}: {excess}" for excess in _excesses(name, pod)]


def _excesses(name: str, pod: Json) -> Iterator[str]:
    for field in ("hostPID", "hostIPC", "shareProcessNamespace"):
        if pod.get(field):
            yield field
    if pod.get("hostNetwork") and name not in HOST_NETWORK:
        yield "hostNetwork"
    if pod.get("automountServiceAccountToken", True) and name not in TOKENS:
        yield "a token of the API"
    about = pod.get("securityContext", {})
    if about.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield "system calls are not filtered"
    if name not in POWERS and not (about.get("runAsNonRoot") and about.get("runAsUser", 0) > 0):
        yield "it may be root"
    for volume in pod.get("volumes", ()):
        path = volume.get("hostPath", {}).get("path")
        if path is not None and path not in HOST_PATHS.get(name, set()):
            yield f"the host's {path}"
    for container in pod["containers"]:
        yield from _of_container(name, container, pod)


def _of_container(name: str, container: Json, pod: Json) -> Iterator[str]:
    about = container.get("securityContext", {})
    capabilities = about.get("capabilities", {})
    if about.get("privileged") or about.get("allowPrivilegeEscalation", True):
        yield "it may gain privileges"
    if not about.get("readOnlyRootFilesystem"):
        yield "it may write to its image"
    if capabilities.get("drop") != ["ALL"] or set(capabilities.get("add", ())) - POWERS.get(name, set()):
        yield f"capabilities {capabilities}"
    if "memory" not in container.get("resources", {}).get("limits", {}):
        yield "its memory is not bounded"
    own = {volume["name"] for volume in pod.get("volumes", ()) if "hostPath" in volume}
    for mount in container.get("volumeMounts", ()):
        if mount["name"] in own and not mount.get("readOnly"):
            yield f"it may write to the host's {mount['mountPath']}"
