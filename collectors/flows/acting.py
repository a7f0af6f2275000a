"""What does a flow do with its packets? Open vSwitch's datapath actions, read as ways out.

Of ``clone`` the inside counts as well, of ``check_pkt_len`` the branch of short packets, of ``sample`` nothing (it
copies packets for sFlow). ``set(tunnel(...))`` and ``tnl_push(...)`` (userspace) say where the ways out behind them
lead. Nothing printed, or ``drop``, drops. ``userspace(...)`` sends every packet through the daemon.
"""

from __future__ import annotations

from msgspec import Struct

from collectors.flows.brackets import argument, inside, parts
from collectors.flows.matching import Net, network, number, pairs, whole

DEEPEST = 8
NO_PORTS = frozenset({"drop", "ct", "pop_vlan", "pop_eth", "ct_clear", "pop_nsh", "pop_mpls", "dec_ttl"})


class Way(Struct, frozen=True):
    """A way out: a port, and the tunnel that packets were put into before it."""

    port: str
    tunnel_dst: Net | None = None
    tunnel_id: int | None = None


class Deed(Struct, frozen=True):
    """All that a flow does: ways out, recirculations, whether the daemon sees each packet, whether addresses change."""

    ways: tuple[Way, ...] = ()
    recirculates: tuple[int, ...] = ()
    userspace: bool = False
    rewrites: bool = False
    pops: tuple[str, ...] = ()

    @property
    def drops(self) -> bool:
        """Whether nothing leaves the flow."""
        return not (self.ways or self.recirculates or self.userspace or self.pops)


class _Reading:
    """What has been read so far."""

    def __init__(self) -> None:
        self.ways: list[Way] = []
        self.recirculates: list[int] = []
        self.pops: list[str] = []
        self.userspace = self.rewrites = False
        self.tunnel: tuple[Net | None, int | None] = (None, None)

    def take(self, text: str, depth: int) -> None:
        """Follows a list of actions."""
        for action in parts(text):
            name, bracket, _ = action.partition("(")
            if not bracket:
                self._plain(action)
            else:
                self._call(name.strip(), inside(action, len(name))[0], depth)

    def _plain(self, action: str) -> None:
        if action not in NO_PORTS and " " not in action:  # a blank: "bad length 4", words in place of an action
            self.ways.append(Way(action[:64], *self.tunnel))

    def _call(self, name: str, body: str, depth: int) -> None:
        if name == "recirc":
            self.recirculates.append(whole(body) or 0)
        elif name == "userspace":
            self.userspace = True
        elif name in ("set", "set_masked"):
            self._set(body)
        elif name == "ct":
            self.rewrites = self.rewrites or "nat" in body
        elif name == "tnl_push":
            self._push(body)
        elif name == "tnl_pop":
            self.pops.append(body[:64])
        elif name == "clone" and depth < DEEPEST:
            self.take(body, depth + 1)
        elif name == "check_pkt_len" and depth < DEEPEST:
            self.take(argument(body, "le") or "", depth + 1)
        elif name == "lb_output":
            self.ways.append(Way(body[:64], *self.tunnel))

    def _set(self, body: str) -> None:
        tunnel = argument(body, "tunnel")
        if tunnel is not None:
            fields = pairs(tunnel)
            self.tunnel = network(fields.get("dst", fields.get("ipv6_dst", ""))), number(fields.get("tun_id"))
        elif body.startswith(("ipv4(", "ipv6(")):
            self.rewrites = self.rewrites or "src=" in body or "dst=" in body

    def _push(self, body: str) -> None:
        header = argument(body, "header") or ""
        outer = argument(header, "ipv4") or argument(header, "ipv6") or ""
        inner = pairs(argument(header, "vxlan") or argument(header, "geneve") or "")
        self.tunnel = network(pairs(outer).get("dst", "")), number(inner.get("vni"))
        if port := argument(body, "out_port"):
            self.ways.append(Way(port[:64], *self.tunnel))


def parse_actions(text: str) -> Deed:
    """Reads a flow's actions; unknown ones do nothing."""
    reading = _Reading()
    reading.take(text, 0)
    return Deed(
        tuple(reading.ways),
        tuple(reading.recirculates),
        reading.userspace,
        reading.rewrites,
        tuple(reading.pops),
    )
