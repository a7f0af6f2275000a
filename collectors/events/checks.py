"""A part of the agent: looks at how the host is configured, and tells what is wrong, when it becomes wrong.

What stands wrong is told now and then, and once when it is right again (``standing``). What cannot be read is not
judged; a tool that is missing is asked again with the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from collectors.commands import run
from collectors.events.bonds import judge_bond, parse_bond
from collectors.events.devices import Devices
from collectors.events.hugepages import judge_hugepages, read_hugepages
from collectors.events.interfaces import Expected, judge_interfaces, learn, read_interfaces
from collectors.events.notices import Notice
from collectors.events.qos import Qos, QosWanted, judge_qos, merge, parse_dcb_pfc, parse_mlnx_qos, read_ecn
from collectors.events.standing import Standing
from collectors.events.telling import Teller
from collectors.observing import Now, Observed

TOLD_ELSEWHERE = ("bond_degraded", "port_down", "speed_degraded", "interface_missing")
"""What the bond's own file, or the state of the RNIC, tells of a network device."""


class Wanted(Struct, frozen=True, kw_only=True):
    """How the host should be. ``interfaces`` None: as it is found at first. ``hugepages``: {size in kB: number}.

    Links and bonds of RNICs are judged with their counters (``collectors.rnic``), so only others are here, unless
    ``rnics`` is true.

    ``qos``: what RoCE needs on each of ``qos_netdevs``; ``qos_commands`` print it, ``{dev}`` standing for the device.
    """

    interfaces: Mapping[str, Expected] | None = None
    hugepages: Mapping[int, int] = {}
    rnics: bool = False
    qos: QosWanted | None = None
    qos_netdevs: tuple[str, ...] = ()
    dcb: tuple[str, ...] | None = ("dcb", "-j", "pfc", "show", "dev", "{dev}")
    mlnx_qos: tuple[str, ...] | None = None


class ConfigurationChecks:
    """Looks at network devices, bonds, congestion control and huge pages."""

    name = "configuration"

    def __init__(
        self,
        devices: Callable[[], Devices],
        wanted: Wanted,
        roots: tuple[Path, Path] = (Path("/sys"), Path("/proc")),
        period_s: float = 30.0,
    ) -> None:
        self.period_s = period_s
        self._wanted, self._expected = wanted, wanted.interfaces
        self._sys, self._proc = roots
        self._devices = devices
        self._teller = Teller("configuration", devices)
        self._standing = Standing()

    def collect(self, now: Now) -> Iterator[Observed]:
        """Looks once."""
        notices = [(each, None) for each in self._standing.step(self._judge(), now)]
        yield from self._teller.tell(notices, now)

    def _judge(self) -> Iterator[Notice]:
        interfaces = read_interfaces(self._sys)
        if self._expected is None:
            self._expected = learn(interfaces)
        rnics = {} if self._wanted.rnics else self._devices().by_netdev
        bonds = [each for each in self._bonds() if each.subject.name not in rnics]
        judged = {each.subject.name for each in bonds} | {str(each.values.get("member", "")) for each in bonds}
        yield from bonds
        for each in judge_interfaces(self._expected, interfaces):
            told = each.subject.name in judged or each.subject.name in rnics
            if not told or each.code not in TOLD_ELSEWHERE:
                yield each
        yield from judge_hugepages(dict(self._wanted.hugepages), read_hugepages(self._sys))
        yield from self._qos()

    def _bonds(self) -> Iterator[Notice]:
        try:
            files = sorted((self._proc / "net" / "bonding").iterdir())
        except OSError:
            return
        for path in files:
            expected = tuple(name for name, each in (self._expected or {}).items() if each.master == path.name)
            bond = parse_bond(path.read_text(errors="replace"), path.name)
            notice = judge_bond(bond, expected) if bond is not None else None
            if notice is not None:
                yield notice

    def _qos(self) -> Iterator[Notice]:
        wanted = self._wanted.qos
        for netdev in self._wanted.qos_netdevs if wanted is not None else ():
            told = [read_ecn(self._sys, netdev)]
            for command, parse in ((self._wanted.dcb, parse_dcb_pfc), (self._wanted.mlnx_qos, parse_mlnx_qos)):
                if command is not None:
                    told.append(_asked(command, netdev, parse))
            notice = judge_qos(netdev, wanted, merge(*told)) if wanted is not None else None
            if notice is not None:
                yield notice


def _asked(command: tuple[str, ...], netdev: str, parse: Callable[[str], Qos]) -> Qos:
    """What a tool prints; nothing, if it is not there or does not know the device."""
    try:
        return parse(run([word.replace("{dev}", netdev) for word in command], 5.0, 1_000_000).text)
    except (OSError, ValueError):
        return Qos()
