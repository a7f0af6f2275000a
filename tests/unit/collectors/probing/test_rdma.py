"""RDMA with stamps of the device, errors and full queues, on verbs in memory; the RDMA guest has real ones."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv6Address
from pathlib import Path

import pytest

from collectors.probing import rdma
from collectors.probing.pacing import Fairness
from collectors.probing.rdma import Device as OwnDevice
from collectors.probing.rdma import RdmaTransport
from collectors.probing.rdma_port import SENDS
from collectors.probing.responder import Responder
from collectors.probing.transport import Answered, Failed, Peer, Probe, UnsentError
from tests.unit.collectors.probing.soft_verbs import Device, SoftVerbs
from tests.unit.collectors.probing.test_gids import tree

IPS = {"mlx5_0": "10.0.0.1", "mlx5_1": "10.0.0.2"}
GIDS = {name: IPv6Address(f"::ffff:{ip}").packed for name, ip in IPS.items()}


class Bench:
    """Two transports on two devices whose clocks have nothing in common."""

    def __init__(self, root: Path, driver: str = "mlx5_core") -> None:
        self.verbs = SoftVerbs(
            {"mlx5_0": Device(GIDS["mlx5_0"], 10**12), "mlx5_1": Device(GIDS["mlx5_1"], 77 * 10**15)}
        )
        self.root = root
        self.responders = {name: Responder(name, number, None, Fairness(1e6, 1e6)) for number, name in enumerate(IPS)}
        for name, ip in IPS.items():
            tree(root, {3: (f"::ffff:{ip}", "RoCE v2")}, name)
            (root / f"class/infiniband/{name}/device").mkdir()
            (root / f"class/infiniband/{name}/device/driver").symlink_to(f"../drivers/{driver}")
        self.ends = {
            name: RdmaTransport(OwnDevice(name, ip, sys=root), self.responders[name], None, 1 + number)
            for number, (name, ip) in enumerate(IPS.items())
        }

    def peer(self) -> Peer:
        told = self.responders["mlx5_1"].rdma
        assert told is not None
        return Peer(endpoint="mlx5_1", ip=IPS["mlx5_1"], gid=told.gid, qpn=told.qpn, qkey=told.qkey)

    def send(self, seq: int = 1, sport: int = 50_000) -> int | None:
        return self.ends["mlx5_0"].send(Probe(seq=seq, to=self.peer(), sport=sport))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench(tmp_path)
    monkeypatch.setattr(rdma, "Verbs", lambda: made.verbs)
    for end in made.ends.values():
        end.open()
    yield made
    for end in made.ends.values():
        end.close()


def test_a_responder_s_delay_that_no_clock_can_explain_is_not_subtracted(bench: Bench) -> None:
    assert bench.send() == 50_000
    bench.verbs.devices["mlx5_1"].clock_ns += 300_000
    bench.verbs.devices["mlx5_0"].clock_ns += 5_000
    list(bench.ends["mlx5_1"].poll())
    (answered,) = bench.ends["mlx5_0"].poll()
    assert isinstance(answered, Answered)
    assert (answered.times.rtt_us, answered.times.responder_delay_us) == (5.0, None)


def test_stamps_of_the_device_give_the_network_s_time_and_both_delays(bench: Bench) -> None:
    prober, responder = bench.verbs.devices["mlx5_0"], bench.verbs.devices["mlx5_1"]
    bench.send()
    responder.clock_ns += 4_000
    prober.clock_ns += 10_000
    list(bench.ends["mlx5_1"].poll())
    (answered,) = bench.ends["mlx5_0"].poll()
    assert isinstance(answered, Answered)
    assert answered.times.by == "hardware"
    assert (answered.times.rtt_us, answered.times.whole_us, answered.times.responder_delay_us) == (6.0, 10.0, 4.0)
    assert answered.times.prober_delay_us is not None


def test_a_lost_datagram_is_silence(bench: Bench) -> None:
    bench.verbs.lost = True
    bench.send()
    assert [*bench.ends["mlx5_1"].poll(), *bench.ends["mlx5_0"].poll()] == []


def test_a_full_send_queue_is_not_sent(bench: Bench) -> None:
    for seq in range(SENDS):
        bench.send(seq)
    with pytest.raises(UnsentError, match="send queue of mlx5_0 is full"):
        bench.send(SENDS)
    list(bench.ends["mlx5_0"].poll())
    bench.send(SENDS + 1)


def test_a_completion_with_an_error_asks_to_be_opened_anew(bench: Bench) -> None:
    bench.send()
    bench.verbs.devices["mlx5_0"].done[0].status = 12
    with pytest.raises(OSError, match="status 12"):
        list(bench.ends["mlx5_0"].poll())
    before = bench.responders["mlx5_0"].rdma
    bench.ends["mlx5_0"].close()
    bench.verbs.devices["mlx5_0"].done.clear()
    bench.ends["mlx5_0"].open()
    assert bench.responders["mlx5_0"].rdma not in (None, before)
    bench.send(2)
    list(bench.ends["mlx5_1"].poll())
    assert [type(each) for each in bench.ends["mlx5_0"].poll()] == [Answered]


def test_a_next_hop_that_does_not_answer_is_the_network_s_failure_and_is_left_alone_for_a_while(bench: Bench) -> None:
    bench.verbs.unreachable.add(GIDS["mlx5_1"])
    bench.send(7)
    (failed,) = bench.ends["mlx5_0"].poll()
    assert isinstance(failed, Failed) and (failed.seq, failed.because) == (7, "network")
    with pytest.raises(UnsentError, match="did not answer just now"):
        bench.send(8)


def test_a_gid_that_moves_is_read_again(bench: Bench) -> None:
    end, gids = bench.ends["mlx5_0"], bench.root / "class/infiniband/mlx5_0/ports/1/gids"
    types = gids.parent / "gid_attrs/types"
    assert not end.refresh()
    (gids / "5").write_text((gids / "3").read_text())
    (types / "5").write_text("RoCE v2\n")
    (gids / "3").write_text("0000:0000:0000:0000:0000:0000:0000:0000\n")
    assert end.refresh()
    assert end.gid is not None and end.gid.index == 5
    (gids / "5").write_text((gids / "3").read_text())
    with pytest.raises(OSError, match="has no GID"):
        end.refresh()


def test_a_peer_without_a_queue_pair_can_t_be_probed(bench: Bench) -> None:
    with pytest.raises(UnsentError, match="told no RDMA address"):
        bench.ends["mlx5_0"].send(Probe(seq=1, to=Peer(endpoint="x", ip="10.0.0.9"), sport=1))


def test_an_unknown_driver_s_port_is_not_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Bench(tmp_path, "irdma")
    monkeypatch.setattr(rdma, "Verbs", lambda: made.verbs)
    for end in made.ends.values():
        end.open()
    assert made.send() is None
    for end in made.ends.values():
        end.close()
