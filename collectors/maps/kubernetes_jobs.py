"""How do the jobs of a cluster come and go? Lists pods with the official client and publishes maps that changed.

Listing from the API server's cache (resource version 0) every few seconds, in place of a watch: it can't miss or
reorder anything, needs no thread of its own, and costs the server one cached answer. Bodies are read as plain JSON,
so newer and older servers fit. A job is ``starting`` until all its endpoints were ready once, then ``running``, and
``ended`` when its pods are gone; a pod whose annotations can't be understood keeps its last state and is named in the
log.

``version`` is the time of the change in milliseconds (and at least one more than before), so that it grows across
restarts of this agent. The client is an extra (``pip install 'skeletonhunter[kubernetes]'``) and weighs more than the
whole agent of a host: run one agent with this part for a cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import orjson
from msgspec import Struct

from collectors.agent_settings import KubernetesSettings
from collectors.maps.pods import Json, Labels, Pod, claims_by_name, endpoints_of, read_pod
from collectors.observing import Now, Observed


class Cluster(Protocol):
    """What is asked of Kubernetes. Raises ``OSError`` when it does not answer."""

    def pods(self) -> list[Json]:
        """The pods of jobs."""

    def claims(self) -> list[Json]:
        """Their resource claims; empty when they are not to be read."""


class JobMap(Struct, frozen=True, kw_only=True):
    """What was published of a job last."""

    version: int
    state: str
    endpoints: list[Json]
    tenant: str | None


class KubernetesJobs:
    """Collector of ``endpoint-map`` from a cluster."""

    name = "endpoint-map from Kubernetes"

    def __init__(self, cluster: Cluster, labels: Labels, look_s: float) -> None:
        self.period_s = look_s
        self._cluster, self._labels = cluster, labels
        self._jobs: dict[str, JobMap] = {}
        self._pods: dict[str, Pod] = {}

    def collect(self, now: Now) -> Iterable[Observed]:
        """Maps of the jobs that have changed.

        Raises:
            OSError: Kubernetes does not answer.
            ValueError: pods that can't be understood, after everything else was done.
        """
        wrong: list[str] = []
        jobs = self._read(wrong)
        for job in sorted(self._jobs.keys() | jobs.keys()):
            changed = self._changed(job, jobs.get(job, []), now)
            if changed is not None:
                yield changed
        if wrong:
            raise ValueError("; ".join(wrong))

    def _read(self, wrong: list[str]) -> dict[str, list[Pod]]:
        claims = claims_by_name(self._cluster.claims())
        pods: dict[str, Pod] = {}
        for wire in self._cluster.pods():
            try:
                pod = read_pod(wire, self._labels, claims)
            except ValueError as error:
                wrong.append(str(error))
                pod = self._pods.get(_container(wire))
            if pod is not None:
                pods[pod.container] = pod
        self._pods = pods
        jobs: dict[str, list[Pod]] = {}
        for pod in pods.values():
            jobs.setdefault(pod.job, []).append(pod)
        return jobs

    def _changed(self, job: str, pods: Sequence[Pod], now: Now) -> Observed | None:
        known = self._jobs.get(job)
        endpoints = endpoints_of(pods)
        if not endpoints and known is None:
            return None
        state = _state_of(endpoints, known)
        if state == "ended" and known is not None and not endpoints:
            endpoints = [{**each, "state": "gone"} for each in known.endpoints]
        if known is not None and (known.state, known.endpoints) == (state, endpoints):
            return None
        version = max(now.t_us // 1000, known.version + 1 if known else 0)
        tenant = next((pod.tenant for pod in pods if pod.tenant), known.tenant if known else None)
        reason = _reason(known.endpoints if known else [], endpoints)
        if state == "ended" and not pods:
            self._jobs.pop(job, None)
        else:
            self._jobs[job] = JobMap(version=version, state=state, endpoints=endpoints, tenant=tenant)
        fields = {
            "job": job,
            "tenant": tenant,
            "version": version,
            "state": state,
            "reason": reason,
            "endpoints": endpoints,
        }
        return Observed("endpoint-map", f"endpoint-map.{job}", now.t_us, fields)


def _state_of(endpoints: list[Json], known: JobMap | None) -> str:
    present = [each for each in endpoints if each["state"] != "gone"]
    if not present:
        return "ended"
    if all(each["state"] == "ready" for each in present):
        return "running"
    return "running" if known is not None and known.state == "running" else "starting"


def _reason(before: list[Json], after: list[Json]) -> str:
    old = {each["endpoint"]: each["state"] for each in before}
    new = {each["endpoint"]: each["state"] for each in after}
    changes = [
        f"{name} {old.get(name, 'unknown')} to {new.get(name, 'gone')}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name, "gone")
    ]
    if not changes:
        return "details of endpoints changed"
    return changes[0] if len(changes) == 1 else f"{changes[0]}, and {len(changes) - 1} more"


def _container(wire: Json) -> str:
    about = wire.get("metadata") or {}
    return f"{about.get('namespace')}.{about.get('name')}"


class ApiServer:
    """A ``Cluster`` through the official client.

    Raises:
        OSError: the client is not installed, or there is no way to log in.
    """

    def __init__(self, settings: KubernetesSettings) -> None:
        try:
            from kubernetes import client, config
        except ImportError as error:
            raise OSError("the Kubernetes client is not installed: pip install 'skeletonhunter[kubernetes]'") from error
        try:
            if settings.kubeconfig:
                config.load_kube_config(settings.kubeconfig)
            else:
                config.load_incluster_config()
        except config.ConfigException as error:
            raise OSError(f"no way to log in to Kubernetes: {error}") from error
        self._settings = settings
        self._core = client.CoreV1Api()
        self._custom = client.CustomObjectsApi()

    def pods(self) -> list[Json]:
        """See ``Cluster``."""
        where = self._settings.namespace
        asking = {"label_selector": self._settings.selector, "resource_version": "0"}
        if where:
            return _items(self._ask(self._core.list_namespaced_pod, where, **asking))
        return _items(self._ask(self._core.list_pod_for_all_namespaces, **asking))

    def claims(self) -> list[Json]:
        """See ``Cluster``."""
        if not self._settings.resource_claims:
            return []
        kind = ("resource.k8s.io", "v1", "resourceclaims")
        return _items(self._ask(self._custom.list_cluster_custom_object, *kind))

    def _ask(self, question: Any, *args: str, **options: str) -> bytes:
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        try:
            answer = question(*args, **options, _preload_content=False, _request_timeout=self._settings.timeout_s)
        except ApiException as error:
            raise OSError(f"Kubernetes refuses: {error.status} {error.reason}") from error
        except HTTPError as error:
            raise OSError(f"Kubernetes does not answer: {error}") from error
        body: bytes = answer.data
        return body


def _items(body: bytes) -> list[Json]:
    try:
        wire = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise OSError(f"Kubernetes answers with what is not JSON: {error}") from error
    items = wire.get("items") if isinstance(wire, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
