"""A part of the agent: listens to the container runtime, by a command that prints events as they come.

Only containers of the endpoint map are told, by any name that the runtime has for them (``aliases``: runtime's name ->
container). The command runs as long as the agent; if it ends, the part has failed and starts it anew when asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from collectors.events.command_lines import CommandLines
from collectors.events.containers import ContainerEvent, EventLines, notice_of, parse_container_event
from collectors.events.devices import Devices
from collectors.events.notices import Notice
from collectors.events.telling import Teller
from collectors.observing import Now, Observed
from schemas.maps import EndpointMap

DOCKER = ("docker", "events", "--filter", "type=container", "--format", "{{json .}}")
CONTAINERD = ("ctr", "--namespace", "k8s.io", "events")
CRI = ("crictl", "events", "--output", "json")


class ContainerRuntime:
    """Listens to one runtime."""

    name = "container-runtime"

    def __init__(
        self, devices: Callable[[], Devices], command: Sequence[str], aliases: Mapping[str, str] | None = None
    ) -> None:
        self._lines, self._aliases = CommandLines(command), dict(aliases or {})
        self._events = EventLines()
        self._containers: dict[str, frozenset[str]] = {}
        self._teller = Teller("containers", devices)

    def take_map(self, endpoint_map: EndpointMap) -> None:
        """Containers of a job; those of an ended one are forgotten."""
        self._containers.pop(endpoint_map.job, None)
        if endpoint_map.state != "ended":
            self._containers[endpoint_map.job] = frozenset(each.container for each in endpoint_map.endpoints)

    def fileno(self) -> int:
        """What to wait for; the command is started if it does not run.

        Raises:
            OSError: there is no such command.
        """
        return self._lines.fileno()

    def receive(self, now: Now) -> Iterator[Observed]:
        """Takes what was printed.

        Raises:
            OSError: the command has ended.
        """
        lines, why = self._lines.take()
        yield from self._teller.tell(self._notices(lines), now)
        if why:
            self._events.forget()
            raise OSError(why)

    def close(self, now: Now) -> tuple[Observed, ...]:  # noqa: ARG002 - as the agent calls it
        """Ends the command."""
        self._lines.stop()
        return ()

    def _notices(self, lines: list[str]) -> Iterator[tuple[Notice, int | None]]:
        for text in self._events.take(lines):
            event = parse_container_event(text)
            container = self._container(event) if event is not None else None
            if event is not None and container is not None:
                yield notice_of(event, container, text), event.t_us

    def _container(self, event: ContainerEvent) -> str | None:
        for name in event.names:
            known = self._aliases.get(name, name)
            if any(known in containers for containers in self._containers.values()):
                return known
        return None
