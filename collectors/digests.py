"""BLAKE2 and comparison in constant time, without ``hashlib`` and ``hmac``: those load OpenSSL's libcrypto, 3.4 MB.

The functions are the same ones (``hashlib.blake2b`` is ``_blake2.blake2b``, ``hmac.compare_digest`` falls back to
``_operator._compare_digest``); where an interpreter keeps them elsewhere, they come from where everybody looks.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
    from _operator import _compare_digest as compare_digest
except ImportError:
    from hashlib import blake2b
    from hmac import compare_digest  # type: ignore[no-redef]

__all__ = ["blake2b", "compare_digest"]
