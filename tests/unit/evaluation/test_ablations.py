"""Ablations: what is taken away is not seen, the rest is, results are kept, and the page shows what it costs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from schemas.diagnosis import Anomaly, Observed, PairWindows
from schemas.folding import DERIVED_CLOCK, Observation, TimeReached, derived_producer
from schemas.instants import SECOND_US
from skeletonhunter.evaluation.ablations import EVIDENCE, IllPairsOnly, rows_of
from skeletonhunter.evaluation.diagnosing import diagnose
from skeletonhunter.evaluation.reporting import report
from skeletonhunter.evaluation.results import ResultStore, ScenarioResult
from skeletonhunter.evaluation.running import run_campaign
from skeletonhunter.evaluation.scenarios import Scenario
from skeletonhunter.evaluation.tables import markdown
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.testbed.scenario import FabricPlan, FaultPlan, JobPlan
from skeletonhunter.testbed.scenario import Scenario as Simulated
from streams.parameters import Parameters
from streams.stages import STAGES
from tests.unit.evaluation.bench import KnownBench

T_US = 1_700_000_000 * SECOND_US
ENVELOPE = {"v": 1, "producer": derived_producer("t", "k", 0), "clock": DERIVED_CLOCK, "fabric": "fab", "job": "j1"}
SUBJECTS = ("issue-09-offloading_failure", "issue-01-crc_error", "issue-13-gpu_direct_rdma_error")
OFFLOADING = tuple(Scenario(subject, "s", seed) for subject in SUBJECTS for seed in (2, 3))


def windows(t_us: int, *pairs: tuple[str, str]) -> PairWindows:
    count = len(pairs)
    return PairWindows(
        **ENVELOPE,  # type: ignore[arg-type]
        t_us=t_us,
        window_s=1.0,
        src=tuple(src for src, _ in pairs),
        dst=tuple(dst for _, dst in pairs),
        sport=tuple(range(count)),
        path=(0,) * count,
        sent=(10,) * count,
        lost=(1,) * count,
        rtt_us=(5.0,) * count,
        paths=(("l1", "l2"),),
    )


def anomaly(state: str) -> Anomaly:
    return Anomaly(
        **ENVELOPE,  # type: ignore[arg-type]
        t_us=T_US,
        anomaly="a1",
        src="c1/r0",
        dst="c2/r0",
        symptom="packet_loss",
        onset_us=T_US,
        detected_us=T_US,
        detector="t",
        score=1.0,
        baseline=Observed(),
        observed=Observed(),
        path=None,
        state=state,  # type: ignore[arg-type]
    )


def test_only_rows_of_chosen_pairs_are_left_whatever_their_direction() -> None:
    whole = windows(T_US, ("c1/r0", "c2/r0"), ("c3/r0", "c4/r0"), ("c2/r0", "c1/r0"))
    left = rows_of(whole, {frozenset(("c2/r0", "c1/r0"))})
    assert (left.src, left.dst, left.sport) == (("c1/r0", "c2/r0"), ("c2/r0", "c1/r0"), (0, 2))
    assert rows_of(whole, set()).src == ()


def test_a_pair_is_shown_while_its_anomaly_is_open_and_sources_stay_known() -> None:
    engine = IllPairsOnly(STAGES["localization"].build(Parameters()))
    state, shown = engine.start("fab"), []
    for second, said in enumerate([None, "open", None, "cleared"]):
        t_us = T_US + second * SECOND_US
        if said:
            engine.step(state, Observation("anomalies", anomaly(said)))
        engine.step(state, Observation("pair-windows", windows(t_us, ("c1/r0", "c2/r0"), ("c3/r0", "c4/r0"))))
        engine.step(state, TimeReached(t_us))
        shown.append(len(state.inner.store.watch.window.seconds[-1].route))
    assert shown == [0, 1, 1, 0]
    assert set(state.inner.store.sources) == {"c1/r0", "c3/r0"}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A failed offload of 60 s, which flow tables alone tell from a slow card."""
    scenario = Simulated(
        name="offload",
        seed=3,
        seconds=75,
        fabric=FabricPlan(hosts=4, rails=4, hosts_per_leaf=2, spines=2),
        jobs=(JobPlan(tp=4, pp=2, dp=2, period_s=8.0),),
        faults=(FaultPlan("offloading_failure", 40.0, 75.0, severity=0.8),),
    )
    path = tmp_path_factory.mktemp("offload") / "offload"
    simulate_recording(scenario, path, None)
    return path


def test_a_failed_offload_is_not_told_without_flow_tables_and_is_without_queues(recording: Path) -> None:
    issues = {
        name: {incident.issue for incident in diagnose(recording, Parameters(), without=name).incidents}
        for name in (None, *EVIDENCE)
    }
    assert {name for name, said in issues.items() if "offloading_failure" not in said} <= {
        "flow-tables",
        "healthy-pairs",
    }
    assert "offloading_failure" not in issues["flow-tables"]


def test_taking_nothing_away_changes_nothing_and_truth_is_always_whole(recording: Path) -> None:
    whole = diagnose(recording, Parameters())
    assert whole == diagnose(recording, Parameters(), without=None)
    blind = diagnose(recording, Parameters(), without="healthy-pairs")
    assert (blind.truth, blind.facts) == (whole.truth, whole.facts)


def test_kept_results_without_the_asked_ablation_are_made_again(tmp_path: Path) -> None:
    store = ResultStore(tmp_path, "f")
    run_campaign(OFFLOADING[:2], KnownBench(), store, 1, lambda _: None)
    path = tmp_path / f"{OFFLOADING[0].id}.json"
    assert msgspec.json.decode(path.read_bytes(), type=ScenarioResult).ablated == {}
    run_campaign(OFFLOADING[:2], KnownBench(("flow-tables",)), store, 1, lambda _: None)
    before = path.read_bytes()
    assert set(msgspec.json.decode(before, type=ScenarioResult).ablated) == {"flow-tables"}
    run_campaign(OFFLOADING[:2], KnownBench(), store, 1, lambda _: None)
    assert path.read_bytes() == before


def test_the_page_shows_what_taking_evidence_away_costs(tmp_path: Path) -> None:
    bench = KnownBench(("flow-tables", "queues"))
    results = run_campaign(OFFLOADING, bench, ResultStore(tmp_path, "f"), 1, lambda _: None)
    summary = report("quick", "f", results, " --seeds 2,3")
    page = markdown(summary, hold_s=6.0)
    assert "`skeletonhunter evaluate --quick --seeds 2,3 --without flow-tables --without queues`" in page
    row = next(line for line in page.splitlines() if line.startswith("| flow-tables (6 scenarios)"))
    assert row.endswith("| 2 / 0 (p = 0.5) | 2 / 0 (p = 0.5) |")
    assert "60.0 % (3 of 5;" in row
    assert page.count("| nothing (6 scenarios) |") == 1
    assert summary.ablations["queues"].named.lost == 0


def test_faults_out_of_reach_have_their_own_rows(tmp_path: Path) -> None:
    results = run_campaign(OFFLOADING, KnownBench(), ResultStore(tmp_path, "f"), 1, lambda _: None)
    page = markdown(report("full", "f", results), hold_s=6.0)
    assert "| within reach | 100.0 % (5 of 5;" in page
    assert "| with those out of reach | 100.0 % (6 of 6;" in page
    assert "| issue-13-gpu_direct_rdma_error | 1 | 100.0 % (1 of 1;" in page
