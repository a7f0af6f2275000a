"""The signature, and the receiver's code that the reference page shows."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from skeletonhunter.alerting.signing import is_genuine, signature

PAGE = (Path(__file__).parents[3] / "docs/reference/alerts.md").read_text()


@given(st.text(min_size=1), st.binary(), st.integers(0, 10**11))
def test_what_was_signed_is_genuine_and_nothing_else(key: str, body: bytes, now_s: int) -> None:
    header = signature(key, body, now_s)
    assert is_genuine(header, key, body, now_s + 300)
    assert not is_genuine(header, key, body, now_s + 301)
    assert not is_genuine(header, key, body, now_s - 301)
    assert not is_genuine(header, f"{key}.", body, now_s)
    assert not is_genuine(header, key, b"." + body, now_s)
    assert not is_genuine(header.replace("v1=", "v0="), key, body, now_s)


@given(st.text())
def test_any_other_header_is_refused(header: str) -> None:
    assert not is_genuine(header, "key", b"body", 0)


def test_the_code_on_the_page_does_the_same() -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    shown: dict[str, Any] = {}
    exec(code, shown)
    now_s = int(time.time())
    assert shown["is_genuine"](signature("key", b"body", now_s), b"key", b"body")
    assert not shown["is_genuine"](signature("key", b"body", now_s), b"key", b"other")
    assert not shown["is_genuine"](signature("key", b"body", now_s - 400), b"key", b"body")
