"""The collector of counters on sysfs trees of many drivers, with cards that come, go and change their names."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from collectors.observing import Observed
from collectors.rnic.counters import RnicCounters
from collectors.rnic.following import Cards
from collectors.rnic.placement import Placement
from collectors.rnic.settings import RnicSettings
from schemas.codec import decode
from tests.unit.collectors.rnic.trees import SECOND, T0, at, card, columns, placed, plant, put

EACH = RnicSettings(message_s=1.0, devices_s=0.5)
"""Every sample is a message, and devices are looked for at every sample."""


def collector(sys: Path, placements: tuple[Placement, ...], settings: RnicSettings = EACH) -> RnicCounters:
    return RnicCounters(lambda: placements, Cards(sys, settings.devices_s), settings)


def sample(part: RnicCounters, *seconds: float) -> list[Observed]:
    return [one for second in seconds for one in part.collect(at(second))]


def events(observed: list[Observed], code: str) -> list[dict[str, object]]:
    return [one.fields for one in observed if one.topic == "device-events" and one.fields["event"] == code]


def test_every_value_of_three_healthy_drivers_is_read(tmp_path: Path) -> None:
    plant(tmp_path, "three_drivers")
    names = ("hfi1_0", "mlx4_0/1", "mlx4_0/2", "mlx5_0")
    observed = sample(collector(tmp_path, placed(*names)), 0)
    assert columns(observed, "hfi1_0")["tx_bytes"] == [4 * 7000000003]
    assert columns(observed, "mlx4_0/1")["rx_bytes"] == [4 * 1111]
    assert columns(observed, "mlx4_0/2")["tx_bytes"] == [4 * 4444]
    mlx5 = columns(observed, "mlx5_0")
    assert mlx5["tx_bytes"] == [4 * 2880000000000], "words are four bytes on one lane as well"
    assert (mlx5["local_ack_timeout_err"], mlx5["resp_cqe_error"], mlx5["rdmacm_retries"]) == ([129], [8100], [7])
    assert "lifespan" not in mlx5 and "port_xmit_data" not in mlx5
    assert [one.topic for one in observed] == ["rnic-counters"], "absolute totals are no warning"


def test_a_card_without_pma_gives_nulls_and_a_reason_and_the_others_are_read(tmp_path: Path) -> None:
    plant(tmp_path, "no_pma_and_old_files")
    observed = sample(collector(tmp_path, placed("i40iw0", "mlx4_0")), 0)
    iwarp = columns(observed, "i40iw0")
    assert iwarp["tx_bytes"] == iwarp["VL15_dropped"] == [None]
    told = events(observed, "counters_unreadable")
    assert {one["device"] for one in told} == {"rnic:h/i40iw0", "rnic:h/mlx4_0"}
    assert all(one["severity"] == "info" for one in told)
    reasons = next(one["values"]["reasons"] for one in told if one["device"] == "rnic:h/i40iw0")  # type: ignore[index]
    assert reasons["tx_bytes"] == "not supported by the driver"


def test_two_files_of_one_quantity_are_not_added_and_a_saturated_counter_is_unknown(tmp_path: Path) -> None:
    plant(tmp_path, "no_pma_and_old_files")
    mlx4 = columns(sample(collector(tmp_path, placed("mlx4_0")), 0), "mlx4_0")
    assert mlx4["rx_bytes"] == [4 * 4600000]
    assert mlx4["port_rcv_packets"] == [6825000000]
    assert "port_rcv_packets_64" not in mlx4 and "port_unicast_rcv_packets" not in mlx4
    assert mlx4["port_xmit_wait"] == [None]


def test_a_saturated_32_bit_file_gives_way_to_its_64_bit_twin(tmp_path: Path) -> None:
    folder = card(
        tmp_path,
        "mlx4_0",
        "0000:01:00.0",
        {
            "counters/port_xmit_data": 2**32 - 1,
            "counters/port_rcv_data": 10,
            "counters_ext/port_xmit_data_64": 2**33,
            "counters_ext/port_rcv_data_64": 10,
        },
    )
    part = collector(tmp_path, placed("mlx4_0"))
    observed = sample(part, 0)
    put(folder, "ports/1/counters_ext/port_xmit_data_64", str(2**33 + 5))
    observed += sample(part, 1)
    assert columns(observed, "mlx4_0")["tx_bytes"] == [2**35, 2**35 + 20]


@pytest.mark.parametrize(
    ("rnic", "tx", "rx"),
    [
        ("efa_0", 123456789, 987654321),
        ("irdma0", 5060, 7080),
        ("bnxt_re0", 4242, 2424),
        ("ionic_0", 5151, 1515),
        ("rxe0", 700, 800),
        ("mlx5_4", 400, 800),
        ("mlx5_bond_0", 4000, 8000),
    ],
)
def test_bytes_of_other_drivers_and_kinds(tmp_path: Path, rnic: str, tx: int, rx: int) -> None:
    plant(tmp_path, "other_drivers")
    found = columns(sample(collector(tmp_path, placed(rnic)), 0), rnic)
    assert (found["tx_bytes"], found["rx_bytes"]) == ([tx], [rx])
    assert "active_qps" not in found


def test_a_device_level_counter_of_a_driver_stands_beside_those_of_the_port(tmp_path: Path) -> None:
    plant(tmp_path, "other_drivers")
    assert columns(sample(collector(tmp_path, placed("efa_0")), 0), "efa_0")["submitted_cmds"] == [900]


def test_messages_are_columns_of_seconds_per_container_and_fit_the_contract(tmp_path: Path) -> None:
    plant(tmp_path, "three_drivers")
    both = placed("mlx5_0", container="c0", tenant="t") + placed("hfi1_0", container="c1")
    observed = sample(collector(tmp_path, both, RnicSettings()), *range(10))
    assert [(one.topic, one.stream) for one in observed] == [
        ("rnic-counters", "rnic-counters.c0"),
        ("rnic-counters", "rnic-counters.c1"),
    ] * 2
    envelope = {
        "v": 1,
        "t_us": observed[0].t_us,
        "producer": {"id": "agent:a/x", "kind": "k", "boot": "b", "seq": 0},
        "clock": {"source": "none", "offset_us": 0.0, "error_us": 1.0},
        "fabric": "f",
    }
    value = decode("rnic-counters", b"j", msgspec.json.encode({**envelope, **observed[0].fields}), T0 + 5 * SECOND)
    assert [rnic.t_us for rnic in value.rnics] == [tuple(T0 + n * SECOND for n in range(5))]  # type: ignore[union-attr]
    assert observed[0].t_us == T0 + 4 * SECOND and observed[0].fields["tenant"] == "t"


def test_a_driver_loaded_again_is_visible_even_when_no_counter_decreased(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", {"counters/port_xmit_data": 1000, "counters/port_rcv_data": 1})
    part = collector(tmp_path, placed("mlx5_0"))
    observed = sample(part, 0)
    reborn(tmp_path, "mlx5_0", "0000:01:00.0", {"counters/port_xmit_data": 5000, "counters/port_rcv_data": 2})
    observed += sample(part, 1)
    put(tmp_path, "class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "6000")
    observed += sample(part, 2)
    found = columns(observed, "mlx5_0")
    assert found["tx_bytes"] == [4000, 0, 4000]
    assert found["driver_epoch"] == [0, 1, 1]


def reborn(sys: Path, name: str, pci: str, counters: dict[str, int | str], former: str = "") -> None:
    """Loads the driver of a card anew: other inodes, perhaps another name."""
    former = former or name
    old = sys / "class/infiniband" / former
    real = old.resolve()
    old.unlink()
    real.rename(real.parent / f"old-{former}")
    put(real.parent, "device-made", "x")
    folder = f"devices/pci{pci[:7]}/{pci}/infiniband/{name}"
    put(sys, f"{folder}/device", "-> ../..")
    put(sys, f"{folder}/ports/1/rate", "100 Gb/sec (4X EDR)")
    for path, value in counters.items():
        put(sys, f"{folder}/ports/1/{path}", str(value))
    (sys / "class/infiniband" / name).symlink_to(sys / folder)
    shutil.rmtree(real.parent / f"old-{former}")


def test_a_renamed_card_is_followed_and_its_name_taken_by_another_is_not(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_3", "0000:0a:00.0", {"counters/port_xmit_data": 10, "counters/port_rcv_data": 1})
    part = collector(tmp_path, placed("mlx5_3"))
    observed = sample(part, 0)
    counters: dict[str, int | str] = {"counters/port_xmit_data": 20, "counters/port_rcv_data": 1}
    reborn(tmp_path, "mlx5_4", "0000:0a:00.0", counters, former="mlx5_3")
    card(tmp_path, "mlx5_3", "0000:0b:00.0", {"counters/port_xmit_data": 999, "counters/port_rcv_data": 1})
    observed += sample(part, 1)
    put(tmp_path, "class/infiniband/mlx5_4/ports/1/counters/port_xmit_data", "25")
    observed += sample(part, 2)
    assert columns(observed, "mlx5_3")["tx_bytes"] == [40, 0, 20]


@pytest.mark.parametrize("device", ["0000:0a:00.0", "b83f:d203:00b1:0001", "mlx5_7", "mlx5_7/1", "eth2"])
def test_a_placement_may_name_its_card_in_every_way(tmp_path: Path, device: str) -> None:
    card(
        tmp_path,
        "mlx5_7",
        "0000:0a:00.0",
        {"counters/port_xmit_data": 10, "counters/port_rcv_data": 1, "gid_attrs/ndevs/0": "eth2"},
        node_guid="b83f:d203:00b1:0001",
    )
    observed = sample(collector(tmp_path, placed("rail3", device=device)), 0)
    assert columns(observed, "rail3")["tx_bytes"] == [40]


def test_a_card_of_several_ports_needs_a_port(tmp_path: Path) -> None:
    plant(tmp_path, "three_drivers")
    observed = sample(collector(tmp_path, placed("mlx4_0")), 0)
    assert columns(observed, "mlx4_0")["tx_bytes"] == [None]
    (told,) = events(observed, "counters_unreadable")
    assert "name one of: mlx4_0/1, mlx4_0/2" in str(told["values"])


def test_a_card_that_is_not_there_gives_nulls_and_harms_nobody(tmp_path: Path) -> None:
    plant(tmp_path, "three_drivers")
    part = collector(tmp_path, placed("mlx5_0", "mlx5_9"))
    observed = sample(part, 0)
    assert columns(observed, "mlx5_9") == {"t_us": [T0], "tx_bytes": [None], "rx_bytes": [None]}
    assert columns(observed, "mlx5_0")["rx_bytes"] == [4 * 18000000000]


def test_a_card_that_goes_and_comes_back_begins_anew(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", {"counters/port_xmit_data": 1000, "counters/port_rcv_data": 1})
    part = collector(tmp_path, placed("mlx5_0"))
    observed = sample(part, 0, 1)
    link = tmp_path / "class/infiniband/mlx5_0"
    folder = link.resolve()
    link.unlink()
    folder.rename(folder.parent / "away")
    observed += sample(part, 2, 3)
    card_again: dict[str, int | str] = {"counters/port_xmit_data": 7000, "counters/port_rcv_data": 1}
    (folder.parent / "device").unlink(missing_ok=True)
    folder.mkdir()
    put(folder, "device", "-> ../..")
    for path, value in card_again.items():
        put(folder, f"ports/1/{path}", str(value))
    link.symlink_to(folder)
    observed += sample(part, 4, 5)
    assert columns(observed, "mlx5_0")["tx_bytes"] == [4000, 4000, None, None, 0, 0]


def test_statistics_of_network_devices_are_read_one_after_the_other(tmp_path: Path) -> None:
    asked: list[tuple[int, str]] = []

    class Lanes:
        def read(self, netdev: str) -> dict[str, int]:
            asked.append((second, netdev))
            return {"rx_prio3_pause": 5 + second}

    for number in (0, 1):
        counters: dict[str, int | str] = {"counters/port_xmit_data": 1, "gid_attrs/ndevs/0": f"eth{number}"}
        card(tmp_path, f"mlx5_{number}", f"0000:0{number}:00.0", counters)
    settings = RnicSettings(message_s=3.0, ethtool_s=4.0)
    part = RnicCounters(lambda: placed("mlx5_0", "mlx5_1"), Cards(tmp_path, 5.0), settings, Lanes())
    observed = []
    for second in range(6):
        observed += sample(part, second)
    assert asked == [(0, "eth0"), (2, "eth1"), (4, "eth0")]
    assert columns(observed, "mlx5_0")["rx_prio3_pause"] == [5, None, None, None, 9, None]
    assert columns(observed, "mlx5_1")["rx_prio3_pause"] == [None, None, 7]


def test_a_port_that_comes_up_faster_is_believed(tmp_path: Path) -> None:
    folder = card(tmp_path, "mlx5_0", "0000:01:00.0", {"counters/port_xmit_data": 1, "counters/port_rcv_data": 1})
    put(folder, "ports/1/rate", "10 Gb/sec (4X SDR)")
    part = collector(tmp_path, placed("mlx5_0"))
    observed = sample(part, 0)
    put(folder, "ports/1/rate", "400 Gb/sec (4X NDR)")
    put(folder, "ports/1/counters/port_xmit_data", str(1 + 10 * 10**9))
    observed += sample(part, 1)
    assert columns(observed, "mlx5_0")["tx_bytes"] == [4, 4 + 40 * 10**9]


def test_a_listing_that_fails_is_an_error_of_this_time_only(tmp_path: Path) -> None:
    put(tmp_path, "class/infiniband", "not a folder")
    with pytest.raises(OSError):
        sample(collector(tmp_path, placed("mlx5_0")), 0)
