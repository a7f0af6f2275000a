"""Jobs of a cluster: maps when something changes, by a cluster of recorded API objects and through the real client."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from collectors.agent_settings import KubernetesSettings
from collectors.maps.kubernetes_jobs import ApiServer, KubernetesJobs
from collectors.maps.pods import RNICS, Labels
from collectors.stamping import Stamper
from schemas.envelope import Clock
from tests.unit.collectors.hand_clock import HandClock
from tests.unit.collectors.maps.api_objects import CLAIM, WITH_CLAIM, pod

LABELS = Labels(job="skeletonhunter.io/job", rank="batch.kubernetes.io/job-completion-index")
STAMPER = Stamper("k8s", "b", "pod-7", lambda: Clock(source="none", offset_us=0.0, error_us=1.0))


class Bench:
    """A cluster that is a list of pods, and the collector that looks at it."""

    def __init__(self, *pods: dict[str, Any]) -> None:
        self.listed = list(pods)
        self.clock = HandClock()
        self.jobs = KubernetesJobs(self, LABELS, 5.0)

    def pods(self) -> list[dict[str, Any]]:
        return self.listed

    def claims(self) -> list[dict[str, Any]]:
        return []

    def look(self, *pods: dict[str, Any]) -> list[dict[str, Any]]:
        self.listed = list(pods)
        found = list(self.jobs.collect(self.clock.move(5.0)))
        for observed in found:
            STAMPER.stamp(observed)  # fits the contract
        return [observed.fields for observed in found]


def test_a_job_starts_runs_and_ends() -> None:
    bench = Bench()
    assert bench.look() == []
    (starting,) = bench.look(pod("w-0", 0), pod("w-1", 1, ready=False))
    assert (starting["state"], starting["job"], starting["tenant"]) == ("starting", "llm-70b", "research")
    (running,) = bench.look(pod("w-0", 0), pod("w-1", 1))
    assert (running["state"], running["reason"]) == ("running", "train.w-1/mlx5_4 starting to ready, and 1 more")
    assert bench.look(pod("w-0", 0), pod("w-1", 1)) == []
    (restarting,) = bench.look(pod("w-0", 0), pod("w-1", 1, ready=False))
    assert restarting["state"] == "running"  # a job that ran goes on; one endpoint is not ready
    (ended,) = bench.look()
    assert ended["state"] == "ended"
    assert {each["state"] for each in ended["endpoints"]} == {"gone"}
    assert bench.look() == []
    versions = [fields["version"] for fields in (starting, running, restarting, ended)]
    assert versions == sorted(set(versions))


def test_versions_grow_across_a_restart_of_the_agent() -> None:
    bench = Bench()
    (before,) = bench.look(pod("w-0"))
    later = Bench()
    later.clock.move(60.0)
    (after,) = later.look(pod("w-0"))
    assert after["version"] > before["version"]


def test_a_pod_that_can_not_be_understood_keeps_its_last_state() -> None:
    bench = Bench()
    bench.look(pod("w-0", 0), pod("w-1", 1))
    bad = pod("w-1", 1, metadata={"annotations": {RNICS: "{"}})
    bench.listed = [pod("w-0", 0, ready=False), bad]
    found = []
    with pytest.raises(ValueError, match=r"^pod train/w-1: annotation"):
        for observed in bench.jobs.collect(bench.clock.move(5.0)):
            found.append(observed.fields)
    (fields,) = found
    states = {each["endpoint"]: each["state"] for each in fields["endpoints"]}
    assert (states["train.w-0/mlx5_4"], states["train.w-1/mlx5_4"]) == ("starting", "ready")


def test_jobs_do_not_mix() -> None:
    other = pod("x-0", 0)
    other["metadata"]["labels"]["skeletonhunter.io/job"] = "other"
    found = Bench().look(pod("w-0", 0), other)
    assert [(fields["job"], len(fields["endpoints"])) for fields in found] == [("llm-70b", 2), ("other", 2)]


class Server(BaseHTTPRequestHandler):
    """Answers with recorded objects; remembers what was asked."""

    asked: list[tuple[str, dict[str, list[str]]]]
    answers: dict[str, tuple[int, Any]]

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.asked.append((url.path, parse_qs(url.query)))
        code, body = self.answers.get(url.path, (404, {"kind": "Status", "status": "Failure"}))
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


PODS = "/api/v1/pods"
CLAIMS = "/apis/resource.k8s.io/v1/resourceclaims"


@pytest.fixture
def server() -> Iterator[tuple[type[Server], int]]:
    """An API server on loopback."""

    class Own(Server):
        asked: list[tuple[str, dict[str, list[str]]]] = []
        answers: dict[str, tuple[int, Any]] = {}

    listening = HTTPServer(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield Own, listening.server_port
    listening.shutdown()
    listening.server_close()


def log_in(folder: Path, port: int, **changes: Any) -> ApiServer:
    kubeconfig = folder / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    kubeconfig.write_text(json.dumps(config))
    return ApiServer(KubernetesSettings(kubeconfig=str(kubeconfig), timeout_s=5.0, **changes))


@pytest.mark.webhook
def test_the_official_client_lists_pods_and_claims(server: tuple[type[Server], int], tmp_path: Path) -> None:
    own, port = server
    own.answers = {PODS: (200, {"kind": "PodList", "items": [WITH_CLAIM]}), CLAIMS: (200, {"items": [CLAIM]})}
    jobs = KubernetesJobs(log_in(tmp_path, port, resource_claims=True), LABELS, 5.0)
    (observed,) = jobs.collect(HandClock()())
    assert [each["endpoint"] for each in observed.fields["endpoints"]] == ["train.worker-0/mlx5-2"]
    assert {path: query for path, query in own.asked}[PODS] == {
        "labelSelector": ["skeletonhunter.io/job"],
        "resourceVersion": ["0"],
    }


@pytest.mark.webhook
def test_one_namespace_is_asked_alone(server: tuple[type[Server], int], tmp_path: Path) -> None:
    own, port = server
    own.answers = {"/api/v1/namespaces/train/pods": (200, {"items": [pod("w-0")]})}
    cluster = log_in(tmp_path, port, namespace="train")
    assert [each["metadata"]["name"] for each in cluster.pods()] == ["w-0"]
    assert cluster.claims() == []


@pytest.mark.webhook
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((403, {"kind": "Status"}), "Kubernetes refuses: 403 Forbidden"),
        ((200, b"<html>"), "Kubernetes answers with what is not JSON"),
    ],
)
def test_a_refusal_is_said_in_one_sentence(
    server: tuple[type[Server], int], tmp_path: Path, answer: tuple[int, Any], message: str
) -> None:
    own, port = server
    own.answers = {PODS: answer}
    with pytest.raises(OSError, match=f"^{message}"):
        log_in(tmp_path, port).pods()


def test_nobody_to_log_in_to_is_said_in_one_sentence() -> None:
    with pytest.raises(OSError, match="no way to log in to Kubernetes"):
        ApiServer(KubernetesSettings(kubeconfig="/nowhere/kubeconfig"))
    with pytest.raises(OSError, match="no way to log in to Kubernetes"):
        ApiServer(msgspec.convert({}, KubernetesSettings))
