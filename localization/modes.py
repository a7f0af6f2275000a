"""In which ways can a component lose packets? Steadily, each packet with one chance, or erratically, some trains at
will.
 A train of n packets of which k were lost misfits a loss p by its deviance, n KL(k/n || p) nats, but by no more
than ``MOST_NATS``: packets of one train are not independent, and e^-10 is about how often one is lost, or gets
through, for a reason that no model knows.
 Steady, with loss q: trains that cross the component lose p + q - pq; what they gain is the misfit that goes away.
Erratic, hitting a share h of trains (a port that flaps, a buffer that overflows now and then): a lossy train that
was hit misfits no more, at ln(1/h) nats and the price of a free parameter (``freedom``), without which any fault that
loses steadily would look like two; every other train costs ln(1/(1-h)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localization.arrays import Flags, Floats, Ints

MOST_LOSS = 1.0 - 1e-7
"""A fault that lets nothing pass; not quite 1, so that a train that passes is a number and not infinite."""
MOST_NATS = 10.0
ERRATIC_NATS = 3.0
AT_ONCE = 1024
"""Trains that are looked at together: what is worked out on the way stays in the cache of the processor."""


@dataclass(frozen=True, slots=True)
class Modes:
    """Hypotheses: steady losses ``loss``, then erratic shares of trains ``hit``."""

    loss: Floats
    hit: Floats

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.loss) + len(self.hit)

    @property
    def prior(self) -> Floats:
        """Nats by which each hypothesis is rarer than a steady loss."""
        return np.append(np.zeros(len(self.loss)), np.full(len(self.hit), -ERRATIC_NATS))

    @property
    def steady(self) -> Modes:
        """Only the steady ones."""
        return Modes(self.loss, self.hit[:0])

    def hit_of(self, at: int) -> float:
        """Share of trains that the hypothesis at a place hits, 1 for a steady one."""
        return float(self.hit[at - len(self.loss)]) if at >= len(self.loss) else 1.0

    def best(self, nats: Floats) -> list[int]:
        """The best steady and the best erratic hypothesis, where there are any."""
        steady, erratic = nats[: len(self.loss)], nats[len(self.loss) :]
        found = [int(steady.argmax())] if len(steady) else []
        return [*found, len(steady) + int(erratic.argmax())] if len(erratic) else found

    def at_least(self, loss: float) -> Flags:
        """Places of losses of at least ``loss``, and of all erratic ones."""
        return np.append(self.loss >= loss, np.ones(len(self.hit), np.bool_))

    def every(self, step: int) -> Flags:
        """Places of every so manieth steady and erratic hypothesis, of the greatest losses and shares in any case."""
        places = [np.arange(count)[::-1] % step == 0 for count in (len(self.loss), len(self.hit))]
        return np.concatenate(places)

    def only(self, chosen: Flags) -> Modes:
        """Some of the hypotheses."""
        return Modes(self.loss[chosen[: len(self.loss)]], self.hit[chosen[len(self.loss) :]])

    def against(self, survived: Ints) -> Floats:
        """What trains without a loss say for each hypothesis (never positive), trains x hypotheses, nats."""
        steady = np.maximum(survived[:, None] * np.log1p(-self.loss)[None, :], -MOST_NATS)
        erratic = np.broadcast_to(np.log1p(-self.hit)[None, :], (len(survived), len(self.hit)))
        return np.concatenate([steady, erratic], axis=1)

    def say(self, lost: Floats, survived: Floats, p: Floats) -> Floats:
        """What lossy trains say for each hypothesis on top of a loss ``p``, trains x hypotheses, nats."""
        said = np.empty((len(lost), self.size))
        for low in range(0, len(lost), AT_ONCE):
            part = slice(low, low + AT_ONCE)
            self._say(lost[part], survived[part], p[part], said[part])
        return said

    def _say(self, lost: Floats, survived: Floats, p: Floats, into: Floats) -> None:
        """The misfit that goes away. With a steady loss q packets survive with (1 - p)(1 - q); its logarithm is a
        sum, so one logarithm a train and hypothesis is enough.
        """
        steady, share = len(self.loss), lost / (lost + survived)
        before = misfit(lost, survived, p)
        passed = survived * (np.log1p(-np.minimum(share, MOST_LOSS)) - np.log1p(-p)) + lost * np.log(share)
        p_then = 1.0 - (1.0 - p)[:, None] * (1.0 - self.loss)
        then = np.log(p_then, out=p_then)
        then *= -lost[:, None]
        then -= survived[:, None] * np.log1p(-self.loss)
        then += passed[:, None]
        np.subtract(before[:, None], np.minimum(then, MOST_NATS, out=then), out=into[:, :steady])
        free = before - freedom(lost + survived)
        np.maximum(free[:, None] + np.log(self.hit), np.log1p(-self.hit), out=into[:, steady:])


def freedom(packets: Floats) -> Floats:
    """What it costs to let a train lose whatever share it likes, nats: that of the Krichevsky-Trofimov estimator."""
    return np.asarray(np.maximum(0.5 * np.log(np.pi / 2.0 * packets), 0.0))


def misfit(lost: Floats, survived: Floats, p: Floats) -> Floats:
    """How badly a loss of ``p`` fits lossy trains, nats, at most ``MOST_NATS``."""
    share = lost / (lost + survived)
    kept = np.where(survived > 0, survived * (np.log1p(-np.minimum(share, MOST_LOSS)) - np.log1p(-p)), 0.0)
    return np.asarray(np.minimum(lost * np.log(share / p) + kept, MOST_NATS))


def most_more(lost: Floats, survived: Floats, p: tuple[Floats, Floats]) -> Floats:
    """Nats by which lossy trains can at most say more for any hypothesis if another loss ``p`` is explained, never < 0.

    ``p``: (before, now). What they say is the misfit of ``p`` less that of ``p`` and the hypothesis together. The first
    is known. The second falls by no more than it would without a hypothesis, of lost packets (p rises, and less so on
    top of a loss) and of those that survived (p falls) each by itself; and a misfit is never more than ``MOST_NATS``.
    """
    before, now = p
    easier = lost * np.log(np.maximum(now / before, 1.0)) + survived * (np.log1p(-now) - np.log1p(-before))
    worse = misfit(lost, survived, now) - misfit(lost, survived, before)
    return np.asarray(np.maximum(worse + np.clip(easier, 0.0, MOST_NATS), 0.0))


LOSSES = np.append(np.append(5e-4 * 1.6 ** np.arange(16), 0.8), [0.97, MOST_LOSS])
"""Steps of 1.6, which cost at most 0.03 nats per lost packet."""
MODES = Modes(LOSSES, np.array([0.05, 0.1, 0.2, 0.4, 0.7]))
