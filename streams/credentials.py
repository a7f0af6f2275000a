"""How does Faust prove who it is? The same properties that librdkafka is given, in the words of Faust.

Faust's client is aiokafka: it takes a TLS context and a user, librdkafka takes file names. Both come from the one
mapping, so that a worker's two clients can't disagree.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

import faust

Properties = Mapping[str, str | int | float | bool]


class CredentialsError(ValueError):
    """Properties that Faust can't follow; the text names the property and never a secret."""


def credentials_of(librdkafka: Properties) -> Any:
    """Faust's credentials; None = plain text.

    Raises:
        CredentialsError: a protocol or mechanism that Faust does not know, or certificates that can't be read.
    """
    protocol = str(librdkafka.get("security.protocol", "plaintext")).lower()
    if protocol == "plaintext":
        return None
    context = _context(librdkafka) if protocol.endswith("ssl") else None
    if protocol == "ssl":
        return faust.SSLCredentials(context)
    if protocol not in ("sasl_ssl", "sasl_plaintext"):
        raise CredentialsError(
            f"security.protocol is {protocol!r}, expected plaintext, ssl, sasl_plaintext or sasl_ssl"
        )
    mechanism = str(librdkafka.get("sasl.mechanism", librdkafka.get("sasl.mechanisms", "")))
    if mechanism not in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        raise CredentialsError(f"sasl.mechanism is {mechanism!r}, expected PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
    return faust.SASLCredentials(
        username=str(librdkafka.get("sasl.username", "")),
        password=str(librdkafka.get("sasl.password", "")),
        ssl_context=context,
        mechanism=mechanism,
    )


def _context(librdkafka: Properties) -> ssl.SSLContext:
    ca, certificate = librdkafka.get("ssl.ca.location"), librdkafka.get("ssl.certificate.location")
    try:
        context = ssl.create_default_context(cafile=str(ca) if ca else None)
        if certificate:
            context.load_cert_chain(str(certificate), str(librdkafka.get("ssl.key.location") or certificate))
    except OSError as error:
        raise CredentialsError(
            f"the certificates of ssl.*.location can't be read: {error.strerror or error}"
        ) from error
    return context
