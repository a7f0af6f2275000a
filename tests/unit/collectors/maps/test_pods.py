"""Pods of Kubernetes: which RNICs, ranks and states they have, by annotation, Multus or resource claims."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.maps.pods import NETWORK_STATUS, RNICS, Labels, Pod, claims_by_name, endpoints_of, read_pod
from tests.unit.collectors.maps.api_objects import CLAIM, WITH_CLAIM, pod

LABELS = Labels(job="skeletonhunter.io/job", rank="batch.kubernetes.io/job-completion-index")


def read(wire: dict[str, Any], claims: list[dict[str, Any]] | None = None) -> Pod:
    found = read_pod(wire, LABELS, claims_by_name(claims or []))
    assert found is not None
    return found


def annotated(value: Any) -> dict[str, Any]:
    return pod("worker-0", metadata={"annotations": {RNICS: value if isinstance(value, str) else json.dumps(value)}})


def test_multus_tells_device_interface_and_address() -> None:
    found = read(pod("worker-0"))
    assert (found.container, found.job, found.tenant, found.host) == ("train.worker-0", "llm-70b", "research", "node-0")
    assert found.rnics == (
        {"rnic": "mlx5_4", "vif": "net1", "ip": "192.168.10.4", "network": "train/roce-0"},
        {"rnic": "mlx5_9", "vif": "net2", "ip": "192.168.11.4", "network": "train/roce-1"},
    )


def test_the_annotation_goes_before_multus() -> None:
    wire = pod("worker-0")
    wire["metadata"]["annotations"][RNICS] = '[{"rnic": "mlx5_0", "rail": 7, "gid": "fe80::1"}]'
    assert read(wire).rnics == ({"rnic": "mlx5_0", "rail": 7, "gid": "fe80::1"},)


def test_resource_claims_tell_network_devices_and_no_others() -> None:
    assert read(WITH_CLAIM, [CLAIM]).rnics == ({"rnic": "mlx5-2", "vif": "rdma0", "ip": "192.168.12.9"},)
    assert read(WITH_CLAIM).rnics == ()


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "ready"),
        ({"ready": False}, "starting"),
        ({"status": {"phase": "Pending", "conditions": None}}, "starting"),
        ({"status": {"phase": "Succeeded"}}, "gone"),
        ({"status": {"phase": "Failed"}}, "gone"),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, "gone"),
    ],
)
def test_states(changes: dict[str, Any], state: str) -> None:
    ready = changes.pop("ready", True)
    assert read(pod("worker-0", ready=ready, **changes)).state == state


@pytest.mark.parametrize(
    "changes",
    [{"spec": {"nodeName": None}}, {"metadata": {"labels": {}}}, {"metadata": {"labels": None}}],
)
def test_a_pod_without_job_or_host_is_none_of_ours(changes: dict[str, Any]) -> None:
    assert read_pod(pod("worker-0", **changes), LABELS, {}) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{", "annotation skeletonhunter.io/rnics is not JSON: "),
        ({"rnic": "mlx5_0"}, "annotation skeletonhunter.io/rnics: expected a list of objects"),
        ([{"rail": 1}], "annotation skeletonhunter.io/rnics: each entry needs the name of an 'rnic'"),
        ([{"rnic": "mlx5_0", "rale": 1}], "annotation skeletonhunter.io/rnics: unknown 'rale', expected rnic, rail, "),
    ],
)
def test_a_wrong_annotation_is_refused_in_one_sentence(value: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        read(annotated(value))
    assert str(caught.value).startswith(f"pod train/worker-0: {message}")


def test_ranks_follow_pod_numbers() -> None:
    endpoints = endpoints_of([read(pod("worker-1", 1)), read(pod("worker-0", 0))])
    assert [(each["endpoint"], each["rail"], each["rank"]) for each in endpoints] == [
        ("train.worker-0/mlx5_4", 0, 0),
        ("train.worker-0/mlx5_9", 1, 1),
        ("train.worker-1/mlx5_4", 0, 2),
        ("train.worker-1/mlx5_9", 1, 3),
    ]


def reported(index: int, *networks: tuple[str, str], **more: Any) -> Pod:
    """A pod with virtual functions by Multus: (network, RDMA device) each."""
    status = [
        {"name": name, "interface": f"net{place}", "device-info": {"type": "pci", "pci": {"rdma-device": rnic}}, **more}
        for place, (name, rnic) in enumerate(networks)
    ]
    return read(pod(f"worker-{index}", index, metadata={"annotations": {NETWORK_STATUS: json.dumps(status)}}))


@pytest.mark.parametrize(
    ("one", "other", "rails"),
    [
        ((("rail-0", "mlx5_11"), ("rail-3", "mlx5_17")), (("rail-3", "mlx5_4"), ("rail-0", "mlx5_9")), "0330"),
        ((("ns/net-a-x26", "mlx5_11"), ("ns/net-b-x26", "mlx5_17")), (("ns/net-a-x26", "mlx5_4"),), "010"),
        ((("ns/sriov", "mlx5_1"), ("ns/sriov", "mlx5_7")), (("ns/sriov", "mlx5_2"), ("ns/sriov", "mlx5_8")), "1728"),
    ],
)  # fmt: skip
def test_rails_of_virtual_functions_are_their_networks(
    one: tuple[tuple[str, str], ...], other: tuple[tuple[str, str], ...], rails: str
) -> None:
    endpoints = endpoints_of([reported(0, *one), reported(1, *other)])
    assert "".join(str(each["rail"]) for each in endpoints) == rails
    assert all("network" not in each for each in endpoints)


def test_names_whose_numbers_are_the_same_tell_rails_by_their_order() -> None:
    devices = [{"device": name, "networkData": {"interfaceName": name}} for name in ("gpu1rdma0", "gpu0rdma0")]
    claim = {"metadata": {"namespace": "train", "name": "worker-0-rdma-x7k2p"}, "status": {"devices": devices}}
    endpoints = endpoints_of([read(WITH_CLAIM, [claim])])
    assert [(each["rnic"], each["rail"]) for each in endpoints] == [("gpu1rdma0", 1), ("gpu0rdma0", 0)]


@pytest.mark.parametrize(
    ("ips", "ip"), [(None, None), ([], None), ("10.0.0.1", None), (["10.0.0.1/24", "fd00::1"], "10.0.0.1"), ([5], None)]
)
def test_addresses_in_any_form(ips: object, ip: str | None) -> None:
    assert reported(0, ("ns/a", "mlx5_0"), ips=ips).rnics[0]["ip"] == ip
    claim = {"metadata": {"namespace": "train", "name": "c"}}
    claim["status"] = {"devices": [None, {"device": "gpu0rdma0", "networkData": {"interfaceName": "eth1", "ips": ips}}]}
    wire = pod(
        "worker-0", metadata={"annotations": {}}, status={"resourceClaimStatuses": [None, {"resourceClaimName": "c"}]}
    )
    assert read(wire, [claim]).rnics == ({"rnic": "gpu0rdma0", "vif": "eth1", "ip": ip},)


@pytest.mark.parametrize(
    "pods",
    [
        [pod("worker-0", 0), pod("worker-x", None)],
        [pod("worker-0", 0), pod("twin-0", 0)],
        [pod("worker-0", 0), annotated([{"rnic": "mlx5_0"}])],
    ],
)
def test_where_numbers_do_not_fit_there_are_no_ranks(pods: list[dict[str, Any]]) -> None:
    assert {each["rank"] for each in endpoints_of([read(wire) for wire in pods])} == {None}


def test_a_pod_that_is_gone_gives_its_ranks_to_its_successor() -> None:
    gone = pod("worker-0-a", 0, status={"phase": "Failed"})
    ranks = {each["endpoint"]: each["rank"] for each in endpoints_of([read(gone), read(pod("worker-0-b", 0))])}
    assert ranks["train.worker-0-a/mlx5_4"] is None
    assert ranks["train.worker-0-b/mlx5_4"] == 0


@given(st.text(max_size=60), st.sampled_from([RNICS, NETWORK_STATUS]))
def test_no_annotation_gives_anything_but_a_pod_or_a_value_error(text: str, name: str) -> None:
    wire = pod("worker-0", metadata={"annotations": {name: text}})
    try:
        found = read_pod(wire, LABELS, {})
    except ValueError as error:
        assert "pod train/worker-0" in str(error)
    else:
        assert found is not None


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["rnic", "device-info", "pci", "rdma-device", "ips", "interface"]), inner)
    ),
    max_leaves=12,
)


@given(st.lists(json_like, max_size=3), st.sampled_from([RNICS, NETWORK_STATUS]))
def test_no_json_in_an_annotation_does_either(value: list[Any], name: str) -> None:
    wire = pod("worker-0", metadata={"annotations": {name: json.dumps(value)}})
    try:
        endpoints_of([read(wire)])
    except ValueError as error:
        assert "pod train/worker-0" in str(error)
