"""Which endpoints does a pod have? Pure: from the API objects of Kubernetes, as plain JSON, to endpoints.

A pod is a container of ours: ``<namespace>.<pod>`` (a namespace has no dot, so this is unique in a cluster). Its RNICs
are those that its annotation ``skeletonhunter.io/rnics`` lists (JSON: ``rnic``, and optionally ``rail``, ``rank``,
``vif``, ``ip``, ``gid``, ``switch_port``), else those that Multus reports in ``k8s.v1.cni.cncf.io/network-status``
(device information 1.1: ``pci.rdma-device``), else the devices with network data that resource claims of the pod were
bound to (dynamic resource allocation, ``resource.k8s.io/v1``).

A rail that is not given is that of the network by which Multus attached the RNIC, where each RNIC of every pod has a
network of its own (one for each rail): the number at the end of its name if all have different ones, else its place
among their names. Names of virtual functions differ from host to host. Without such networks it is the number at the
end of the RNIC's name ("mlx5_3": 3), or its place among the pod's names where those numbers are the same ("gpu0rdma0",
"gpu1rdma0").

A rank that is not given is pod number x RNICs per pod + place in the pod, when each pod of the job has a number and
they all have as many RNICs; otherwise it is null. A pod that is not ready is ``starting``; one that is ending or has
ended is ``gone``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from msgspec import Struct

from schemas.maps import EndpointState

RNICS = "skeletonhunter.io/rnics"
TENANT = "skeletonhunter.io/tenant"
NETWORK_STATUS = "k8s.v1.cni.cncf.io/network-status"

NETWORK = "network"
"""Field of an RNIC that Multus attached: its network. It is of no use beyond this module."""

_NUMBER = re.compile(r"(\d{1,9})$")
Json = dict[str, Any]


class Labels(Struct, frozen=True, kw_only=True):
    """Labels that name the job of a pod and number it in its job."""

    job: str
    rank: str


class Pod(Struct, frozen=True, kw_only=True):
    """What counts of a pod; ``rnics``: fields of its endpoints as far as they are known."""

    container: str
    job: str
    tenant: str | None
    host: str
    number: int | None
    state: EndpointState
    rnics: tuple[Json, ...]


def read_pod(wire: Json, labels: Labels, claims: Mapping[tuple[str, str], Json]) -> Pod | None:
    """A pod of a job; None: it belongs to none, or stands on no host yet. ``claims`` by (namespace, name).

    Raises:
        ValueError: an annotation can't be understood; names the pod.
    """
    about, spec, status = _part(wire, "metadata"), _part(wire, "spec"), _part(wire, "status")
    name, namespace = about.get("name"), about.get("namespace")
    job, host = _part(about, "labels").get(labels.job), spec.get("nodeName")
    if not (name and namespace and job and host):
        return None
    notes = _part(about, "annotations")
    number = str(_part(about, "labels").get(labels.rank, ""))
    try:
        rnics = _annotated(notes.get(RNICS)) or _reported(notes.get(NETWORK_STATUS))
    except ValueError as error:
        raise ValueError(f"pod {namespace}/{name}: {error}") from error
    return Pod(
        container=f"{namespace}.{name}",
        job=str(job),
        tenant=notes.get(TENANT),
        host=str(host),
        number=int(number) if number.isdecimal() else None,
        state=_state(about, status),
        rnics=rnics or _claimed(namespace, status, claims),
    )


def endpoints_of(pods: Iterable[Pod]) -> list[Json]:
    """Fields of the endpoints of one job, in a fixed order."""
    ordered = sorted(pods, key=lambda pod: (pod.number is None, pod.number, pod.container))
    present = [pod for pod in ordered if pod.state != "gone"]
    per_pod = {len(pod.rnics) for pod in present}
    numbers = [pod.number for pod in present]
    ranked = len(per_pod) == 1 and None not in numbers and len(set(numbers)) == len(numbers)
    rails = _rails_of_networks(ordered)
    found = []
    for pod in ordered:
        for place, (reported, number) in enumerate(zip(pod.rnics, _rails_of_names(pod), strict=True)):
            rnic = {name: value for name, value in reported.items() if name != NETWORK}
            rail = rails.get(reported.get(NETWORK, ""), number)
            by_number = (pod.number or 0) * len(pod.rnics) + place
            rank = by_number if ranked and pod.state != "gone" else None
            found.append({"rank": rank, "rail": rail, **rnic, **_where(pod, rnic["rnic"])})
    return found


def claims_by_name(items: Iterable[Json]) -> dict[tuple[str, str], Json]:
    """Resource claims by (namespace, name)."""
    found = {}
    for item in items:
        about = _part(item, "metadata")
        found[str(about.get("namespace")), str(about.get("name"))] = item
    return found


def _where(pod: Pod, rnic: str) -> Json:
    endpoint = f"{pod.container}/{rnic}"
    return {"endpoint": endpoint, "container": pod.container, "host": pod.host, "rnic": rnic, "state": pod.state}


def _rails_of_networks(pods: Iterable[Pod]) -> dict[str, int]:
    """Rails by network; none where a pod has RNICs without a network, or several by the same one."""
    names: set[str] = set()
    for pod in pods:
        own = [rnic.get(NETWORK) or "" for rnic in pod.rnics]
        if "" in own or len(set(own)) < len(own):
            return {}
        names.update(own)
    numbers = {name: int(found[1]) for name in names if (found := _NUMBER.search(name))}
    if len(set(numbers.values())) == len(names):
        return numbers
    return {name: place for place, name in enumerate(sorted(names))}


def _rails_of_names(pod: Pod) -> list[int]:
    """Rails by the RNICs' names: the number at the end of each, if they have different ones, else their places."""
    names = [str(rnic["rnic"]) for rnic in pod.rnics]
    numbers = [int(found[1]) for name in names if (found := _NUMBER.search(name))]
    if len(set(numbers)) == len(names):
        return numbers
    return [sorted(names).index(name) for name in names]


def _state(about: Json, status: Json) -> EndpointState:
    if about.get("deletionTimestamp") or status.get("phase") in ("Succeeded", "Failed"):
        return "gone"
    conditions = status.get("conditions") or []
    ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions if isinstance(c, dict))
    return "ready" if ready else "starting"


_ALLOWED = ("rnic", "rail", "rank", "vif", "ip", "gid", "switch_port")


def _annotated(note: str | None) -> tuple[Json, ...]:
    if not note:
        return ()
    listed = _list(RNICS, note)
    for item in listed:
        if not item.get("rnic") or not isinstance(item["rnic"], str):
            raise ValueError(f"annotation {RNICS}: each entry needs the name of an 'rnic'")
        if unknown := sorted(item.keys() - set(_ALLOWED)):
            raise ValueError(f"annotation {RNICS}: unknown {unknown[0]!r}, expected {', '.join(_ALLOWED)}")
    return tuple(listed)


def _reported(note: str | None) -> tuple[Json, ...]:
    if not note:
        return ()
    found = []
    for item in _list(NETWORK_STATUS, note):
        rdma = _part(_part(item, "device-info"), "pci").get("rdma-device")
        if isinstance(rdma, str) and rdma:
            about = {"rnic": rdma.split(",")[0], "vif": item.get("interface"), "ip": _first_ip(item)}
            found.append({**about, NETWORK: item.get("name")})
    return tuple(found)


def _claimed(namespace: str, status: Json, claims: Mapping[tuple[str, str], Json]) -> tuple[Json, ...]:
    found = []
    for bound in _objects(status, "resourceClaimStatuses"):
        claim = claims.get((namespace, str(bound.get("resourceClaimName"))), {})
        for device in _objects(_part(claim, "status"), "devices"):
            network = _part(device, "networkData")
            if network and isinstance(device.get("device"), str):
                about = {"rnic": device["device"], "vif": network.get("interfaceName"), "ip": _first_ip(network)}
                found.append(about)
    return tuple(found)


def _first_ip(wire: Json) -> str | None:
    """The first of ``ips``, without the length of its prefix."""
    ips = wire.get("ips")
    first = ips[0] if isinstance(ips, list) and ips else None
    return first.partition("/")[0] or None if isinstance(first, str) else None


def _objects(wire: Json, name: str) -> list[Json]:
    listed = wire.get(name)
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _list(name: str, note: str) -> list[Json]:
    try:
        listed = orjson.loads(note)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"annotation {name} is not JSON: {error}") from error
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise ValueError(f"annotation {name}: expected a list of objects")
    return listed


def _part(wire: Json, name: str) -> Json:
    part = wire.get(name)
    return part if isinstance(part, dict) else {}
