"""Which endpoints live here: by host and container, newest version, until they are gone."""

from __future__ import annotations

from collectors.residents import Residents
from collectors.rnic.settings import RnicSettings
from schemas.maps import Endpoint, EndpointMap
from tests.unit.collectors.maps_by_hand import endpoint, job_map


def names(residents: Residents) -> list[str]:
    return [each.endpoint for each in residents.placements()]


def listing(*endpoints: Endpoint, version: int = 1, job: str = "j-1", state: str = "running") -> EndpointMap:
    return job_map(job, version, endpoints, state)


def test_only_what_is_on_the_host_lives_here() -> None:
    residents = Residents("h-1")
    assert residents.take_map(listing(endpoint("c-1", 0, "h-1"), endpoint("c-2", 0, "h-2")))
    assert names(residents) == ["c-1/mlx5_0"]
    assert not residents.take_map(listing(endpoint("c-9", 0, "h-2"), job="j-2"))
    assert residents.jobs() == ("j-1",)


def test_a_sidecar_sees_its_container_only() -> None:
    residents = Residents("h-1", "c-2")
    residents.take_map(listing(endpoint("c-1", 0, "h-1"), endpoint("c-2", 1, "h-1")))
    assert names(residents) == ["c-2/mlx5_1"]


def test_an_older_or_equal_version_says_nothing_new() -> None:
    residents = Residents("h-1")
    assert residents.take_map(listing(endpoint("c-1", 0, "h-1"), version=5))
    assert not residents.take_map(listing(endpoint("c-1", 1, "h-1"), version=5))
    assert not residents.take_map(listing(endpoint("c-1", 1, "h-1"), version=4))
    assert names(residents) == ["c-1/mlx5_0"]


def test_what_is_gone_or_ended_is_forgotten() -> None:
    residents = Residents("h-1")
    residents.take_map(listing(endpoint("c-1", 0, "h-1"), endpoint("c-1", 1, "h-1")))
    residents.take_map(listing(endpoint("c-1", 0, "h-1", "gone"), endpoint("c-1", 1, "h-1"), version=2))
    assert names(residents) == ["c-1/mlx5_1"]
    assert residents.take_map(listing(endpoint("c-1", 1, "h-1"), version=3, state="ended"))
    assert (names(residents), residents.jobs()) == ([], ())


def test_a_job_that_comes_back_is_taken_again() -> None:
    residents = Residents("h-1")
    residents.take_map(listing(endpoint("c-1", 0, "h-1"), version=2))
    residents.take_map(listing(version=3))
    assert residents.take_map(listing(endpoint("c-1", 0, "h-1"), version=4))


def test_what_rnics_should_be_like_is_told_by_the_settings() -> None:
    settings = RnicSettings(gbps={"mlx5_0": 400.0}, mtu=9000, gid_index=3)
    residents = Residents("h-1", rnic=settings)
    residents.take_map(listing(endpoint("c-1", 0, "h-1"), endpoint("c-1", 1, "h-1")))
    assert [(each.gbps, each.mtu, each.gid_index) for each in residents.placements()] == [
        (400.0, 9000, 3),
        (None, 9000, 3),
    ]


def test_devices_are_found_as_the_operator_says() -> None:
    residents = Residents("h-1", devices={"mlx5_0": "0000:3b:00.0"})
    residents.take_map(listing(endpoint("c-1", 0, "h-1"), endpoint("c-1", 1, "h-1")))
    assert [each.selector for each in residents.placements()] == ["0000:3b:00.0", "mlx5_1"]
