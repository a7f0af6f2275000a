"""Who can be probed already? Readiness from the endpoint map and from the peers themselves; pure.

A pair is activated when both hold: the endpoint map lists the peer as ``ready`` in a job that is not over, and the
peer's agent has answered a hello (it has *registered*, and with it told its RDMA queue pair). Until then trains to
it are ``target_not_ready``, so that a half-built network raises no alarm. Hellos go once per ``hello_s`` to each
peer that some probe of ours waits for.

Once registered, a peer stays so: that it does not answer any more is a loss. It loses its registration when the map
says so, when the map gives it another address, or when its host answers that nobody listens. After losses, and every
``REFRESH_S``, it is asked again, because a restarted agent has another queue pair.

The GID that is probed is the endpoint map's, since that is what the job uses; the one that the peer tells is used when
the map has none. Cost: 1 us a question. Memory: 500 bytes a peer.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from msgspec import Struct

from collectors.probing.transport import Located, Peer
from schemas.instants import SECOND_US, micros
from schemas.maps import Endpoint, EndpointMap

REFRESH_S = 60.0


class Contact(Struct):
    """What is known of a peer beside the map."""

    located: Located | None = None
    located_us: int = 0
    asked_us: int | None = None
    doubted: bool = False
    wanted_by: str | None = None


class Peers:
    """All endpoints of the jobs that are known here."""

    def __init__(self, hello_s: float) -> None:
        self._hello_us = micros(hello_s)
        self._versions: dict[str, int] = {}
        self._running: dict[str, bool] = {}
        self._tenants: dict[str, str | None] = {}
        self._listed: dict[str, tuple[str, Endpoint]] = {}
        self._contacts: dict[str, Contact] = {}

    def take_map(self, value: EndpointMap) -> bool:
        """Follows a map; False: an older version than the one that is known."""
        if value.version <= self._versions.get(value.job, -1):
            return False
        self._versions[value.job] = value.version
        self._running[value.job] = value.state != "ended"
        self._tenants[value.job] = value.tenant
        before = {name: e for name, (job, e) in self._listed.items() if job == value.job}
        for name in before:
            del self._listed[name]
        for endpoint in value.endpoints:
            self._listed[endpoint.endpoint] = (value.job, endpoint)
            known = before.get(endpoint.endpoint)
            if known is not None and _place(known) != _place(endpoint):
                self._contacts.pop(endpoint.endpoint, None)
        for name in before.keys() - self._listed.keys():
            self._contacts.pop(name, None)
        return True

    def listed(self) -> list[tuple[str, str | None, Endpoint]]:
        """(job, tenant, endpoint) of every endpoint of a job that is not over."""
        return [(job, self._tenants[job], endpoint) for job, endpoint in self._listed.values() if self._running[job]]

    def endpoint(self, name: str) -> Endpoint | None:
        """As the newest map lists it."""
        listed = self._listed.get(name)
        return None if listed is None else listed[1]

    def why_not(self, name: str, needs_hello: bool = True) -> str | None:
        """Why an endpoint can't be probed yet; None = it can."""
        listed = self._listed.get(name)
        if listed is None:
            return f"{name} is not in the endpoint map"
        job, endpoint = listed
        if not self._running[job]:
            return f"job {job} is over"
        if endpoint.state != "ready":
            return f"{name} is {endpoint.state}"
        if address_of(endpoint) is None:
            return f"{name} has no IP address in the endpoint map"
        contact = self._contacts.get(name)
        if needs_hello and (contact is None or contact.located is None):
            return f"{name} has not registered: its agent has not answered yet"
        return None

    def peer(self, name: str) -> Peer:
        """Where an endpoint is reached; ask ``why_not`` before."""
        _, endpoint = self._listed[name]
        contact = self._contacts.get(name)
        located = contact.located if contact else None
        ip = address_of(endpoint)
        assert ip is not None
        gid = gid_bytes(endpoint.gid) or (located.gid if located else None)
        return Peer(
            endpoint=name, ip=ip, gid=gid, qpn=located.qpn if located else 0, qkey=located.qkey if located else 0
        )

    def want(self, src: str, dst: str) -> None:
        """An endpoint of ours has probes for a peer: it is greeted until it answers."""
        self._contacts.setdefault(dst, Contact()).wanted_by = src

    def due_hellos(self, mono_us: int, most: int) -> list[tuple[str, Peer]]:
        """(source, peer) of those that are to be greeted now, who waited longest first; counted as greeted."""
        due = [(_asked(contact), name) for name, contact in self._contacts.items() if self._is_due(contact, mono_us)]
        chosen: list[tuple[str, Peer]] = []
        for _, name in sorted(due):
            contact = self._contacts[name]
            if len(chosen) < most and contact.wanted_by and self.why_not(name, needs_hello=False) is None:
                contact.asked_us = mono_us
                chosen.append((contact.wanted_by, self.peer(name)))
        return chosen

    def _is_due(self, contact: Contact, mono_us: int) -> bool:
        if contact.asked_us is not None and mono_us - contact.asked_us < self._hello_us:
            return False
        is_fresh = contact.located is not None and mono_us - contact.located_us < REFRESH_S * SECOND_US
        return contact.doubted or not is_fresh

    def note_located(self, located: Located, mono_us: int) -> bool:
        """A peer answered a hello; True: its agent has begun anew since it registered."""
        contact = self._contacts.setdefault(located.endpoint, Contact())
        before = contact.located
        contact.located, contact.located_us, contact.doubted = located, mono_us, False
        return before is not None and (before.session, before.qpn) != (located.session, located.qpn)

    def doubt(self, name: str) -> None:
        """It is late to answer: ask where it is, and go on probing it meanwhile."""
        self._contacts.setdefault(name, Contact()).doubted = True

    def note_absent(self, name: str) -> None:
        """Its host answers that nobody listens: it has to register again."""
        contact = self._contacts.setdefault(name, Contact())
        contact.located, contact.doubted = None, False

    def forget_wishes(self, job: str) -> None:
        """Another plan of a job: who of it is wanted is told anew."""
        for name, contact in self._contacts.items():
            if name not in self._listed or self._listed[name][0] == job:
                contact.wanted_by = None


def _asked(contact: Contact) -> int:
    return -1 if contact.asked_us is None else contact.asked_us


def _place(endpoint: Endpoint) -> tuple[str | None, ...]:
    return endpoint.host, endpoint.ip, endpoint.gid, endpoint.state


def gid_bytes(gid: str | None) -> bytes | None:
    """The 16 bytes of a GID as the map writes it, None if it is none."""
    if gid is None:
        return None
    try:
        address = ip_address(gid)
    except ValueError:
        return None
    return address.packed if address.version == 6 else IPv6Address(f"::ffff:{address}").packed


def address_of(endpoint: Endpoint) -> str | None:
    """The IP address of an endpoint: the map's, else the one that its RoCE GID is made of."""
    if endpoint.ip is not None:
        return endpoint.ip
    packed = gid_bytes(endpoint.gid)
    if packed is None:
        return None
    address = IPv6Address(packed)
    mapped = address.ipv4_mapped
    return str(mapped) if mapped is not None else None if address.is_link_local else str(address)
