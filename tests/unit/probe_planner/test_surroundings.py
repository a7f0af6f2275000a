"""Each job is told its part of the fabric, and what is suspected in it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from probe_planner.parameters import PlannerParameters
from probe_planner.surroundings import FORGET_S, REMEMBER_S, FabricEngine, FabricState
from schemas.diagnosis import Anomaly, JobSuspects, Observed
from schemas.envelope import Message
from schemas.folding import DERIVED_CLOCK, Observation, TimeReached, derived_producer
from schemas.instants import SECOND_US
from schemas.maps import Ecmp, FabricEndpoints, FabricMap, JobFabric
from skeletonhunter.testbed.clos import RailSpec, rail_fabric
from tests.simulated_jobs import BEGIN_US, Shape, endpoint_map

HOSTS = tuple(f"h{number:03d}" for number in range(32))
TOPICS = {"FabricMap": "fabric-map", "FabricEndpoints": "fabric-endpoints", "Anomaly": "anomalies"}


def heading(source: str, seq: int) -> dict[str, Any]:
    producer = derived_producer(source, "x", seq)
    return {"v": 1, "t_us": BEGIN_US, "producer": producer, "clock": DERIVED_CLOCK, "fabric": "f"}


def fabric_map(version: int = 1, **cabling: Any) -> FabricMap:
    built = rail_fabric(RailSpec("f", HOSTS, 2, salt="7", **{"hosts_per_leaf": 4, "spines": 3, **cabling}))
    return FabricMap(
        **heading("topology", version),
        version=version,
        nodes=built.nodes,
        links=built.links,
        ecmp=Ecmp(method="hash", function="crc32", salt="7"),
    )


def job_endpoints(job: str, hosts: range, version: int = 1, state: Any = "running") -> FabricEndpoints:
    """Containers of two RNICs on those hosts."""
    whole = endpoint_map(Shape(tp=2, pp=1, dp=32))
    endpoints = tuple(endpoint for endpoint in whole.endpoints if int(endpoint.host[1:]) in hosts)
    mine = tuple(
        msgspec.structs.replace(each, endpoint=f"{job}-{each.endpoint}", container=f"{job}-{each.container}")
        for each in endpoints
    )
    return FabricEndpoints(**heading("detection", version), job=job, version=version, state=state, endpoints=mine)


def anomaly(
    job: str, src: str, dst: str, path: tuple[str, ...] | None, state: Any = "open", name: str = "a1"
) -> Anomaly:
    return Anomaly(
        **heading("anomaly", 1),
        job=job,
        anomaly=name,
        src=src,
        dst=dst,
        symptom="packet_loss",
        onset_us=BEGIN_US,
        detected_us=BEGIN_US,
        detector="loss",
        score=1.0,
        baseline=Observed(),
        observed=Observed(),
        path=path,
        state=state,
    )


class Fabric:
    """The stage at work."""

    def __init__(self, **bounds: Any) -> None:
        self.engine = FabricEngine(PlannerParameters(**bounds))
        self.state: FabricState = self.engine.start("f")
        self.second = 0

    def tell(self, *values: Message, seconds: int = 1) -> dict[str, list[JobFabric | JobSuspects]]:
        """What each job is told."""
        found: dict[str, list[JobFabric | JobSuspects]] = {}
        for value in values:
            self.state, nothing = self.engine.step(self.state, Observation(TOPICS[type(value).__name__], value))
            assert not nothing
        for _ in range(seconds):
            self.state, sent = self.engine.step(self.state, TimeReached(BEGIN_US + self.second * SECOND_US))
            self.second += 1
            for emission in sent:
                message = emission.value
                assert isinstance(message, JobFabric | JobSuspects) and emission.key == message.job
                assert emission.topic == ("job-fabrics" if isinstance(message, JobFabric) else "job-suspects")
                found.setdefault(emission.key, []).append(message)
        return found


@pytest.mark.parametrize("cabling", [{}, {"dual_tor": True}, {"segments_per_pod": 2, "cores_per_plane": 2}])
def test_a_job_is_told_the_links_on_its_shortest_paths_and_no_others(cabling: dict[str, Any]) -> None:
    whole = fabric_map(**cabling)
    (view,) = Fabric().tell(whole, job_endpoints("j", range(2, 10)))["j"]
    assert isinstance(view, JobFabric)
    built = rail_fabric(RailSpec("f", HOSTS, 2, salt="7", **{"hosts_per_leaf": 4, "spines": 3, **cabling}))
    rnics = [f"h{host:03d}/mlx5_{rail}" for host in range(2, 10) for rail in range(2)]
    used = {
        link
        for a in rnics
        for b in rnics
        if a != b
        for port in range(50_000, 50_040)
        for link in built.path((a, f"ip-{a}"), (b, f"ip-{b}"), port)
    }
    assert {link.id for link in view.links} == used
    ends = {port.rpartition("/")[0] for link in view.links for port in (link.a, link.b)}
    assert {node.id for node in view.nodes} == ends
    assert [node for node in whole.nodes if node in view.nodes] == list(view.nodes), "in the order of the map"


def test_a_new_view_only_when_the_map_changes_or_rnics_come() -> None:
    fabric = Fabric()
    assert set(fabric.tell(fabric_map(), job_endpoints("j", range(8)), job_endpoints("k", range(8, 16)))) == {"j", "k"}
    assert fabric.tell(job_endpoints("j", range(6), 2), seconds=3) == {}
    assert fabric.tell(job_endpoints("j", range(7), 2)) == {}, "an old version"
    (view,) = fabric.tell(job_endpoints("j", range(10), 3))["j"]
    assert (view.version, isinstance(view, JobFabric)) == (2, True)
    assert set(fabric.tell(fabric_map(2, spines=2))) == {"j", "k"}
    assert fabric.tell(fabric_map(1)) == {}
    assert fabric.tell(job_endpoints("j", range(10), 4, "ended")) == {}
    assert set(fabric.tell(fabric_map(3))) == {"k"}


def test_a_job_that_comes_back_is_told_higher_versions() -> None:
    fabric = Fabric()
    fabric.tell(fabric_map(), job_endpoints("j", range(8)))
    fabric.tell(job_endpoints("j", range(10), 2))
    assert fabric.tell(job_endpoints("j", range(10), 3, "ended"), seconds=2 * FORGET_S) == {}
    (view,) = fabric.tell(job_endpoints("j", range(4), 4))["j"]
    assert (view.version, fabric.state.former) == (3, {})


def test_after_all_that_is_remembered_versions_are_times_of_day() -> None:
    fabric = Fabric()
    fabric.tell(fabric_map(), job_endpoints("j", range(8)))
    fabric.tell(job_endpoints("j", range(8), 2, "ended"))
    assert set(fabric.state.former) == {"j"}
    fabric.second = REMEMBER_S + 80  # on a whole minute
    fabric.tell()
    assert fabric.state.former == {}
    later = BEGIN_US + (REMEMBER_S + 81) * SECOND_US
    (view,) = fabric.tell(msgspec.structs.replace(job_endpoints("j", range(4), 3), t_us=later))["j"]
    assert view.version == later // SECOND_US + 1


def test_anomalies_are_told_to_all_jobs_that_share_the_link_until_they_are_cleared() -> None:
    fabric = Fabric()
    fabric.tell(fabric_map(), job_endpoints("j", range(8)), job_endpoints("k", range(4, 12)))
    ends = "j-c000/mlx5_0", "j-c004/mlx5_0"
    shared = next(link.id for link in fabric_map().links if link.a.startswith("leaf-1-0") and "spine" in link.b)
    told = fabric.tell(anomaly("j", *ends, (shared, "elsewhere")))
    mine, theirs = (
        {each.component: each.anomalies for each in message.suspects}
        for job in "jk"
        for message in told[job]
        if isinstance(message, JobSuspects)
    )
    assert mine == {f"link:{shared}": 1, "rnic:h000/mlx5_0": 1, "rnic:h004/mlx5_0": 1}
    assert theirs == {f"link:{shared}": 1}
    assert fabric.tell(anomaly("j", *ends, (shared, "elsewhere"))) == {}
    cleared = fabric.tell(anomaly("j", *ends, None, "cleared"))
    assert [message.suspects for message in (*cleared["j"], *cleared["k"]) if isinstance(message, JobSuspects)] == [
        (),
        (),
    ]


def test_anomalies_that_nobody_closes_are_forgotten() -> None:
    fabric = Fabric()
    fabric.tell(fabric_map(), job_endpoints("j", range(8)))
    assert "j" in fabric.tell(anomaly("j", "j-c000/mlx5_0", "j-c004/mlx5_0", None))
    told = fabric.tell(seconds=FORGET_S + 120)
    assert [message.suspects for message in told["j"] if isinstance(message, JobSuspects)] == [()]


def test_nothing_is_told_of_suspicion_when_nobody_wants_extra_probes() -> None:
    fabric = Fabric(extra_share=0.0)
    fabric.tell(fabric_map(), job_endpoints("j", range(8)))
    assert fabric.tell(anomaly("j", "j-c000/mlx5_0", "j-c004/mlx5_0", None)) == {}
