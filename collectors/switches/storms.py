"""Is a PFC storm on? What the switch's watchdog counts, as events ``pfc_storm`` of the port that received the pauses.

A storm is told when the watchdog says so for the first time, and each time that its count of detected storms grows,
also when it is over again by then; its end when the count of restored ones catches up. Totals of a first look prove
nothing but a storm that is on. A count that went down was cleared: the next one is compared with it. The storm comes
from what is attached to that port (field case S03), so that is the device. While a storm is on, the watchdog may ignore
pauses: a count of them that stands still then is null, as no pauses would look like health.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from collectors.events.notices import Notice, Severity, Subject
from collectors.switches.counters_db import Storm
from collectors.switches.readings import Reading


class StormWatch:
    """Follows the watchdog of one switch. Memory: two entries a queue."""

    def __init__(self, switch: str) -> None:
        self._switch = switch
        self.peers: dict[str, str] = {}
        """What is attached to each port, where that is known; the storm comes from there."""
        self._known: dict[tuple[str, int | str], Storm] = {}
        self._paused: dict[tuple[str, int | str], int | None] = {}

    def step(self, storms: Iterable[Storm]) -> Iterator[Notice]:
        """What has changed."""
        for storm in storms:
            key = storm.port, storm.queue
            before, self._known[key] = self._known.get(key), storm
            new = _grown(before.detected if before else None, storm.detected)
            began = storm.stormed is True and (before is None or before.stormed is not True)
            if new or began:
                times = f"{new} times since the last look" if new > 1 else "now" if storm.stormed else "and is over"
                yield self._notice(storm, "error", f"PFC storm on {storm.port} queue {storm.queue} {times}", new)
            elif before is not None and before.stormed and storm.stormed is False:
                yield self._notice(storm, "info", f"PFC storm on {storm.port} queue {storm.queue} is over", 0)

    def believed(self, reading: Reading) -> Reading:
        """A reading; a count of received pauses that stands still while its queue is stormed is not known."""
        if reading.column != "pfc_rx":
            return reading
        key = reading.port, reading.queue
        storm, before = self._known.get(key), self._paused.get(key)
        self._paused[key] = reading.value
        still = storm is not None and storm.stormed is True and reading.value == before
        return replace(reading, value=None) if still else reading

    def _notice(self, storm: Storm, severity: Severity, text: str, new: int) -> Notice:
        peer = self.peers.get(storm.port)
        if peer is not None:
            text = f"{text}; from {peer}, which is attached to it"
        values = {
            "queue": storm.queue,
            "detected": storm.detected,
            "restored": storm.restored,
            "new": new,
            "source": "peer",
            "peer": peer,
        }
        return Notice(
            code="pfc_storm",
            severity=severity,
            subject=Subject("port", f"{self._switch}/{storm.port}"),
            text=text,
            values={name: value for name, value in values.items() if value is not None},
        )


def _grown(before: int | None, now: int | None) -> int:
    return now - before if before is not None and now is not None and now > before else 0
