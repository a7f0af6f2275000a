"""Who sent this body, and when? A signature over time and bytes, so that a receiver can tell ours from anybody's.

The header ``X-SkeletonHunter-Signature`` is ``t=<seconds since the epoch>,v1=<hex>`` where ``hex`` is the HMAC-SHA256
(RFC 2104) of ``<t>.<body>``, byte for byte as sent. Each attempt is signed anew, so a receiver may refuse what is older
than a few minutes: that is a recording played back.
"""

from __future__ import annotations

import hmac
import re
from hashlib import sha256

HEADER = "X-SkeletonHunter-Signature"
TOLERANCE_S = 300
_FORM = re.compile(r"t=(\d{1,12}),v1=([0-9a-f]{64})")


def signature(key: str, body: bytes, now_s: int) -> str:
    """The value of the header."""
    return f"t={now_s},v1={_digest(key, body, now_s)}"


def is_genuine(header: str, key: str, body: bytes, now_s: int, tolerance_s: int = TOLERANCE_S) -> bool:
    """What a receiver does: whether the body was signed with this key, not longer ago than ``tolerance_s``."""
    found = _FORM.fullmatch(header)
    if found is None or abs(now_s - int(found[1])) > tolerance_s:
        return False
    return hmac.compare_digest(found[2], _digest(key, body, int(found[1])))


def _digest(key: str, body: bytes, now_s: int) -> str:
    return hmac.new(key.encode(), b"%d." % now_s + body, sha256).hexdigest()
