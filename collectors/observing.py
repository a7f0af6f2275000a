"""What does a part of the agent give, and how is it asked? Facts without an envelope, and two ways to get them.

A *collector* is asked every ``period_s`` seconds. A *listener* is asked when its file descriptor has something to read.
Both return facts; the agent alone adds the envelope (producer, sequence number, clock, fabric), so that no part can
get provenance wrong. A part that raises ``OSError`` or ``ValueError`` has failed this time: the agent counts it, says
so in the log, and asks again later, at growing intervals; the other parts do not notice.

Time comes in as ``Now``, so every part runs in tests without waiting. What a part may be told or asked beside that it
says by having the method (``MapReader``, ``PlanFollower``, ``Saver`` and so on, below); the agent looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from msgspec import Struct

from schemas.diagnosis import Anomaly
from schemas.maps import EndpointMap, FabricMap
from schemas.probing import ProbePlan
from schemas.requests import EvidenceRequest

if TYPE_CHECKING:
    from collectors.probing.settings import ProbingSettings


class Now(Struct, frozen=True):
    """One moment on two clocks: ``t_us`` since the Unix epoch by the host's clock; ``mono_us`` never steps back."""

    t_us: int
    mono_us: int


class Observed(Struct, frozen=True):
    """A fact for a topic: the fields of its message beside the envelope.

    ``stream`` names the producer: ``agent:<agent>/<stream>``, one for each topic (and container). ``t_us`` is the
    end of what the fact covers. ``fields`` are those of the topic's value type, ``job`` and ``tenant`` among them; its
    key follows from them.
    """

    topic: str
    stream: str
    t_us: int
    fields: dict[str, Any]


@runtime_checkable
class Collector(Protocol):
    """A part of the agent that is asked at intervals."""

    @property
    def name(self) -> str:
        """What the log and the health message call it."""

    @property
    def period_s(self) -> float:
        """Seconds between two readings; the agent may ask less often when it has to save."""

    def collect(self, now: Now) -> Iterable[Observed]:
        """Read the world once.

        Raises:
            OSError: the device or file is not there or not readable.
            ValueError: it gave something that can't be understood.
        """


@runtime_checkable
class Listener(Protocol):
    """A part of the agent that is told of things: a socket, the kernel log."""

    @property
    def name(self) -> str:
        """What the log and the health message call it."""

    def fileno(self) -> int:
        """What to wait for."""

    def receive(self, now: Now) -> Iterable[Observed]:
        """Take what is there, without waiting.

        Raises:
            OSError: the source is gone.
        """


@runtime_checkable
class MapReader(Protocol):
    """A part that wants to know which endpoints are on this host: told each map of a job that has some."""

    def take_map(self, endpoint_map: EndpointMap) -> None:
        """A new map, or a newer version; ``state`` ``ended``: the job is over."""


@runtime_checkable
class PlanFollower(Protocol):
    """A part that carries out probe plans: told each plan of a job that has endpoints on this host."""

    def take_plan(self, plan: ProbePlan) -> None:
        """A new plan, or a newer version."""


@runtime_checkable
class FabricReader(Protocol):
    """A part that wants the map of its fabric."""

    def take_fabric(self, fabric: FabricMap) -> None:
        """A new map."""


@runtime_checkable
class AnomalyReader(Protocol):
    """A part that wants to know when a pair of its fabric is found ill, or well again."""

    def take_anomaly(self, anomaly: Anomaly) -> None:
        """It was found just now."""


@runtime_checkable
class RequestReader(Protocol):
    """A part that can bring evidence that localization asks for: told each request to this host that holds still."""

    def take_request(self, request: EvidenceRequest) -> None:
        """It may answer, within its own limits."""


@runtime_checkable
class Saver(Protocol):
    """A part that can do with less processor time in a better way than being asked less often."""

    def save(self, factor: int) -> None:
        """Use about one ``factor``-th of the usual; 1 = as usual. Never nothing."""


@runtime_checkable
class LimitsReader(Protocol):
    """A part whose limits may change while it runs."""

    def take_limits(self, settings: ProbingSettings) -> None:
        """Keep within these from now on."""


@runtime_checkable
class SelfReporting(Protocol):
    """A part that has something to say in the health message."""

    def report(self) -> SelfReport:
        """What it has to say now."""


class SelfReport(Struct, frozen=True):
    """For the health message: endpoints in the part's care, GIDs in use, the plan followed, facts it had to drop.

    ``watches``: component ids whose troubles the part would report, as it can read them now; None: it watches none.
    """

    covers: tuple[str, ...] = ()
    gids: dict[str, str] = {}
    plan_version: int | None = None
    dropped: int = 0
    watches: tuple[str, ...] | None = None


@runtime_checkable
class Closing(Protocol):
    """A part that has something to give back, or last facts to tell, when the agent stops."""

    def close(self, now: Now) -> Iterable[Observed]:
        """Gives back what it holds; what it returns is published before the agent ends."""
