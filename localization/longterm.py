"""Has a pair grown slower over half an hour, too slowly for the faster tests? The paper's long-term test, with a floor.

ln RTT of single probes ~ N(mean, variance), in blocks of five minutes; the last six blocks are the window, and every
block that leaves it is learned by the reference, whose first fit takes six as well. With m, s the reference, a window
lies ``shift`` = its mean - m - common above it, where common >= 0 is the median shift of the pairs with as many hops
(at least ``CROWD`` of them): load that all share is no pair's drift. It is an anomaly when, for two blocks in a row,
 shift >= max(``drift_sigma`` s, least effect)       the effect-size floor: half an hour of probes makes any difference
                                                       significant, also one that nobody would call an anomaly
 shift >= ``SURE`` standard errors                    of six block means, by how block means were seen to vary
and the last block still lies half the floor above: what is over is not reported again while the window has it.
Re-estimation: the reference is a mean over at most ``MEMORY`` blocks (twelve hours), so it follows what is slower; it
learns nothing while the shift is above the floor or the pair has an open anomaly, later no block that was bad, and
begins anew when the pair moves.
A block with fewer than ``LEAST_SAMPLES`` samples, or a gap, begins the window anew. Cost: 1 us per pair and block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from localization.arrays import Flags, Floats, Ints, Singles, runs_by
from localization.baseline import hop_class
from localization.columns import PairSums
from localization.pairs import BLOCKS, PairColumns
from schemas.instants import SECOND_US

BLOCK_US = 300 * SECOND_US
LEAST_SAMPLES = 20
MEMORY = 144.0
SURE = 6.0
CROWD = 16
LEAST_SIGMA = 0.1
LEAST_ERROR = 0.005
BETWEEN_PRIOR = 6.0
BETWEEN_SHARE = 0.02
"""Before they were seen, block means are taken to vary by 0.02 of the variance within, worth six blocks."""


@dataclass(frozen=True, slots=True)
class LongWindows:
    """Closed blocks, columns: row of the pair, begin of the window's first bad block (us), mean ln RTT of the last
    block and of the window, mean of the reference with what is common, the floor of a shift (nan: no reference yet),
    the shift, the same in standard errors, and whether it alarms."""

    row: Ints
    begin_us: Ints
    block: Floats
    level: Floats
    usual: Floats
    floor: Floats
    shift: Floats
    score: Floats
    alarm: Flags


def follow_blocks(
    columns: PairColumns,
    stretches: Sequence[slice],
    sums: PairSums,
    frozen: Flags,
    rule: tuple[float, Floats],
    t_us: int,
) -> tuple[Ints, LongWindows]:
    """Closes the blocks that are over, then takes the second's samples in; returns positions in ``sums`` and blocks.

    ``stretches``: the rows of each job; ``frozen``: by row, pairs whose blocks are not learned; ``rule``:
    ``drift_sigma`` and the least effect (ln) by position in ``sums``.
    """
    number = (t_us - 1) // BLOCK_US
    begun = columns.long_sum[sums.row, 0] > 0.0
    over = np.flatnonzero((columns.long_block[sums.row] != number) & begun)
    row = sums.row[over]
    leaving, left = _push(columns, row, number)
    common = partial(_common_shift, columns, stretches, row, sums.job[over])
    closed = _judge(columns, row, (rule[0], rule[1][over], common), frozen[row])
    clean = leaving[:, 1] - closed.usual < closed.floor
    learns = left & ~frozen[row] & ~(closed.shift >= closed.floor) & (clean | np.isnan(closed.floor))
    _learn(columns, row[learns], leaving[learns].astype(np.float64))
    heard = sums.samples > 0
    own, many = sums.row[heard], sums.samples[heard]
    columns.long_block[own] = number
    columns.long_sum[own, 0] += many
    columns.long_sum[own, 1] += many * sums.log_rtt[heard]
    columns.long_sum[own, 2] += sums.log_square[heard]
    return over, closed


def _push(columns: PairColumns, row: Ints, number: int) -> tuple[Singles, Flags]:
    """Puts the filled block into the ring; returns the block that leaves it, and whether one does."""
    count, total, square = columns.long_sum[row].T
    mean = total / count
    place = columns.long_block[row] % BLOCKS
    leaving, left = columns.long_past[row, place], columns.long_known[row] == BLOCKS
    columns.long_past[row, place] = np.stack([count, mean, np.maximum(square / count - mean**2, 0.0)], axis=1)
    whole = (count >= LEAST_SAMPLES) & (columns.long_block[row] == number - 1)
    columns.long_known[row] = np.where(whole, np.minimum(columns.long_known[row] + 1, BLOCKS), 0)
    columns.long_sum[row] = 0.0
    return leaving, left & whole


def _judge(
    columns: PairColumns, row: Ints, rule: tuple[float, Floats, Callable[[], Floats]], frozen: Flags
) -> LongWindows:
    past, number = columns.long_past[row].astype(np.float64), columns.long_block[row]
    level = past[:, :, 1].mean(axis=1)
    blocks, mean, variance, between = columns.long_reference[row].T
    ready = (columns.long_known[row] == BLOCKS) & (blocks >= BLOCKS)
    columns.long_shift[row] = np.where(ready, level - mean, np.nan)
    usual = mean + rule[2]()
    shift = level - usual
    floor = np.where(ready, np.maximum(rule[0] * np.maximum(np.sqrt(variance), LEAST_SIGMA), rule[1]), np.nan)
    likely = (blocks * between + BETWEEN_PRIOR * BETWEEN_SHARE * variance) / (blocks + BETWEEN_PRIOR)
    error = np.sqrt(np.maximum(likely, LEAST_ERROR**2) * (1.0 / BLOCKS + 1.0 / np.maximum(blocks, 1.0)))
    score = np.where(ready, shift / error, 0.0)
    block = past[np.arange(len(row)), number % BLOCKS, 1]
    bad = ready & (shift >= floor) & (score >= SURE) & (block - usual >= floor / 2.0) & ~frozen
    alarm = bad & columns.long_doubt[row]
    columns.long_doubt[row] = bad
    begin_us = _first_bad(past[:, :, 1], number, usual + shift / 2.0)
    return LongWindows(row, begin_us, block, level, usual, floor, shift, score, alarm)


def _common_shift(columns: PairColumns, stretches: Sequence[slice], row: Ints, job: Ints) -> Floats:
    """Median shift of the job's pairs with as many hops as each of ``row``, if a crowd and slower, else 0."""
    common = np.zeros(len(row))
    for number, run in runs_by(job):
        own = stretches[number]
        recent = columns.long_block[own] >= columns.long_block[row[run]].max()
        judged = recent & (columns.long_known[own] == BLOCKS) & ~np.isnan(columns.long_shift[own])
        judged &= columns.long_reference[own, 0] >= BLOCKS
        hops, asked = hop_class(columns.hops[own]), hop_class(columns.hops[row[run]])
        for each in np.unique(asked).tolist():
            crowd = columns.long_shift[own][judged & (hops == each)]
            if len(crowd) >= CROWD:
                common[run][asked == each] = max(0.0, float(np.median(crowd)))
    return common


def _first_bad(means: Floats, number: Ints, bar: Floats) -> Ints:
    """Begin (us) of the first of the six blocks that end with ``number`` whose mean is above ``bar``."""
    ago = np.arange(BLOCKS - 1, -1, -1)
    in_order = np.take_along_axis(means, (number[:, None] - ago[None, :]) % BLOCKS, axis=1)
    first = np.argmax(in_order >= bar[:, None], axis=1)
    return np.asarray((number - (BLOCKS - 1) + first) * BLOCK_US, np.int64)


def _learn(columns: PairColumns, row: Ints, block: Floats) -> None:
    blocks, mean, variance, between = columns.long_reference[row].T
    count = np.minimum(blocks + 1.0, MEMORY)
    apart = block[:, 1] - mean
    first = blocks == 0.0
    spread = np.where(first, 0.0, between * (1.0 - 1.0 / count) + apart**2 * (count - 1.0) / count**2)
    columns.long_reference[row] = np.stack(
        [count, mean + apart / count, variance + (block[:, 2] - variance) / count, spread], axis=1
    )
