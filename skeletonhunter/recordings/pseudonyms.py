"""How are names and addresses replaced? By pseudonyms that follow from a key: equal keys give equal ones anywhere.

A name becomes ``n<place>-<kind>-<10 hex digits>``: its place among the names of the recording in alphabetical order, as
the engines break ties by name and shall break them alike, and its keyed BLAKE2b digest, by which it is known again in
other recordings. Two names never share one. In a text a name is found where it stands between characters that are no
letters or digits; of several that fit, the longest.
IPv4, IPv6 (also as a GID) and MAC addresses become addresses of their kind, an IPv4 address inside an IPv6 one is
replaced alike. Without the key nothing leads back, but whoever has it can try names. Not replaced: names that nothing
but a text tells, names of RNICs, ports and virtual functions, and flow ids. Cost: one look-up per string seen before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address, ip_address

DIGITS = 10
KEY_BYTES = 16
"""A key is at least so long."""

_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_PIECE = re.compile(r"[A-Za-z0-9]+|[_.-]+")
_IPV4 = r"\d{1,3}(?:\.\d{1,3}){3}"
_GROUP = r"[0-9A-Fa-f]{0,4}"
_ADDRESS = re.compile(
    rf"(?<![A-Za-z0-9.:])(?:(?:{_GROUP}:){{2,7}}{_IPV4}|{_IPV4}|{_GROUP}(?::{_GROUP}){{2,7}})(?![A-Za-z0-9:]|\.\d)"
)
_MAC = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*[A-Za-z0-9]")
_DIGITS_ONLY = re.compile(r"\d+")


class Pseudonyms:
    """Replaces the names in ``kinds`` (name to kind) and addresses; ``words`` are never taken for names in a text."""

    def __init__(
        self, key: bytes, kinds: Mapping[str, str], words: frozenset[str], keep_addresses: bool = False
    ) -> None:
        self.key, self.words, self.keep_addresses = key, words, keep_addresses
        self._taken: set[str] = set()
        self._texts: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        self.names = self._pseudonyms(kinds)
        self._in_texts = {name for name in self.names if self._is_plain(name) and name not in words}
        odd = [name for name in self.names if not self._is_plain(name) and not _DIGITS_ONLY.fullmatch(name)]
        self._odd = sorted((name for name in odd if len(name) > 1), key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text with every name and address replaced."""
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = self._replaced(text)
        return known

    def name(self, name: str) -> str:
        """The pseudonym of a whole name; of one that is not known, the text with what is known replaced."""
        return self.names.get(name) or self.text(name)

    def opaque(self, word: str) -> str:
        """A digest of a word that only has to differ where it differed, such as a boot."""
        return self._digest("opaque", word, 0)[:8]

    def days(self) -> int:
        """A number of days from 1 to 3650 that follows from the key."""
        return int(self._digest("days", "", 0), 16) % 3650 + 1

    def _replaced(self, text: str) -> str:
        if text in self.names:
            return self.names[text]
        prefix, colon, rest = text.partition(":")
        if colon and rest in self.names:
            return f"{prefix}:{self.names[rest]}"
        for name in self._odd:
            text = text.replace(name, self.names[name])
        if not self.keep_addresses:
            text = _ADDRESS.sub(lambda found: self._address(found[0]), text)
        return _TOKEN.sub(lambda found: self._token(found[0]), text)

    def _token(self, token: str) -> str:
        """Replaces the longest names that stand in the token between its separators, from the left."""
        if token in self._in_texts:
            return self.names[token]
        pieces = _PIECE.findall(token)
        done, begin = [], 0
        while begin < len(pieces):
            for end in range(len(pieces), begin, -1):
                if (part := "".join(pieces[begin:end])) in self._in_texts:
                    done.append(self.names[part])
                    begin = end
                    break
            else:
                done.append(pieces[begin])
                begin += 1
        return "".join(done)

    def _address(self, text: str) -> str:
        if text not in self._addresses:
            self._addresses[text] = self._new_address(text)
        return self._addresses[text]

    def _new_address(self, text: str) -> str:
        if _MAC.fullmatch(text):
            return self._fresh(lambda turn: ":".join(["02", *self._bytes("mac", text.lower(), turn, 5)]))
        try:
            address = ip_address(text)
        except ValueError:
            return text
        if address.is_unspecified or address.is_loopback or address.is_multicast or str(address) == "255.255.255.255":
            return text
        if isinstance(address, IPv4Address):
            return self._ipv4(str(address))
        other = self._ipv6(address)
        return other.exploded if len(text) == len(address.exploded) else str(other)

    def _ipv4(self, text: str) -> str:
        if text not in self._addresses:
            self._addresses[text] = self._fresh(partial(self._ten, text))
        return self._addresses[text]

    def _ipv6(self, address: IPv6Address) -> IPv6Address:
        if address.ipv4_mapped is not None:
            return IPv6Address(f"::ffff:{self._ipv4(str(address.ipv4_mapped))}")
        begin = "fe80" + "0" * 12 if address.is_link_local else "fd" + self._digest("site", "", 0)[:14]
        packed = begin + self._digest("ipv6", str(address), 0)[:16]
        return IPv6Address(bytes.fromhex(packed))

    def _ten(self, text: str, turn: int) -> str:
        return ".".join(["10", *(str(int(part, 16)) for part in self._bytes("ipv4", text, turn, 3))])

    def _bytes(self, kind: str, text: str, turn: int, count: int) -> list[str]:
        digits = self._digest(kind, text, turn)
        return [digits[place : place + 2] for place in range(0, 2 * count, 2)]

    def _pseudonyms(self, kinds: Mapping[str, str]) -> dict[str, str]:
        width = len(str(len(kinds)))
        return {
            name: f"n{place:0{width}d}-{kinds[name]}-{self._digest(kinds[name], name, 0)[:DIGITS]}"
            for place, name in enumerate(sorted(kinds))
        }

    def _fresh(self, make: Callable[[int], str]) -> str:
        """The first of the pseudonyms of a name that no other has."""
        turn = 0
        while (made := make(turn)) in self._taken:
            turn += 1
        self._taken.add(made)
        return made

    def _digest(self, kind: str, text: str, turn: int) -> str:
        content = f"{kind}\0{turn}\0{text}".encode()
        return blake2b(content, key=self.key[:64], digest_size=16).hexdigest()

    @staticmethod
    def _is_plain(name: str) -> bool:
        return bool(_PLAIN.fullmatch(name)) and not _DIGITS_ONLY.fullmatch(name)
