"""What stands between the agent and parts that know less than they need? Small translators, told beside their parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from collectors.events.devices import Devices
from collectors.observing import SelfReport
from collectors.rnic.placement import Placement
from schemas.diagnosis import Anomaly
from schemas.requests import EvidenceRequest

DEVICES_S = 30.0
LEAST_S = 5.0


class Demandable(Protocol):
    """Something that can be asked for a whole answer out of turn."""

    def demand(self) -> None:
        """The next answer is to be whole."""


class DemandOnAnomaly:
    """Asks for flow tables when a pair with an endpoint of this host is ill."""

    def __init__(self, asked: Demandable, placements: Callable[[], Sequence[Placement]]) -> None:
        self._asked, self._placements = asked, placements

    def take_anomaly(self, anomaly: Anomaly) -> None:
        """See ``AnomalyReader``."""
        if {anomaly.src, anomaly.dst} & {each.endpoint for each in self._placements()}:
            self._asked.demand()


class DemandOnRequest:
    """Asks for flow tables when localization asks this host for them, at most once in ``LEAST_S``."""

    def __init__(self, asked: Demandable, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._asked, self._clock_s = asked, clock_s
        self._free_s = 0.0

    def take_request(self, request: EvidenceRequest) -> None:
        """See ``RequestReader``."""
        now_s = self._clock_s()
        if request.kind == "flow-tables" and now_s >= self._free_s:
            self._free_s = now_s + LEAST_S
            self._asked.demand()


class Watching(Protocol):
    """Something that watches RNICs and knows which GID each endpoint uses."""

    @property
    def gids(self) -> dict[str, str]:
        """GID by endpoint."""

    @property
    def watches(self) -> tuple[str, ...]:
        """Component ids of the RNICs that can be read."""


class StateReport:
    """Puts GIDs in use, and which RNICs are watched, into the health message."""

    def __init__(self, source: Watching) -> None:
        self._source = source

    def report(self) -> SelfReport:
        """See ``SelfReporting``."""
        return SelfReport(gids=self._source.gids, watches=self._source.watches)


class RememberedDevices:
    """What sysfs says of the host's devices, read again after ``DEVICES_S``: a line of a log is no reason to look."""

    def __init__(self, read: Callable[[], Devices]) -> None:
        self._read = read
        self._known: Devices | None = None
        self._until_s = 0.0

    def __call__(self) -> Devices:
        """The devices."""
        now_s = time.monotonic()
        if self._known is None or now_s >= self._until_s:
            self._known, self._until_s = self._read(), now_s + DEVICES_S
        return self._known
