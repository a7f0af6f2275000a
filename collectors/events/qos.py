"""Is congestion control on where RoCE needs it? PFC, trust and ECN of a port, out of the three places that tell.

``mlnx_qos -i DEV`` (text), ``dcb [-j] pfc show dev DEV``, and
``<sys>/class/net/DEV/ecn/roce_{np,rp}/ enable/<priority>`` (mlx5 only: notification and reaction point of DCQCN). What
none of them tells is not known, and no fault. A priority on which nothing was sent is judged like any other: what
counts is what is configured.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from msgspec import Struct

from collectors.events.notices import Notice, Subject
from collectors.plain_text import plain

PRIORITIES = range(8)


class Qos(Struct, frozen=True, kw_only=True):
    """Settings of one port; None: not told. Sets hold priorities."""

    pfc: frozenset[int] | None = None
    trust: str | None = None
    ecn_notify: frozenset[int] | None = None
    ecn_react: frozenset[int] | None = None


class QosWanted(Struct, frozen=True, kw_only=True):
    """What RoCE traffic needs: its priorities with PFC and ECN (empty: not asked for), and the trusted field."""

    pfc: frozenset[int] = frozenset()
    ecn: frozenset[int] = frozenset()
    trust: str | None = None


_TRUST = re.compile(r"(?m)^\s*(?:Priority )?trust state: *(\w{1,16})")
_PFC_ROWS = re.compile(r"(?m)^\s*priority((?:[ \t]+\d){1,8})[ \t\r]*\n\s*enabled((?:[ \t]+\d){1,8})")


def parse_mlnx_qos(text: str) -> Qos:
    """Reads mlnx_qos: ``Priority trust state: dscp`` and the table ``PFC configuration``."""
    text = plain(text)
    trust = _TRUST.search(text)
    rows = _PFC_ROWS.search(text)
    pfc = None
    if rows is not None:
        on = dict(zip(rows[1].split(), rows[2].split(), strict=False))
        pfc = frozenset(int(priority) for priority, state in on.items() if state == "1")
    return Qos(pfc=pfc, trust=trust[1].lower() if trust else None)


_PRIO_PFC = re.compile(r"(?<!\S)prio-pfc((?: +[0-7]:(?:on|off)){1,8})")


def parse_dcb_pfc(text: str) -> Qos:
    """Reads ``dcb [-j] pfc show``: ``prio-pfc`` as ``3:on``, or in JSON as a list or an object of states by priority.

    Raises:
        ValueError: it begins like JSON and is none.
    """
    text = plain(text)
    if text.lstrip()[:1] not in ("{", "["):
        found = _PRIO_PFC.search(text)
        words = found[1].split() if found else []
        return Qos(pfc=frozenset(int(word[0]) for word in words if word.endswith(":on")) if found else None)
    try:
        top = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"dcb: not JSON: {error}") from error
    top = top[0] if isinstance(top, list) and top else top
    shown = top.get("prio-pfc", top.get("prio_pfc")) if isinstance(top, dict) else None
    if isinstance(shown, list):
        shown = dict(enumerate(shown))
    if not isinstance(shown, dict):
        return Qos()
    on = {str(priority) for priority, state in shown.items() if state in (True, "on")}
    return Qos(pfc=frozenset(priority for priority in PRIORITIES if str(priority) in on))


def read_ecn(sys: Path, netdev: str) -> Qos:
    """Reads mlx5's DCQCN switches of a network device."""
    folder = sys / "class" / "net" / netdev / "ecn"
    return Qos(ecn_notify=_enabled(folder / "roce_np" / "enable"), ecn_react=_enabled(folder / "roce_rp" / "enable"))


def _enabled(folder: Path) -> frozenset[int] | None:
    states: dict[int, str] = {}
    for priority in PRIORITIES:
        try:
            states[priority] = (folder / str(priority)).read_text(errors="replace").strip()
        except OSError:
            continue
    return frozenset(priority for priority, state in states.items() if state == "1") if states else None


def merge(*settings: Qos) -> Qos:
    """What several sources tell together; the first that tells a thing counts."""

    def first(name: str) -> object:
        return next((value for each in settings if (value := getattr(each, name)) is not None), None)

    return Qos(**{name: first(name) for name in Qos.__struct_fields__})  # type: ignore[arg-type]


def judge_qos(netdev: str, wanted: QosWanted, found: Qos) -> Notice | None:
    """What is missing; None: nothing that is known."""
    faults = [
        f"{what} off on priority {', '.join(map(str, sorted(needed - told)))}"
        for what, needed, told in (
            ("PFC", wanted.pfc, found.pfc),
            ("ECN notification (np)", wanted.ecn, found.ecn_notify),
            ("ECN reaction (rp)", wanted.ecn, found.ecn_react),
        )
        if told is not None and needed - told
    ]
    if wanted.trust is not None and found.trust is not None and found.trust != wanted.trust:
        faults.append(f"trusts {found.trust}, expected {wanted.trust}")
    if not faults:
        return None
    return Notice(
        code="cc_disabled",
        severity="warning",
        subject=Subject("netdev", netdev),
        text=f"{netdev}: {'; '.join(faults)}",
        values={"netdev": netdev},
    )
