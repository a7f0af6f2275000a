"""What a check found: in one word, in one sentence, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

State = Literal["ok", "warning", "failed", "skipped"]


class Finding(Struct, frozen=True):
    """``says`` what was seen; ``fix`` what to do, empty when there is nothing to do."""

    check: str
    state: State
    says: str
    fix: str = ""


def ok(check: str, says: str) -> Finding:
    """All is well."""
    return Finding(check, "ok", says)


def warning(check: str, says: str, fix: str) -> Finding:
    """It works, but not as it should."""
    return Finding(check, "warning", says, fix)


def failed(check: str, says: str, fix: str) -> Finding:
    """It does not work."""
    return Finding(check, "failed", says, fix)


def skipped(check: str, why: str) -> Finding:
    """It could not be asked."""
    return Finding(check, "skipped", why)


def is_healthy(findings: Iterable[Finding]) -> bool:
    """Whether nothing failed."""
    return all(finding.state != "failed" for finding in findings)


def listed(names: Iterable[str], most: int = 5) -> str:
    """Names in a sentence, not too many of them."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
