"""Which addresses may a webhook reach? Public ones, and those of networks that the settings allow.

A name is resolved once per call, every address that it has is judged, and the connection goes to the address that was
judged: a name that changes its mind in between gains nothing. Host header, SNI and the check of the certificate stay
with the name. Redirects are never followed. Behind a proxy the proxy decides, and nothing is judged here.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

import httpx

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_AZURE = ipaddress.IPv4Address("168.63.129.16")
"""The one metadata service with a public address."""


class ForbiddenAddressError(ValueError):
    """An address that may not be reached."""


def networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Networks of the settings.

    Raises:
        ValueError: one is none.
    """
    return tuple(ipaddress.ip_network(text) for text in texts)


def judge(address: Address, allowed: Sequence[Network]) -> None:
    """Returns when the address may be reached.

    Raises:
        ForbiddenAddressError: it may not; the text says what kind of address it is.
    """
    address = _inner(address)
    if any(address.version == network.version and address in network for network in allowed):
        return
    kind = _kind(address)
    if kind is not None:
        raise ForbiddenAddressError(
            f"its address {address} is {kind}, expected a public one or one of alerts.allow_networks"
        )


def _inner(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, where it does."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped or address.sixtofour or address
    return address


def _kind(address: Address) -> str | None:
    kinds = (
        (address.is_loopback, "loopback"),
        (address.is_link_local, "link-local"),
        (address == _AZURE, "a metadata service"),
        (address.is_multicast, "multicast"),
        (not address.is_global, "private or reserved"),
    )
    return next((kind for holds, kind in kinds if holds), None)


def addresses_of(host: str, port: int) -> list[Address]:
    """All addresses of a name.

    Raises:
        OSError: it has none, or nobody knows.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    texts = dict.fromkeys(str(item[4][0]).partition("%")[0] for item in found)
    return [ipaddress.ip_address(text) for text in texts]


def check_url(url: httpx.URL, allowed: Sequence[Network]) -> list[Address]:
    """The addresses of a URL's host, all of which may be reached.

    Raises:
        ForbiddenAddressError: one may not.
        OSError: there is no address.
    """
    found = addresses_of(url.host, url.port or (443 if url.scheme == "https" else 80))
    for address in found:
        judge(address, allowed)
    return found


class GuardedTransport(httpx.BaseTransport):
    """HTTP to judged addresses only."""

    def __init__(self, allowed: Sequence[Network]) -> None:
        self.allowed = allowed
        self._http = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends the request to the first address of its host that answers.

        Raises:
            ForbiddenAddressError: see ``check_url``.
            httpx.TransportError: nobody answers.
        """
        name = request.url.host
        try:
            found = check_url(request.url, self.allowed)
        except OSError as error:
            raise httpx.ConnectError("the name can't be resolved", request=request) from error
        request.extensions = {**request.extensions, "sni_hostname": name}
        for address in found[:-1]:
            try:
                return self._send(request, address)
            except httpx.ConnectError:
                continue
        return self._send(request, found[-1])

    def _send(self, request: httpx.Request, address: Address) -> httpx.Response:
        request.url = request.url.copy_with(host=str(address))
        return self._http.handle_request(request)

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()
