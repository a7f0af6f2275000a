"""What detection says of pairs: outages, loss and latency found early, and nothing of noise, start-up or leaving."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from localization.detection import DetectionEngine
from localization.pairs import PairTable
from localization.parameters import DetectionParameters
from localization.tails import latency_threshold
from schemas.diagnosis import Anomaly, PairWindows
from schemas.folding import Emission
from schemas.instants import SECOND_US
from schemas.maps import FabricEndpoints
from tests.small_fabric import (
    BEGIN_US,
    TRAIN,
    WELL,
    Effect,
    Suffers,
    by_time,
    endpoint,
    endpoint_map,
    probe_results,
    run,
    well,
)

SRC, DST = endpoint(0, 0), endpoint(1, 0)


def only(suffers: Suffers, start: int, end: int = 10_000) -> Effect:
    """The pair SRC -> DST suffers from second ``start`` to ``end``."""

    def effect(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return suffers if (src, dst) == (SRC, DST) and start <= second <= end else WELL

    return effect


def detect(seconds: int, effect: Effect = well, seed: int = 1) -> list[Emission]:
    return run([endpoint_map(), *probe_results(seconds, effect, seed)])


def anomalies(sent: list[Emission]) -> list[Anomaly]:
    return [each.value for each in sent if isinstance(each.value, Anomaly)]


def second_of(t_us: int) -> float:
    return (t_us - BEGIN_US) / SECOND_US


def test_a_healthy_job_has_no_anomaly_and_a_window_each_second() -> None:
    sent = detect(60)
    assert anomalies(sent) == []
    windows = [each.value for each in sent if isinstance(each.value, PairWindows)]
    assert [second_of(window.t_us) for window in windows] == list(range(1, 61))
    assert {len(window.src) for window in windows} == {64}


def test_an_outage_is_found_at_the_second_failed_train() -> None:
    opened = anomalies(detect(30, only(Suffers(loss=1.0), start=20)))[0]
    assert (opened.src, opened.dst, opened.symptom) == (SRC, DST, "unconnectivity")
    assert second_of(opened.detected_us) == 21
    assert second_of(opened.onset_us) == pytest.approx(19.1, abs=0.01)
    assert opened.path is not None
    assert opened.path[0] == "a0-0"


def test_one_failed_train_is_no_outage() -> None:
    found = anomalies(detect(40, only(Suffers(loss=1.0), start=20, end=20)))
    assert {anomaly.symptom for anomaly in found} == {"packet_loss"}


@pytest.mark.parametrize("loss", [0.05, 0.2, 0.5])
def test_heavy_loss_is_found_at_once(loss: float) -> None:
    opened = anomalies(detect(40, only(Suffers(loss=loss), start=20)))[0]
    assert opened.symptom == "packet_loss"
    assert second_of(opened.detected_us) <= 24


def test_small_loss_is_found_in_about_the_packets_that_a_sequential_test_needs() -> None:
    found = [anomalies(detect(120, only(Suffers(loss=0.01), start=20), seed)) for seed in range(6)]
    delays = [second_of(each[0].detected_us) - 20 for each in found]
    # 17.4 nats at KL(0.01 || 1.4e-4) = 0.033 nats a packet: 530 packets, 5 s; individual runs scatter.
    assert 1 <= sum(delays) / len(delays) <= 14


def test_background_loss_never_alarms() -> None:
    noisy = [anomalies(detect(120, lambda *_: Suffers(loss=5e-4), seed)) for seed in range(3)]
    assert noisy == [[], [], []]


@pytest.mark.parametrize("outcome", ["not_sent", "target_not_ready"])
def test_what_was_not_sent_is_not_lost(outcome: str) -> None:
    assert anomalies(detect(40, only(Suffers(outcome=outcome), start=20))) == []


def test_a_slow_pair_is_found_within_seconds() -> None:
    opened = anomalies(detect(40, only(Suffers(rtt=4.0), start=20)))[0]
    assert opened.symptom == "high_latency"
    assert second_of(opened.detected_us) <= 24
    assert second_of(opened.onset_us) <= 20
    assert opened.baseline.rtt_us == pytest.approx(13.0, rel=0.15)


def test_two_spikes_are_no_slow_pair() -> None:
    assert anomalies(detect(60, only(Suffers(rtt=20.0), start=30, end=31))) == []


def test_a_shift_of_little_effect_is_no_anomaly() -> None:
    assert anomalies(detect(120, only(Suffers(rtt=1.2), start=30))) == []


def test_recovery_clears_after_a_stable_time_and_does_not_come_back() -> None:
    found = anomalies(detect(90, only(Suffers(rtt=5.0, loss=0.2), start=20, end=40)))
    assert Counter((a.symptom, a.state) for a in found) == Counter(
        {(symptom, state): 1 for symptom in ("packet_loss", "high_latency") for state in ("open", "cleared")}
    )
    assert all(second_of(a.t_us) >= 40 + 15 for a in found if a.state == "cleared")


def test_the_baseline_is_not_learned_from_an_anomaly() -> None:
    found = anomalies(detect(400, only(Suffers(rtt=4.0), start=60)))
    assert [a.state for a in found] == ["open"]


def test_a_flapping_pair_is_one_anomaly() -> None:
    def flapping(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(loss=1.0) if (src, dst) == (SRC, DST) and second > 20 and second % 6 < 3 else WELL

    found = [a for a in anomalies(detect(100, flapping)) if a.symptom == "unconnectivity"]
    assert [a.state for a in found] == ["open"]


def test_ids_follow_from_job_pair_symptom_and_onset() -> None:
    first, again = (anomalies(detect(30, only(Suffers(loss=1.0), start=20))) for _ in range(2))
    assert first == again
    later = anomalies(detect(30, only(Suffers(loss=1.0), start=21)))
    assert later[0].anomaly != first[0].anomaly


def test_an_endpoint_that_leaves_raises_nothing_and_clears_what_there_was() -> None:
    messages = [
        endpoint_map(),
        *probe_results(60, only(Suffers(loss=1.0), start=20)),
        endpoint_map(30.5, version=2, gone=[1]),
    ]
    sent = run(by_time(messages))
    assert [(a.state, second_of(a.t_us)) for a in anomalies(sent)] == [("open", 21), ("cleared", 30.5)]
    last = [each.value for each in sent if isinstance(each.value, PairWindows)][-1]
    assert endpoint(1, 0) not in {*last.src, *last.dst}


def test_endpoints_that_are_not_ready_and_jobs_that_have_ended_raise_nothing() -> None:
    lost = probe_results(30, lambda *_: Suffers(loss=1.0))
    unready = endpoint_map()
    starting = tuple(msgspec.structs.replace(e, state="starting") for e in unready.endpoints)
    assert anomalies(run([msgspec.structs.replace(unready, endpoints=starting), *lost])) == []
    assert anomalies(run([endpoint_map(state="ended"), *lost])) == []


def test_each_newer_endpoint_map_goes_to_the_fabric_once() -> None:
    old, new = endpoint_map(0.0, version=5), endpoint_map(3.0, version=4)
    messages = [old, *probe_results(10), new, endpoint_map(6.0, version=6)]
    passed = [each.value for each in run(by_time(messages)) if isinstance(each.value, FabricEndpoints)]
    assert [value.version for value in passed] == [5, 6]


def test_a_pair_that_moves_is_judged_anew() -> None:
    slower = only(Suffers(rtt=1.8), start=31)
    moved = endpoint_map(30.5, version=2)
    places = tuple(
        msgspec.structs.replace(e, switch_port="elsewhere/1") if e.endpoint == DST else e for e in moved.endpoints
    )
    messages = [endpoint_map(), *probe_results(60, slower), msgspec.structs.replace(moved, endpoints=places)]
    assert anomalies(run(by_time(messages))) == []
    assert anomalies(run(by_time(messages[:-1]))) != []


def test_the_latency_threshold_solves_siegmunds_formula() -> None:
    windows, allowance = 3.6e7, 1.0
    reach = 2 * allowance * (latency_threshold(allowance, windows, 2 * allowance) + 1.166)
    from math import exp

    assert (exp(reach) - reach - 1) / (2 * allowance**2) == pytest.approx(windows, rel=1e-6)


def test_rows_follow_a_source_that_changes_its_targets_and_pairs_that_are_forgotten() -> None:
    table = PairTable(1)
    assert table.rows("aa", "bc") == table.rows("aa", "bc") == [0, 1]
    assert table.rows("aab", "cdc") == [1, 2, 3]
    table.grow()
    table.columns.seen_us[:4] = [0, 9, 9, 9]
    assert table.forget(5, set()) == {1: 0, 2: 1, 3: 2}
    assert table.rows("aaba", "cdcb") == [0, 1, 2, 3]


def test_memory_is_bounded_by_the_pairs_that_are_probed() -> None:
    engine = DetectionEngine(DetectionParameters(forget_s=60.0))
    state = engine.start("j")
    from schemas.folding import Observation, TimeReached

    for minute in range(1, 8):
        for second in range(minute * 60 - 59, minute * 60 + 1):
            for message in probe_results(second, first=second):
                moved = tuple(msgspec.structs.replace(r, dst=f"{r.dst}-{minute}") for r in message.results)
                state, _ = engine.step(
                    state, Observation("probe-results", msgspec.structs.replace(message, results=moved))
                )
            state, _ = engine.step(state, TimeReached(BEGIN_US + second * SECOND_US))
    assert len(state.judge.pairs.names) <= 3 * 64
    assert TRAIN == 100
