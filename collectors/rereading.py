"""What happens when an agent is told to read its settings again? SIGHUP: limits change at once, the rest at a restart.

The settings are read by the program's own command in a process of its own, in the slow lane: reading them here would
keep its memory for ever. A file that can't be used changes nothing and says so in one sentence. What can change while
the agent runs is named in ``LIVE``; of anything else that has changed it is said that it needs a restart.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from queue import Full

import msgspec
from msgspec.structs import replace

from collectors.agent_settings import AgentSettings
from collectors.slow_lane import SlowLane

log = logging.getLogger(__name__)

LIVE = frozenset(
    f"{section}.{field}"
    for section, fields in {
        "agent": ("log_level", "heartbeat_s", "cpu_percent"),
        "probing": (
            "max_pps", "max_pps_total", "train_packets", "trace_s", "report_s", "answers_per_s", "answers_per_asker"
        ),
    }.items()
    for field in fields
)  # fmt: skip
"""What can change while the agent runs."""

KEPT = "the settings stay as they are, because the new ones can't be used: %s"
PATIENCE_S = 60.0
HAND_OVER = "--hand-over"
"""The option of the command that writes settings to a descriptor."""


class Rereading:
    """Reads settings again by ``command`` and hands those that can change to ``apply``."""

    def __init__(
        self, settings: AgentSettings, command: Sequence[str], lane: SlowLane, apply: Callable[[AgentSettings], None]
    ) -> None:
        self._settings, self._command, self._lane, self._apply = settings, tuple(command), lane, apply

    def ask(self) -> None:
        """Reads them, soon."""
        try:
            self._lane.submit(lambda: read_by(self._command), self._take, lambda error: log.error(KEPT, error))
        except Full:
            log.error(KEPT, "too much is waiting in the slow lane")

    def _take(self, wanted: AgentSettings) -> None:
        changed = list(changes(self._settings, wanted))
        live = [name for name in changed if name in LIVE]
        others = [name for name in changed if name not in LIVE]
        if live:
            self._settings = merged(self._settings, wanted, live)
            self._apply(self._settings)
        log.info("the settings are read again; changed: %s", ", ".join(live) or "nothing")
        if others:
            log.warning("%s: this needs a restart of the agent, and stays as it is", ", ".join(others))


def read_by(command: Sequence[str]) -> AgentSettings:
    """The settings as the command reads them.

    Raises:
        OSError: they can't be used; the text says why.
    """
    import subprocess

    memory = os.memfd_create("agent-settings", 0)
    try:
        asked = [*command, HAND_OVER, str(memory)]
        done = subprocess.run(
            asked, pass_fds=(memory,), capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        if done.returncode:
            raise OSError(" ".join(done.stderr.split()) or f"the command ended with code {done.returncode}")
        os.lseek(memory, 0, os.SEEK_SET)
        with open(os.dup(memory), "rb") as handed:  # noqa: PTH123 - a descriptor has no path
            return msgspec.json.decode(handed.read(), type=AgentSettings)
    except (subprocess.TimeoutExpired, msgspec.MsgspecError) as error:
        raise OSError(str(error)) from error
    finally:
        os.close(memory)


def hand_over(settings: AgentSettings, descriptor: int) -> None:
    """Writes settings where ``read_by`` reads them."""
    os.write(descriptor, msgspec.json.encode(settings))


def changes(old: AgentSettings, new: AgentSettings) -> Iterator[str]:
    """Names of the fields that differ, ``section.field``."""
    for section in old.__struct_fields__:
        was, now = getattr(old, section), getattr(new, section)
        for field in was.__struct_fields__:
            if getattr(was, field) != getattr(now, field):
                yield f"{section}.{field}"


def merged(old: AgentSettings, new: AgentSettings, names: Sequence[str]) -> AgentSettings:
    """The old settings with those fields of the new ones."""
    for name in names:
        section, field = name.split(".")
        part = replace(getattr(old, section), **{field: getattr(getattr(new, section), field)})
        old = replace(old, **{section: part})
    return old
