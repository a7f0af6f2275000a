"""The collector of bursts on a sysfs tree: batches, empty lists, silence for what can't be read."""

from __future__ import annotations

from pathlib import Path

import msgspec

from collectors.observing import Observed
from collectors.rnic.burst_reports import RnicBursts
from collectors.rnic.following import Cards
from collectors.rnic.placement import Placement
from collectors.rnic.settings import RnicSettings
from schemas.codec import decode
from tests.unit.collectors.rnic.test_counters import reborn
from tests.unit.collectors.rnic.trees import T0, at, card, placed, put

MOVE = "ports/1/counters/port_xmit_data"
BYTES: dict[str, int | str] = {"counters/port_xmit_data": 1000, "counters/port_rcv_data": 1}


def run(sys: Path, placements: tuple[Placement, ...], seconds: int, words: dict[int, int]) -> list[Observed]:
    """Samples every 50 ms; ``words``: what the counter of mlx5_0 shows from which sample on."""
    part = RnicBursts(lambda: placements, Cards(sys, 1.0), RnicSettings())
    observed: list[Observed] = []
    for tick in range(seconds * 20):
        if tick in words:
            put(sys, f"class/infiniband/mlx5_0/{MOVE}", str(words[tick]))
        observed += part.collect(at(tick * 0.05))
    return observed


def test_bursts_are_told_every_ten_seconds_and_an_empty_list_says_none(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", BYTES)
    observed = run(tmp_path, placed("mlx5_0"), 31, {40: 1000 + 25 * 10**6, 41: 1000 + 50 * 10**6})
    assert [one.stream for one in observed] == ["rnic-bursts.c0"] * 3
    (burst,) = observed[0].fields["bursts"]
    assert burst["bytes"] == 200 * 10**6 and burst["direction"] == "tx"
    assert (burst["start_us"], burst["end_us"]) == (T0 + 1_950_000, T0 + 2_050_000)
    assert observed[1].fields["bursts"] == observed[2].fields["bursts"] == []
    envelope = {
        "v": 1,
        "t_us": observed[0].t_us,
        "producer": {"id": "agent:a/x", "kind": "k", "boot": "b", "seq": 0},
        "clock": {"source": "none", "offset_us": 0.0, "error_us": 1.0},
        "fabric": "f",
    }
    decode("rnic-bursts", b"j", msgspec.json.encode({**envelope, **observed[0].fields}), observed[0].t_us)


def test_while_a_burst_goes_on_a_message_covers_only_what_is_decided(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", BYTES)
    observed = run(tmp_path, placed("mlx5_0"), 11, {tick: tick * 10**8 for tick in range(190, 215)})
    assert [one.t_us for one in observed] == [T0 + 9_950_000] and observed[0].fields["bursts"] == []


def test_a_card_that_can_not_be_read_is_silent_not_quiet(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", BYTES)
    card(tmp_path, "mlx5_1", "0000:02:00.0", {"counters/port_xmit_data": "N/A", "counters/port_rcv_data": "N/A"})
    observed = run(tmp_path, placed("mlx5_0", "mlx5_1", "mlx5_9"), 11, {})
    assert {one.fields["endpoint"] for one in observed} == {"c0/mlx5_0"}


def test_a_driver_loaded_again_makes_no_burst(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", BYTES)
    part = RnicBursts(lambda: placed("mlx5_0"), Cards(tmp_path, 0.5), RnicSettings(burst_message_s=2.0))
    observed: list[Observed] = []
    for tick in range(100):
        if tick == 30:
            reborn(tmp_path, "mlx5_0", "0000:01:00.0", {"counters/port_xmit_data": 10**10, "counters/port_rcv_data": 1})
        observed += part.collect(at(tick * 0.05))
    assert observed and all(one.fields["bursts"] == [] for one in observed)


def test_two_endpoints_on_one_card_hear_the_same(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", BYTES)
    both = placed("mlx5_0") + placed("mlx5_0", container="c1")
    observed = run(tmp_path, both, 11, {40: 10**8})
    assert observed[0].fields["bursts"] == observed[1].fields["bursts"] != []
