"""No tick came for a while: may time go on? Not while agents still send what they kept meanwhile. Pure.

An agent sends what it measured in order, also what it had to keep while Kafka was away, and says once in a while how it
is doing. So its newest heartbeat tells how far it has come: it has *caught up* when that was made after time began to
wait. Time waits

- for agents that have not caught up but move, because what they kept would be late otherwise;
- for agents that do not move for ``SETTLE_S``, in which they can connect; for longer only if they are more than half of
  all, since so many have not died at once. One dead agent does not stop time;
- for ``CALM_S`` after the last one caught up: topics of one agent come a little apart;
- never longer than ``SETTLE_S`` and the gap itself, of which ``MOST_S`` count: what was measured in a minute is sent in
  less.

A leader that was only started again waits like that too, since it can't tell; with heartbeats every 5 s it is 7 s.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec import Struct

SETTLE_S = 10.0
CALM_S = 2.0
MOST_S = 300.0
MOST_SILENT = 0.5
"""Of all agents: so many may have died while nothing was heard of them; if more do not move they have not connected."""


class BeatClock(Struct, frozen=True):
    """Of a heartbeat's ``clock``, what is needed here."""

    offset_us: float


class Beat(Struct, frozen=True):
    """Of a message on ``agent-health``, what is needed here."""

    fabric: str
    agent: str
    state: str
    t_us: int
    clock: BeatClock

    @property
    def made_us(self) -> float:
        """When it was made, by the reference that the agent's clock follows."""
        return self.t_us - self.clock.offset_us


@dataclass(slots=True)
class _Agent:
    newest_us: float
    moves: bool = False


@dataclass(slots=True)
class Settling:
    """One wait. ``gap_s``: for how long there was no tick; ``since_us``, ``since_s``: when Kafka answered again.

    ``blind``: heartbeats can't be read now; if that lasts time waits for ``SETTLE_S``.
    """

    gap_s: float
    since_us: int
    since_s: float
    blind: bool = False
    _agents: dict[tuple[str, str], _Agent] = field(default_factory=dict)
    _looked: bool = False
    _calm_s: float | None = None

    @property
    def most_s(self) -> float:
        """How long time waits at most."""
        return SETTLE_S + min(self.gap_s, MOST_S)

    def hear(self, beats: Iterable[Beat]) -> None:
        """Heartbeats that have come, in their order."""
        for beat in beats:
            name = beat.fabric, beat.agent
            known = self._agents.get(name)
            if beat.state == "stopping":
                self._agents.pop(name, None)
            elif known is None:
                self._agents[name] = _Agent(beat.made_us, moves=self._looked)
            elif beat.made_us > known.newest_us:
                known.newest_us, known.moves = beat.made_us, self._looked

    @property
    def agents(self) -> int:
        """How many agents were heard."""
        return len(self._agents)

    def may_go_on(self, now_s: float, has_all: bool) -> bool:
        """Whether time may go on; asked again and again. ``has_all``: all heartbeats that are there were heard."""
        waited_s = now_s - self.since_s
        if waited_s >= self.most_s:
            return True
        if not has_all:
            return False
        self._looked = True
        if self.blind or not self._agents:
            return waited_s >= SETTLE_S
        behind, silent = self.behind()
        if behind > silent or (silent and (waited_s < SETTLE_S or silent > MOST_SILENT * len(self._agents))):
            self._calm_s = None
            return False
        if self._calm_s is None:
            self._calm_s = now_s
        return now_s - self._calm_s >= CALM_S

    def behind(self) -> tuple[int, int]:
        """How many agents have not caught up, and of how many of these nothing came since time began to wait."""
        late = [agent for agent in self._agents.values() if agent.newest_us < self.since_us]
        return len(late), sum(not agent.moves for agent in late)
