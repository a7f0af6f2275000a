"""Whose RNIC is which device of this host? What the agent tells these collectors about its endpoints.

``rnic`` is the name that the endpoint map uses. ``device`` says how to find it: a device name ("mlx5_3", with its port
"mlx4_0/2" when it has several), a PCI address ("0000:ba:00.0"), a node GUID ("b83f:d203:00b1:0001") or a network device
("eth2"). Names change when a host boots or a card is swapped; PCI addresses and GUIDs follow the card or the slot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct


class Placement(Struct, frozen=True, kw_only=True):
    """One endpoint of this host. ``gid`` and ``gid_index``: what the job is told to use, when that is known; ``gbps``
    and ``mtu``: what this RNIC should have in its role (a 40 Gb/s function of a front-end network is right as it is).
    """

    job: str
    container: str
    host: str
    rnic: str
    device: str = ""
    tenant: str | None = None
    gid: str | None = None
    gid_index: int | None = None
    gbps: float | None = None
    mtu: int | None = None

    @property
    def selector(self) -> str:
        """How to find the device: ``device``, or the RNIC's name when nothing else is said."""
        return self.device or self.rnic

    @property
    def endpoint(self) -> str:
        """``<container>/<rnic>``."""
        return f"{self.container}/{self.rnic}"


Placements = Callable[[], Sequence[Placement]]
"""The endpoints as they are now; asked at every reading, so it must be cheap."""


def by_container(placements: Sequence[Placement]) -> dict[tuple[str, str, str, str | None], list[Placement]]:
    """Endpoints of each (container, host, job, tenant), in the order given."""
    groups: dict[tuple[str, str, str, str | None], list[Placement]] = {}
    for one in placements:
        groups.setdefault((one.container, one.host, one.job, one.tenant), []).append(one)
    return groups
