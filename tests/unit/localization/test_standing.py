"""When does what was said stand, and when does it yield? Early blames, reasons that are past, slow pairs that lose."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from localization.cases import Case
from localization.evidence import EvidenceStore, new_evidence
from localization.faults import RECOVERY_NATS, Fault
from localization.incidents import DOUBT_US, settle_on
from localization.lifecycle import _is_past
from localization.parameters import LocalizationParameters
from localization.scene import Scene
from localization.suspects import Suspect
from localization.verdict import _is_slow
from schemas.diagnosis import Candidate, Incident
from schemas.instants import SECOND_US
from tests.small_fabric import BEGIN_US, WELL, Suffers, endpoint, fabric_map, leaf, told
from tests.unit.localization.test_telling_apart import anomaly

SWITCH, CARD = f"switch:{leaf(7, 0)}", "rnic:h7/mlx5_0"
LINK = Suspect("direction", "u-1-0-0", "leaf-1-0")


@pytest.fixture(scope="module")
def blamed() -> Incident:
    """An incident that blames a switch for no known reason."""

    def cut_off(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(loss=1.0) if second > 30 and endpoint(7, 0) in (src, dst) else WELL

    early = replace(told(45, cut_off)[0], component=SWITCH, issue=None, confidence=0.84)
    return replace(early, t_us=early.onset_us, candidates=(Candidate(component=SWITCH, score=0.84),))


def store_with(loss: float, recovery: float = 0.0) -> EvidenceStore:
    """A store in which a link is known to lose."""
    store = new_evidence("f", LocalizationParameters())
    store.topology.take_fabric(fabric_map())
    fault = Fault(LINK, loss, 1.0, BEGIN_US, BEGIN_US, 50.0, 40.0, 4, 1000, 20, (), recovery=recovery)
    store.watch.faults.append(fault)
    return store


@pytest.mark.parametrize(
    ("scores", "later_us", "component"),
    [
        ({CARD: 0.74}, 2 * SECOND_US, CARD),
        ({CARD: 0.44, SWITCH: 0.56}, 2 * SECOND_US, SWITCH),
        ({CARD: 0.74}, DOUBT_US + SECOND_US, SWITCH),
    ],
    ids=["nothing speaks for it", "something does", "late"],
)
def test_a_blame_yields_to_a_less_sure_one_only_early_and_once_nothing_speaks_for_it(
    blamed: Incident, scores: dict[str, float], later_us: int, component: str
) -> None:
    candidates = tuple(Candidate(component=name, score=score) for name, score in scores.items())
    now = replace(
        blamed, t_us=blamed.onset_us + later_us, component=CARD, confidence=scores[CARD], candidates=candidates
    )
    assert settle_on(store_with(0.02), blamed, now).component == component


def test_the_reason_of_a_fault_stands_once_trains_cross_it_unharmed(blamed: Incident) -> None:
    case = Case("c", BEGIN_US, BEGIN_US, faults=[LINK], meant=replace(blamed, issue="crc_error"))
    assert _is_past(case, store_with(0.02, recovery=RECOVERY_NATS))
    assert not _is_past(case, store_with(0.02))
    case.meant = blamed
    assert not _is_past(case, store_with(0.02, recovery=RECOVERY_NATS))


@pytest.mark.parametrize(
    ("loss", "lossy", "late_too", "slow"),
    [(0.02, 1, False, True), (0.02, 2, False, False), (0.02, 2, True, True), (0.2, 1, False, False)],
)
def test_a_case_is_slow_if_its_fault_takes_few_packets_and_of_one_pair_or_of_slow_ones_only(
    loss: float, lossy: int, late_too: bool, slow: bool
) -> None:
    case = Case("c", BEGIN_US, BEGIN_US, faults=[LINK])
    for number in range(8):
        each = anomaly(number, endpoint(0, 0), endpoint(number, 1), BEGIN_US)
        if number < lossy:
            case.take(replace(each, anomaly=f"lossy-{number}", symptom="packet_loss", state="cleared"))
        if number >= lossy or late_too:
            case.take(replace(each, symptom="high_latency", state="open"))
    assert _is_slow(Scene(case, store_with(loss), BEGIN_US, case.pairs())) is slow
