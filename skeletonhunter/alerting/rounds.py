"""How do all targets get their alerts, and how new settings? One loop each, in rounds that SIGHUP begins anew.

A round is a loop per target. When the settings are read again (``ask``) and can be used, the loops end, after what is
under way is told or given up, and the next round begins with the new settings. That is what a restart of the program
does, and its promises hold: what was told is known from Kafka, nothing is lost, offsets move after the telling.
Settings that can't be used change nothing, and one sentence in the log says why. Metrics count from the beginning of
the round.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import astuple

from skeletonhunter.alerting.targets import Target, TargetError
from skeletonhunter.settings import Settings, SettingsError
from skeletonhunter.sinks.alerts import AlertCounts, AlertLoop
from skeletonhunter.sinks.running import listen_to

POLL_S = 0.2

Wanted = tuple[Settings, list[Target]]
Told = list[tuple[Target, AlertCounts]]
_log = logging.getLogger(__name__)


class NobodyError(TargetError):
    """There is nobody to tell."""


class AlertRounds:
    """Tells all targets until ``stop`` is set. ``read`` reads the settings; ``loops`` are those of this round."""

    def __init__(self, read: Callable[[], Wanted], stop: threading.Event) -> None:
        self.loops: list[AlertLoop] = []
        self._read, self._stop = read, stop
        self._asked = threading.Event()
        self._told: dict[str, tuple[Target, AlertCounts]] = {}

    def ask(self, *_: object) -> None:
        """Reads the settings again, soon; may be called by a signal."""
        self._asked.set()

    def run(self, first: Wanted) -> Told:
        """What each target was told, in all rounds.

        Raises:
            TooManyDeadLettersError, MissingTopicError, KafkaException: from a loop; the others end too.
        """
        wanted: Wanted = first
        while (again := self._round(wanted)) is not None:
            _take_up(again, wanted)
            wanted = again
        return list(self._told.values())

    def _round(self, wanted: Wanted) -> Wanted | None:
        """Runs the loops; the next settings, None at the end."""
        halt = threading.Event()
        settings, targets = wanted
        self.loops[:] = [AlertLoop(target, settings, halt) for target in targets]
        with ThreadPoolExecutor(len(targets)) as threads:
            running = [(loop, threads.submit(loop.run)) for loop in self.loops]
            try:
                again = self._watch([future for _, future in running])
            finally:
                halt.set()
        for loop, future in running:
            self._count(loop.target, future.result())
        return again

    def _watch(self, futures: list[Future[AlertCounts]]) -> Wanted | None:
        """Until the program is told to stop, a loop ends, or there are new settings, which it returns."""
        while not self._stop.is_set():
            if wait(futures, POLL_S, FIRST_EXCEPTION).done:
                break
            if self._asked.is_set():
                self._asked.clear()
                try:
                    return self._read()
                except (SettingsError, TargetError) as error:
                    _log.error("the settings stay as they are, because the new ones can't be used: %s", error)
        return None

    def _count(self, target: Target, counts: AlertCounts) -> None:
        _, before = self._told.get(target.name, (target, AlertCounts()))
        summed = AlertCounts(*(a + b for a, b in zip(astuple(before), astuple(counts), strict=True)))
        self._told[target.name] = target, summed


def _take_up(wanted: Wanted, old: Wanted) -> None:
    """The loops of the old settings have ended."""
    settings, targets = wanted
    listen_to(settings)
    _log.info("the settings are read again; told are: %s", ", ".join(target.name for target in targets))
    if settings.metrics != old[0].metrics:
        _log.warning("metrics.address: this needs a restart, and stays as it is")
