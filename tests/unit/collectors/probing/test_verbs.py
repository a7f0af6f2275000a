"""pyverbs, missing or of either naming: one clear sentence, or the constants."""

from __future__ import annotations

import enum
import errno
import sys
from types import ModuleType

import pytest

from collectors.probing.verbs import NoVerbsError, Verbs

PARTS = ("device", "pd", "cq", "qp", "mr", "wr", "addr", "pyverbs_error")


def install(monkeypatch: pytest.MonkeyPatch, enums: str, **constants: object) -> None:
    """An importable package that is laid out as pyverbs is."""
    package = ModuleType("pyverbs")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "pyverbs", package)
    for name in (*PARTS, enums):
        monkeypatch.setitem(sys.modules, f"pyverbs.{name}", ModuleType(f"pyverbs.{name}"))
    errors = sys.modules["pyverbs.pyverbs_error"]
    errors.PyverbsError = type("PyverbsError", (Exception,), {})  # type: ignore[attr-defined]
    for name, value in constants.items():
        setattr(sys.modules[f"pyverbs.{enums}"], name, value)


def test_without_pyverbs_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyverbs", None)
    for name in PARTS:
        monkeypatch.delitem(sys.modules, f"pyverbs.{name}", raising=False)
    with pytest.raises(NoVerbsError) as caught:
        Verbs()
    assert caught.value.strerror is not None
    assert "skeletonhunter[rdma]" in caught.value.strerror and "\n" not in caught.value.strerror


def test_constants_of_version_44(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "enums", IBV_QPT_UD=4)
    assert Verbs().constant("IBV_QPT_UD") == 4


def test_constants_of_version_59_inside_their_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "libibverbs_enums", ibv_qp_type=enum.IntEnum("ibv_qp_type", {"IBV_QPT_UD": 4}))
    assert Verbs().constant("IBV_QPT_UD") == 4
    with pytest.raises(NoVerbsError, match="IBV_QPT_XX"):
        Verbs().constant("IBV_QPT_XX")


@pytest.mark.parametrize(
    ("text", "code", "number"),
    [
        ("Failed. Errno: 110, Connection timed out", None, errno.ETIMEDOUT),
        ("Failed", errno.ENOMEM, errno.ENOMEM),
        ("Failed to get devices list", None, errno.EIO),
    ],
)
def test_errors_of_pyverbs_become_os_errors(
    monkeypatch: pytest.MonkeyPatch, text: str, code: int | None, number: int
) -> None:
    install(monkeypatch, "enums")
    verbs = Verbs()
    error = verbs.error(text)
    if code is not None:
        error.error_code = code  # type: ignore[attr-defined]
    with pytest.raises(OSError, match="opening") as caught, verbs.as_os_errors("opening"):
        raise error
    assert caught.value.errno == number
