"""Deterministic identifiers: a function of content and source, so that a replay or a crash duplicates nothing."""

from __future__ import annotations

from hashlib import blake2b

import orjson


def content_id(prefix: str, *parts: object) -> str:
    """An id ``<prefix>-<16 hex digits>`` of JSON-like parts; equal parts give equal ids on every machine.

    Raises:
        TypeError: a part is not JSON-like.
    """
    blob = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    return f"{prefix}-{blake2b(blob, digest_size=8).hexdigest()}"
