"""Does the traffic agree with what hints say of a rail, and what do they add to it? Evidence to check, never believed.

An order of ranks tells replicas apart where traffic can't: in every usual layout (stages outermost, or replicas, or
experts between them) the k-th endpoint of one stage and the k-th of the next belong together. It is used on a rail only
if
1. the stages found in the traffic follow it: in rank order they come in runs of one length, round and round;
2. traffic rules none of its links out;
3. the balances of its replicas cancel no worse than those of other pairings (shifts by 1, 2 ...), and at least in part
   (residual up to ``UNRELATED``).
Hinted chains must pass 2 and 3. Where no stages were found there is nothing to check an order against, and it is not
used: replicas in step make many wrong layouts cancel as well as the right one.

Cost: O(n T) for each of a few dozen pairings per rail.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skeleton.balance import is_lopsided, residual
from skeleton.hints import Chains, Hints
from skeleton.pairing import restrict
from skeleton.structure import RailFinding

FloatArray = NDArray[np.float64]

CONTRADICTED = 1.25
"""A hinted pairing that leaves so much more imbalance than another is wrong."""

UNRELATED = 0.7
SHIFTS = 6


def apply_hints(finding: RailFinding, hints: Hints, balance: FloatArray | None) -> tuple[RailFinding, dict[str, str]]:
    """The finding with what the hints add to it, and what became of each: used, contradicted, not needed, unchecked.

    ``balance``: bytes sent less received by the rail's members (in their order), (n, T), NaN unknown.
    """
    outcome: dict[str, str] = {}
    known = _known(balance)
    if hints.chains:
        finding, outcome["chains"] = _follow(finding, _inner(hints.chains, finding), known)
    if hints.order is not None:
        ranked = sorted(finding.members, key=lambda member: hints.order[member])  # type: ignore[index]
        finding, outcome["order"] = _by_order(finding, ranked, known)
    return finding, outcome


def _by_order(finding: RailFinding, ranked: list[int], balance: FloatArray | None) -> tuple[RailFinding, str]:
    if finding.knowledge in ("single", "unresolved"):
        return finding, "unchecked"
    if not finding.twins() and finding.ordered:
        return finding, "not needed"
    stages = _stages_in_order(finding, ranked)
    if stages is None:
        return finding, "contradicted"
    chains = tuple(zip(*stages, strict=True))
    turned = finding.ordered and stages[0][0] not in finding.stages[0]  # ranks don't say where the pipeline begins
    return _follow(finding, tuple(chain[::-1] for chain in chains) if turned else chains, balance)


def _stages_in_order(finding: RailFinding, ranked: list[int]) -> list[list[int]] | None:
    """The stages, first ranks first and each in rank order, if they come in equal runs, round and round."""
    stage_of = {member: number for number, stage in enumerate(finding.stages) for member in stage}
    labels = [stage_of[member] for member in ranked]
    run = next((place for place, label in enumerate(labels) if label != labels[0]), len(labels))
    around = labels[: run * len(finding.stages)]
    runs = [around[place : place + run] for place in range(0, len(around), run)]
    regular = len(runs) == len(finding.stages) and all(len(set(one)) == 1 and len(one) == run for one in runs)
    if not regular or len({one[0] for one in runs}) != len(runs) or len(labels) % len(around):
        return None
    if labels != around * (len(labels) // len(around)):
        return None
    return [[member for member in ranked if stage_of[member] == one[0]] for one in runs]


def _follow(finding: RailFinding, chains: Chains, balance: FloatArray | None) -> tuple[RailFinding, str]:
    """The finding with the links of these chains alone, if nothing speaks against them."""
    if finding.knowledge not in ("paired", "staged") or not chains:
        return finding, "unchecked"
    links = {pair for chain in chains for pair in pairwise(chain)}
    possible = {pair for a, b in finding.links for pair in ((a, b), (b, a))}
    if not links <= possible or _is_worse(finding, chains, balance):
        return finding, "contradicted"
    if finding.knowledge == "paired":
        forward = {(a, b) for a, b in finding.links if (a, b) in links or (b, a) in links}
        settled = restrict(finding, forward)
        return settled, "not needed" if settled is finding else "used"
    stages = tuple(tuple(sorted(stage)) for stage in zip(*chains, strict=True))
    if {frozenset(stage) for stage in stages} != {frozenset(stage) for stage in finding.stages}:
        return finding, "contradicted"
    return replace(
        finding,
        knowledge="paired",
        stages=stages,
        replicas=chains,
        links=tuple(sorted(links)),
        end_links=tuple((chain[0], chain[-1]) for chain in chains) if finding.end_links else (),
        ordered=True,
    ), "used"


def _is_worse(finding: RailFinding, chains: Chains, balance: FloatArray | None) -> bool:
    """Whether the chains do not cancel, or other pairings of the same stages do so clearly better."""
    if len(chains) < 2 or len({len(chain) for chain in chains}) > 1:
        return False
    if balance is None:
        return finding.knowledge == "staged"
    hinted = residual(balance, _rows(finding, chains))
    if hinted > UNRELATED:
        return True
    others = [residual(balance, _rows(finding, other)) for other in _shifted(chains)]
    return hinted > CONTRADICTED * min(others) + 0.01


def _shifted(chains: Chains) -> list[Chains]:
    """Other pairings: each stage shifted against the one before it."""
    count = len(chains)
    return [
        tuple(
            tuple(chains[(row + place * shift) % count][place] for place in range(len(chains[0])))
            for row in range(count)
        )
        for shift in range(1, min(count, SHIFTS + 1))
    ]


def _rows(finding: RailFinding, chains: Chains) -> list[list[int]]:
    place = {member: row for row, member in enumerate(finding.members)}
    return [[place[member] for member in chain] for chain in chains]


def _known(balance: FloatArray | None) -> FloatArray | None:
    """Intervals in which everybody's balance is known; None: too few to judge by."""
    if balance is None:
        return None
    known = balance[:, ~np.isnan(balance).any(axis=0)]
    return None if known.shape[1] < 2 * len(known) or is_lopsided(known) else known


def _inner(chains: Chains, finding: RailFinding) -> Chains:
    """The hinted chains of this rail."""
    members = set(finding.members)
    return tuple(chain for chain in chains if set(chain) <= members)
