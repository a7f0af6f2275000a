"""A part of the agent: asks a SONiC switch by its commands (over ssh, say) what its queues hold.

``prefix`` stands before every command (``("ssh", "admin@leaf-0")``). ``clock`` prints the switch's time in nanoseconds
before the others, so that samples carry both clocks. A switch that does not answer ``FAILURES`` times in a row is told
as ``switch_unreachable``; the way to its management, or the agent, may be at fault, hence a ``warning``. A command
that this release does not know, or that prints what is cut, leaves its columns out; if all fail, the part has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from collectors.commands import run
from collectors.events.devices import Devices
from collectors.events.notices import Notice, Subject
from collectors.events.standing import Standing
from collectors.events.telling import Teller
from collectors.observing import Now, Observed
from collectors.switches.columns import QueueRows, Told
from collectors.switches.counters_db import Storm
from collectors.switches.facts import SkewWatch, facts_of
from collectors.switches.readings import Reading
from collectors.switches.settings_db import TABLES, judge_settings, parse_table
from collectors.switches.storms import StormWatch
from collectors.switches.tables import (
    neighbours,
    pfc_counters,
    queue_counters,
    queue_watermarks,
    software_version,
    watchdog,
)

FAILURES = 3
SELDOM = 12
"""Version and settings are asked for once in so many times."""
Parser = Callable[[str], Iterable[Reading]]


class SonicCommands(Struct, frozen=True, kw_only=True):
    """What is run; None: not asked. ``lossless``: priorities that need ECN and PFC everywhere (empty: not checked)."""

    prefix: tuple[str, ...] = ()
    clock: tuple[str, ...] | None = ("date", "+%s%N")
    version: tuple[str, ...] | None = ("show", "version")
    queues: tuple[str, ...] | None = ("show", "queue", "counters")
    watermarks: tuple[str, ...] | None = ("show", "queue", "watermark", "unicast")
    pauses: tuple[str, ...] | None = ("show", "pfc", "counters")
    watchdog: tuple[str, ...] | None = ("show", "pfcwd", "stats")
    lldp: tuple[str, ...] | None = ("show", "lldp", "table")
    settings: tuple[str, ...] | None = ("sonic-cfggen", "-d", "--var-json", "{table}")
    lossless: frozenset[int] = frozenset()


class SonicSwitch:
    """Asks one switch."""

    def __init__(
        self,
        switch: str,
        devices: Callable[[], Devices],
        commands: SonicCommands,
        period_s: float = 5.0,
        timeout_s: float = 10.0,
    ) -> None:
        self.name, self.period_s = f"switch {switch}", period_s
        self._switch, self._commands, self._timeout_s = switch, commands, timeout_s
        self._rows, self._storms, self._skew = QueueRows(), StormWatch(switch), SkewWatch(switch)
        self._teller = Teller(f"switch/{switch}", devices)
        self._standing = Standing()
        self._software: str | None = None
        self._asked = self._failed = 0

    def collect(self, now: Now) -> Iterator[Observed]:
        """Asks once; what fails is told after ``FAILURES`` times, and raised else.

        Raises:
            OSError: the switch does not answer.
            ValueError: all that it says is no table.
        """
        try:
            told, notices = self._ask(now)
        except OSError as error:
            self._failed += 1
            if self._failed != FAILURES:
                raise
            yield from self._teller.tell([(unreachable(self._switch, str(error)), None)], now)
            return
        self._failed = 0
        columns = self._rows.take(told)
        if columns:
            yield from facts_of(self._switch, columns, self._software, now)
        yield from self._teller.tell(((notice, None) for notice in notices), now)

    def _ask(self, now: Now) -> tuple[list[Told], list[Notice]]:
        commands = self._commands
        seldom, self._asked = self._asked % SELDOM == 0, self._asked + 1
        if commands.version is not None and seldom:
            self._software = software_version(self._run(commands.version)) or self._software
        device_us = device_time(self._run(commands.clock)) if commands.clock is not None else None
        t_us, notices = self._skew.step(device_us, now.t_us)
        parsers: tuple[tuple[Sequence[str] | None, Parser], ...] = (
            (commands.queues, queue_counters),
            (commands.watermarks, queue_watermarks),
            (commands.pauses, pfc_counters),
        )
        readings: list[Reading] = []
        errors: list[OSError | ValueError] = []
        for command, parse in parsers:
            try:
                readings += list(parse(self._run(command))) if command is not None else ()
            except (OSError, ValueError) as error:
                errors.append(error)
        if errors and not readings:
            raise errors[0]
        if commands.watchdog is not None:
            if commands.lldp is not None and seldom:
                self._storms.peers = self._peers(commands.lldp) or self._storms.peers
            notices += self._storms.step(self._watchdog(commands.watchdog))
        if commands.lossless and commands.settings is not None and seldom:
            notices += self._settings(commands.settings, now)
        return [Told(self._storms.believed(reading), t_us, now.t_us) for reading in readings], notices

    def _settings(self, command: Sequence[str], now: Now) -> list[Notice]:
        """What is wrong with congestion control; nothing new, if the switch does not tell."""
        try:
            texts = [self._run([word.replace("{table}", name) for word in command]) for name in TABLES]
            queues, profiles, maps = (parse_table(text) for text in texts)
        except (OSError, ValueError):
            return []
        wrong = judge_settings(self._switch, (queues, profiles, maps), self._commands.lossless)
        return self._standing.step(wrong, now)

    def _watchdog(self, command: Sequence[str]) -> Iterable[Storm]:
        try:
            return watchdog(self._run(command))
        except OSError:
            return ()

    def _peers(self, command: Sequence[str]) -> dict[str, str]:
        """Neighbours by LLDP; none, if the switch does not tell."""
        try:
            return neighbours(self._run(command))
        except OSError:
            return {}

    def _run(self, command: Sequence[str]) -> str:
        return run((*self._commands.prefix, *command), self._timeout_s, 4_000_000).text


def device_time(text: str) -> int | None:
    """The switch's clock as ``date +%s%N`` prints it; None: that is no such number."""
    digits = text.strip()
    return int(digits) // 1_000 if digits.isascii() and digits.isdecimal() and 17 <= len(digits) <= 19 else None


def unreachable(switch: str, why: str) -> Notice:
    """A switch that does not answer the collector."""
    text = f"{switch} does not answer: {why}"
    return Notice(code="switch_unreachable", severity="warning", subject=Subject("switch", switch), text=text[:1_000])
