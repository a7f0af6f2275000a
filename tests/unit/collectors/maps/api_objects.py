"""API objects of Kubernetes as an API server of 1.34 prints them, shortened to what could matter. Made by hand."""

from __future__ import annotations

import json
from typing import Any

from collectors.maps.pods import NETWORK_STATUS

Json = dict[str, Any]

MULTUS = json.dumps(
    [
        {"name": "cilium", "interface": "eth0", "ips": ["10.0.0.7"], "default": True, "dns": {}},
        {
            "name": "train/roce-0",
            "interface": "net1",
            "ips": ["192.168.10.4"],
            "mac": "b8:3f:d2:00:00:01",
            "device-info": {
                "type": "pci",
                "version": "1.1.0",
                "pci": {"pci-address": "0000:3b:00.2", "rdma-device": "mlx5_4"},
            },
        },
        {
            "name": "train/roce-1",
            "interface": "net2",
            "ips": ["192.168.11.4"],
            "device-info": {
                "type": "pci",
                "version": "1.1.0",
                "pci": {"pci-address": "0000:5e:00.2", "rdma-device": "mlx5_9"},
            },
        },
    ],
    indent=4,
)


def pod(name: str, index: int | None = 0, *, ready: bool = True, **changes: Any) -> Json:
    """A pod of an indexed job on two RNICs by Multus; ``changes`` go over metadata, spec and status."""
    labels = {"skeletonhunter.io/job": "llm-70b", "batch.kubernetes.io/job-name": "llm-70b"}
    if index is not None:
        labels["batch.kubernetes.io/job-completion-index"] = str(index)
    made: Json = {
        "metadata": {
            "name": name,
            "namespace": "train",
            "uid": f"uid-{name}",
            "resourceVersion": "90210",
            "labels": labels,
            "annotations": {NETWORK_STATUS: MULTUS, "skeletonhunter.io/tenant": "research"},
        },
        "spec": {
            "nodeName": f"node-{index}",
            "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8", "rdma/roce": "2"}}}],
        },
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.7",
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": "True" if ready else "False"},
            ],
        },
    }
    for part, change in changes.items():
        made[part] = {**made[part], **change}
    return made


CLAIM = {
    "metadata": {"name": "worker-0-rdma-x7k2p", "namespace": "train"},
    "status": {
        "allocation": {
            "devices": {"results": [{"request": "nic", "driver": "dra.net", "pool": "node-0", "device": "mlx5-2"}]}
        },
        "reservedFor": [{"resource": "pods", "name": "worker-0", "uid": "uid-worker-0"}],
        "devices": [
            {
                "driver": "dra.net",
                "pool": "node-0",
                "device": "mlx5-2",
                "conditions": [{"type": "Ready", "status": "True"}],
                "networkData": {
                    "interfaceName": "rdma0",
                    "ips": ["192.168.12.9/24"],
                    "hardwareAddress": "b8:3f:d2:00:00:09",
                },
            },
            {"driver": "gpu.nvidia.com", "pool": "node-0", "device": "gpu-0"},
        ],
    },
}

WITH_CLAIM = pod(
    "worker-0",
    metadata={"annotations": {}},
    status={"resourceClaimStatuses": [{"name": "rdma", "resourceClaimName": "worker-0-rdma-x7k2p"}]},
)
