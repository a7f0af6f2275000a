"""Two plain localizers to stand beside ours on the same trains: the paper's vote, and 007 with a chosen threshold.

Both look at every train after the fault began, with its true path and nothing else: no queue, no flow table, no time,
no background. That they are told when to look flatters them; nobody tells our engines.

- ``vote``: Algorithm 1 of the paper for the underlay. Each pair that lost anything votes once for each link of its
  paths; the links with most votes are blamed, but one vote proves nothing.
- ``votes_of_007``: B. Arzani et al., "007: Democratically Finding the Cause of Packet Drops", NSDI 2018. Each lost
  packet gives 1/h of a vote to each of the h links of its path. The link with most votes is blamed as long as it has at
  least a share of the votes; then the packets that crossed it are explained, and their votes taken back. Of what the
  paper leaves open (a vote a flow or a packet; a share of all votes or of those left) this did best on the cases.

Cost: O(lossy trains x links) a blamed link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

THRESHOLDS_007 = (0.003, 0.004, 0.005, 0.006, 0.007, 0.0085, 0.01, 0.011, 0.012, 0.014, 0.016, 0.02, 0.03, 0.05)
"""Shares of votes among which the best is chosen; the authors give 0.01."""


class LossyTrain(NamedTuple):
    """A train that lost packets: its pair, the links that it crossed, in order, and how many it lost."""

    src: str
    dst: str
    path: tuple[str, ...]
    lost: int = 1


def vote(trains: Iterable[LossyTrain]) -> list[str]:
    """The links with most votes of pairs that lost anything, as component ids; none if nobody has two votes."""
    ballots = {(train.src, train.dst, link) for train in trains for link in train.path}
    votes = Counter(link for _, _, link in ballots)
    most = max(votes.values(), default=0)
    return [f"link:{link}" for link in sorted(votes) if votes[link] == most and most > 1]


def votes_of_007(trains: Sequence[LossyTrain], threshold: float) -> list[str]:
    """The links that 007 blames, in the order in which it does; ``threshold``: share of the votes that a blame needs.

    Raises:
        ValueError: the threshold is no share above 0.
    """
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"a threshold is a share above 0 and at most 1, got {threshold}")
    left = [train for train in trains if train.path]
    blamed: list[str] = []
    while left:
        votes: dict[str, float] = {}
        for train in left:
            for link in train.path:
                votes[link] = votes.get(link, 0.0) + train.lost / len(train.path)
        best = min(votes, key=lambda link: (-votes[link], link))
        if votes[best] < threshold * sum(train.lost for train in left):
            break
        blamed.append(f"link:{best}")
        left = [train for train in left if best not in train.path]
    return blamed
