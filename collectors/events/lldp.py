"""Which switch port is a network device cabled to? Output of ``lldpctl -f json`` (or json0).

lldpctl prints ``interface`` as a list for two neighbours and as an object for one, chassis by name as a key, and with
``json0`` everything as lists; all are read. The switch is the chassis' name, its id if it has none; ports are named by
``collectors.lldp_ports``. An age is ``9 days, 16:15:40``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from collectors.commands import run
from collectors.events.devices import Devices
from collectors.events.notices import Notice, Subject
from collectors.events.telling import Teller
from collectors.lldp_ports import port_name
from collectors.observing import Now, Observed
from collectors.plain_text import plain

_AGE = re.compile(r"(?:(\d{1,6}) days?, )?(\d{1,4}):(\d\d):(\d\d)")
COMMAND = ("lldpctl", "-f", "json")


class Neighbour(Struct, frozen=True, kw_only=True):
    """What is at the other end of a network device's cable."""

    netdev: str
    switch: str
    port: str
    chassis_id: str | None = None
    age_s: int | None = None


def parse_neighbours(text: str) -> tuple[Neighbour, ...]:
    """Neighbours by LLDP, in the order of the network devices' names; what has no switch or port is left out.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        top = msgspec.json.decode(plain(text))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"lldpctl: not JSON: {error}") from error
    found: list[Neighbour] = []
    for lldp in _things(top.get("lldp") if isinstance(top, dict) else None):
        for item in _things(lldp.get("interface")):
            found += _of_interface(item)
    return tuple(sorted(found, key=lambda each: (each.netdev, each.switch, each.port)))


def _of_interface(item: dict[str, Any]) -> Iterator[Neighbour]:
    """One entry: ``{name: {...}}``, several of them, or json0's ``{"name": ..., "chassis": ...}``."""
    named = [(str(item["name"]), item)] if isinstance(item.get("name"), str) else list(item.items())
    for netdev, details in named:
        for detail in _things(details):
            neighbour = _neighbour(netdev, detail)
            if neighbour is not None:
                yield neighbour


def _neighbour(netdev: str, detail: dict[str, Any]) -> Neighbour | None:
    chassis = next(iter(_things(detail.get("chassis"))), {})
    inner = next(((name, value) for name, value in chassis.items() if _is_chassis(name, value)), None)
    if inner is not None:
        chassis = {**next(iter(_things(inner[1])), {}), "name": inner[0]}
    port = next(iter(_things(detail.get("port"))), {})
    chassis_id = _text(next(iter(_things(chassis.get("id"))), {}).get("value"))
    switch = _text(chassis.get("name")) or chassis_id
    name = _port_name(port)
    if not switch or not name:
        return None
    found = _AGE.fullmatch(_text(detail.get("age")) or "")
    age = None
    if found:
        age = ((int(found[1] or 0) * 24 + int(found[2])) * 60 + int(found[3])) * 60 + int(found[4])
    return Neighbour(netdev=netdev, switch=switch, port=name, chassis_id=chassis_id, age_s=age)


_CHASSIS_FIELDS = frozenset({"id", "name", "descr", "mgmt-ip", "mgmt-iface", "capability"})


def _is_chassis(name: str, value: object) -> bool:
    return name not in _CHASSIS_FIELDS and isinstance(value, dict | list)


def _port_name(port: dict[str, Any]) -> str | None:
    identity = next(iter(_things(port.get("id"))), {})
    kind, value = _text(identity.get("type")), _text(identity.get("value"))
    return port_name(kind or "", value or "", _text(port.get("descr")) or "") or None


def _things(value: object) -> list[dict[str, Any]]:
    """The objects of a list, or the one object."""
    if isinstance(value, dict):
        return [value]
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: object) -> str | None:
    """A text; json0 puts it into ``[{"value": ...}]``."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0].get("value")
    return value.strip()[:256] if isinstance(value, str) and value.strip() else None


class Neighbours:
    """A part of the agent: asks the LLDP daemon, and tells when an RNIC is cabled to another port than before.

    The first answer is what it is; a neighbour that is not told for a while (its port is down) has not moved. Behind
    one device there may be several (a card that speaks for itself, a bridge): the one that was known stays, while it
    is there.
    """

    name = "lldp"

    def __init__(
        self, devices: Callable[[], Devices], command: Sequence[str] = COMMAND, period_s: float = 60.0
    ) -> None:
        self.period_s = period_s
        self._command, self._devices = command, devices
        self._known: dict[str, Neighbour] = {}
        self._teller = Teller("lldp", devices)

    @property
    def switch_ports(self) -> dict[str, str]:
        """``<switch>/<port>`` by RNIC, as last told."""
        by_netdev = self._devices().by_netdev
        return {
            by_netdev[netdev]: f"{neighbour.switch}/{neighbour.port}"
            for netdev, neighbour in self._known.items()
            if netdev in by_netdev
        }

    def collect(self, now: Now) -> Iterator[Observed]:
        """Asks once.

        Raises:
            OSError: the daemon does not answer.
            ValueError: the answer is not JSON.
        """
        neighbours = parse_neighbours(run(self._command, 10.0, 4_000_000).text)
        by_netdev: dict[str, Neighbour] = {}
        for each in neighbours:
            if each.netdev not in by_netdev or self._is_known(each):
                by_netdev[each.netdev] = each
        moved = [each for each in by_netdev.values() if each.netdev in self._known and not self._is_known(each)]
        notices = [(self._notice(each), None) for each in moved]
        self._known.update(by_netdev)
        yield from self._teller.tell(notices, now)

    def _is_known(self, each: Neighbour) -> bool:
        before = self._known.get(each.netdev)
        return before is not None and (before.switch, before.port) == (each.switch, each.port)

    def _notice(self, each: Neighbour) -> Notice:
        before = self._known[each.netdev]
        was, now_is = f"{before.switch}/{before.port}", f"{each.switch}/{each.port}"
        return Notice(
            code="neighbour_changed",
            severity="warning",
            subject=Subject("netdev", each.netdev),
            text=f"{each.netdev} is cabled to {now_is}, was to {was}",
            values={"switch_port": now_is, "before": was},
        )
