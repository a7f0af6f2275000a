"""How does a program prove to Kafka who it is, and know that it is Kafka? TLS and SASL, as settings.

What is set here becomes properties of librdkafka, which all our clients take; the Faust worker translates them for its
own client. Secrets come from a file or the environment, and no message of ours repeats them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

Properties = dict[str, str | int | float | bool]


class KafkaAccess(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """TLS and SASL. Without `protocol` Kafka is reached in plain text, and nobody is asked who they are.

    protocol: `ssl` for TLS, `sasl_ssl` for a user and password over TLS; `sasl_plaintext` shows them to the network.
    mechanism: how the password is proved; `PLAIN` hands it over as it is.
    username: the user of Kafka.
    password: its password; give it in the environment, not in a file that others read.
    password_file: a file that holds the password, such as a mounted secret; a line end after it does not count.
    ca: a PEM file with the authorities that may vouch for brokers (default: those of the system).
    certificate: a PEM file with our own certificate, where brokers ask for one.
    key: a PEM file with its key.
    """

    protocol: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = "plaintext"
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    username: str = ""
    password: str = ""
    password_file: str = ""
    ca: str = ""
    certificate: str = ""
    key: str = ""


def wrong_access(access: KafkaAccess) -> Iterator[tuple[str, str]]:
    """What contradicts itself or can't be read: (field, what is wrong with it). Never holds the password."""
    has_user = access.protocol.startswith("sasl")
    if has_user and not access.username:
        yield "username", f"Expected a user, because protocol is {access.protocol}"
    if has_user and bool(access.password) == bool(access.password_file):
        yield "password_file", f"Expected either password or password_file, because protocol is {access.protocol}"
    if not has_user and (access.username or access.password or access.password_file):
        yield "protocol", f"Expected 'sasl_ssl', because there is a user or a password, got {access.protocol!r}"
    if access.protocol in ("plaintext", "sasl_plaintext") and (access.ca or access.certificate or access.key):
        yield "protocol", f"Expected 'ssl' or 'sasl_ssl', because there are certificates, got {access.protocol!r}"
    if bool(access.certificate) != bool(access.key):
        yield "key", "Expected certificate and key together"
    for name in ("password_file", "ca", "certificate", "key"):
        if getattr(access, name) and not Path(getattr(access, name)).is_file():
            yield name, f"there is no file {getattr(access, name)}"


def properties_of(access: KafkaAccess) -> Properties:
    """The properties of librdkafka; none for plain text.

    Raises:
        OSError: the password's file can't be read.
    """
    if access.protocol == "plaintext":
        return {}
    found: Properties = {"security.protocol": access.protocol}
    if access.protocol.startswith("sasl"):
        password = access.password or Path(access.password_file).read_text().rstrip("\r\n")
        found |= {"sasl.mechanism": access.mechanism, "sasl.username": access.username, "sasl.password": password}
    files = {
        "ssl.ca.location": access.ca,
        "ssl.certificate.location": access.certificate,
        "ssl.key.location": access.key,
    }
    return found | {name: path for name, path in files.items() if path}
