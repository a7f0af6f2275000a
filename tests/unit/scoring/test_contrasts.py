"""Ablations compare fault by fault: what is lost, what is gained, and whether that can be chance."""

from __future__ import annotations

import pytest

from skeletonhunter.scoring import Score, score
from skeletonhunter.scoring.contrasts import contrast, mcnemar
from tests.unit.scoring.cases import facts, fault, incident, truth


def said(component: str | None, issue: str | None = None) -> Score:
    wrong = truth(fault("rnic:h1/r0", "offloading_failure", endpoints=("c1/r0",)))
    if component is None:
        unsure = incident(None, kind="insufficient_evidence", localized=None, endpoints=("c1/r0",))
        return score(wrong, [unsure], facts())
    return score(wrong, [incident(component, issue, "rnic", endpoints=("c1/r0",))], facts())


def test_what_is_named_only_with_the_evidence_is_lost_without_it() -> None:
    right, blind, guess = said("rnic:h1/r0", "offloading_failure"), said(None), said("rnic:h1/r0", "bond_error")
    found = contrast([(right, right), (right, blind), (right, blind), (right, guess), (blind, right)])
    assert (found.named.lost, found.named.gained) == (2, 1)  # the guess names the right component
    assert (found.issue.lost, found.issue.gained) == (3, 1)
    assert (found.whole.localization.named.hits, found.without.localization.named.hits) == (4, 3)


def test_faults_out_of_reach_change_nothing() -> None:
    hidden = truth(fault("host:h1", "gpu_direct_rdma_error", endpoints=("c1/r0",), probe_visible=False))
    seen = score(hidden, [incident("host:h1", "gpu_direct_rdma_error", "host_board", endpoints=("c1/r0",))], facts())
    assert contrast([(seen, score(hidden, [], facts()))]).named.lost == 0


def test_scores_of_different_recordings_are_not_compared() -> None:
    with pytest.raises(ValueError, match="do not have the same faults"):
        contrast([(said("rnic:h1/r0"), score(truth(), [], facts()))])


@pytest.mark.parametrize(
    ("lost", "gained", "p"), [(0, 0, 1.0), (1, 0, 1.0), (3, 3, 1.0), (6, 0, 0.03125), (10, 1, 24 / 2048)]
)
def test_p_is_that_of_a_fair_coin(lost: int, gained: int, p: float) -> None:
    assert mcnemar(lost, gained) == pytest.approx(p)
    assert mcnemar(gained, lost) == mcnemar(lost, gained)
