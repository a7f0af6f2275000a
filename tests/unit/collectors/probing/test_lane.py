"""An endpoint's transports: how its device is found, and that nothing falls back in silence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.observing import Now
from collectors.probing import rdma
from collectors.probing.lane import AGAIN_S, Lane, Place, Surroundings
from collectors.probing.rdma import RdmaTransport
from collectors.probing.settings import ProbingSettings
from collectors.probing.transport import Peer
from collectors.probing.verbs import NoVerbsError
from tests.unit.collectors.probing.soft_verbs import Device, SoftVerbs
from tests.unit.collectors.probing.test_gids import tree

IP = "127.0.0.1"
GID = "::ffff:127.0.0.1"
PACKED = bytes(10) + b"\xff\xff\x7f\x00\x00\x01"
WITHOUT, WITH = Peer(endpoint="b/r", ip=IP), Peer(endpoint="b/r", ip=IP, gid=PACKED, qpn=17, qkey=1)


def at(seconds: float) -> Now:
    return Now(round(seconds * 1e6), round(seconds * 1e6))


@pytest.fixture
def lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Lane]]:
    verbs = SoftVerbs({"mlx5_0": Device(PACKED, 10**12)})
    monkeypatch.setattr(rdma, "Verbs", lambda: verbs)
    made: list[Lane] = []
    yield made
    for lane in made:
        lane.close()


def lane(sys: Path, made: list[Lane], device: str = "mlx5_0", transport: str = "auto") -> Lane:
    place = Place(endpoint="a/r", ip=IP, node="h/r", device=device, job="j", tenant=None)
    settings = ProbingSettings(transport=transport, port=1)
    new = Lane(place, Surroundings(settings=settings, session=1, key=None, sys=sys))
    new.transports.pop("udp")  # not what these tests are about, and its port may be taken
    made.append(new)
    return new


def with_device(root: Path) -> Path:
    return tree(root, {1: (GID, "RoCE v2")})


def test_rdma_is_for_peers_that_have_it(tmp_path: Path, lanes: list[Lane]) -> None:
    one = lane(with_device(tmp_path), lanes)
    assert one.tend(at(0)) == ["rdma"]
    assert one.choose(WITH) == ("rdma", None, False)
    assert one.choose(WITHOUT)[0] == "udp"
    assert one.gid == "0000:0000:0000:0000:0000:ffff:7f00:0001"


def test_demanded_rdma_waits_for_the_peer(tmp_path: Path, lanes: list[Lane]) -> None:
    one = lane(with_device(tmp_path), lanes, transport="rdma")
    one.tend(at(0))
    assert one.choose(WITH) == ("rdma", None, False)
    kind, why, is_peers_doing = one.choose(WITHOUT)
    assert (kind, is_peers_doing) == ("rdma", True) and why is not None


def test_a_device_is_found_by_its_pci_address(tmp_path: Path, lanes: list[Lane]) -> None:
    root = with_device(tmp_path)
    card = tmp_path / "devices/pci0000:00/0000:ba:00.0"
    card.mkdir(parents=True)
    (root / "class/infiniband/mlx5_0/device").symlink_to(card)
    one = lane(root, lanes, device="0000:ba:00.0")
    assert one.tend(at(0)) == ["rdma"]
    transport = one.transports["rdma"]
    assert isinstance(transport, RdmaTransport) and transport.device.name == "mlx5_0"


def test_without_a_device_it_is_an_endpoint_of_udp_until_one_comes(tmp_path: Path, lanes: list[Lane]) -> None:
    one = lane(tmp_path, lanes)
    assert one.tend(at(0)) == [] and one.usual == "udp"
    with_device(tmp_path)
    assert one.tend(at(AGAIN_S / 2)) == []
    assert one.tend(at(AGAIN_S)) == ["rdma"] and one.usual == "rdma"


def test_a_device_that_goes_away_is_not_replaced_by_udp(tmp_path: Path, lanes: list[Lane]) -> None:
    root = with_device(tmp_path)
    one = lane(root, lanes)
    one.tend(at(0))
    (root / "class/infiniband/mlx5_0").rename(tmp_path / "gone")
    one.tend(at(2))
    one.tend(at(5))
    kind, why, is_peers_doing = one.choose(WITH)
    assert (kind, is_peers_doing) == ("rdma", False)
    assert why == "there is no RDMA device 'mlx5_0'"
    (tmp_path / "gone").rename(root / "class/infiniband/mlx5_0")
    assert one.tend(at(10)) == ["rdma"]
    assert one.choose(WITH) == ("rdma", None, False)


def test_without_pyverbs_auto_takes_udp_and_says_so_once(
    tmp_path: Path, lanes: list[Lane], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing() -> SoftVerbs:
        raise NoVerbsError(65, "RDMA probing needs pyverbs: install the extra")

    monkeypatch.setattr(rdma, "Verbs", missing)
    one = lane(with_device(tmp_path), lanes)
    for second in range(20):
        one.tend(at(second))
    assert one.usual == "udp" and one.choose(WITH)[0] == "udp"
    assert caplog.text.count("needs pyverbs") == 1
