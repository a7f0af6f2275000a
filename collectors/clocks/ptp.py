"""What does PTP know of the clock? ``pmc`` (TIME_STATUS_NP, CURRENT_DATA_SET, PORT_DATA_SET) and lines of ptp4l,
phc2sys.

ptp4l disciplines the card's clock (PHC), phc2sys the host's by it: the offset of the host is the sum of both, where
known. Offsets are nanoseconds, clock less master. Bound: the larger of the last offsets' magnitude and half the path
delay (which may all be asymmetry), of each of both steps. A port that is not ``SLAVE`` (or behind no grandmaster)
corrects nothing. ``s0`` in a line = not locked, ``s1`` = about to step, ``s2``/``s3`` = locked. The number in a line's
brackets is the monotonic clock in seconds, so a log tells how old its last word is. On a terminal that number stands
where syslog and the journal put the process: ``ptp4l[5196.811]: ...`` and ``ptp4l[77]: [5196.811] ...`` say the same.

phc2sys may follow several clocks (``-a``, boundary clocks): only ``CLOCK_REALTIME`` is the host's, as is the one
clock of older releases, which is not named. What follows the host itself (``sys offset``) tells nothing of it.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from collectors.clocks.estimates import Estimate

COMMAND = ("pmc", "-u", "-b", "0", "GET TIME_STATUS_NP", "GET CURRENT_DATA_SET", "GET PORT_DATA_SET")
Program = Literal["ptp4l", "phc2sys"]
_FIELD = re.compile(r"(?m)^\s+(master_offset|offsetFromMaster|meanPathDelay|gmPresent|portState)\s+(\S{1,32})")
_TAG = re.compile(r"\[[^\]]{0,64}\]")
_LINE = re.compile(
    r"(?P<program>ptp4l|phc2sys)(?:(?:\[\d{1,10}\])?: )?\[(?P<mono_s>\d{1,12}\.\d{1,9})\]:?"
    r"(?P<whose>.*?)(?:offset|rms)\s+(?P<offset>-?\d{1,19})(?!\d)"
    r"(?:\s+max\s+(?P<most>\d{1,19})(?!\d))?(?:\s+(?P<state>s\d))?"
    r"(?:\s+freq\s+[+-]?\s*\d{1,12}(?:\s+\+/-\s*\d{1,12})?)?(?:\s+(?:path )?delay\s+(?P<delay>-?\d{1,18}))?"
)


class PtpStatus(Struct, frozen=True, kw_only=True):
    """Offset and delay in ns; ``locked``: whether a master corrects the clock; ``at_us``: monotonic, where told."""

    locked: bool
    offset_ns: float
    delay_ns: float = 0.0
    most_ns: float = 0.0
    at_us: int | None = None


def parse_pmc(text: str) -> PtpStatus | None:
    """Reads pmc's answers; None: there is no offset among them (ptp4l does not run, or has no right to tell)."""
    states: list[str] = []
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        if name == "portState":
            states.append(value)
        fields.setdefault(name, value)
    offset = _number(fields.get("master_offset", fields.get("offsetFromMaster")))
    if offset is None:
        return None
    slave = not states or "SLAVE" in states
    return PtpStatus(
        locked=slave and fields.get("gmPresent", "true") == "true",
        offset_ns=offset,
        delay_ns=abs(_number(fields.get("meanPathDelay")) or 0.0),
    )


def parse_ptp_line(line: str) -> tuple[Program, PtpStatus] | None:
    """Reads a line of ptp4l or phc2sys that tells an offset (``rms`` of a summary has no sign); None: it tells none."""
    found = _LINE.search(line[:1_000])
    if found is None or (found["program"] == "phc2sys" and not _is_of_host(found["whose"])):
        return None
    if found["most"] is None and found["state"] is None:
        return None  # cut off before it says whether the clock is locked
    offset = float(found["offset"])
    most = float(found["most"]) if found["most"] else 0.0
    delay = abs(float(found["delay"])) if found["delay"] else 0.0
    locked = found["state"] in ("s2", "s3", None)
    program: Program = "ptp4l" if found["program"] == "ptp4l" else "phc2sys"
    if found["most"]:
        offset = 0.0  # a summary: its rms and maximum bound the error, its sign is not told
    at_us = round(float(found["mono_s"]) * 1e6)
    return program, PtpStatus(locked=locked, offset_ns=offset, delay_ns=delay, most_ns=most, at_us=at_us)


def _is_of_host(before: str) -> bool:
    """Whether phc2sys tells of the host's clock: ``[<configuration>] <clock> <source>`` stands before the offset."""
    words = _TAG.sub("", before).split()
    return words[-1:] != ["sys"] and (not words or words[0] in ("CLOCK_REALTIME", "phc", "pps"))


def parse_ptp_log(text: str) -> dict[Program, PtpStatus]:
    """The last word of each program in a piece of their log."""
    return dict(found for line in text.splitlines() if (found := parse_ptp_line(line)) is not None)


def judge_ptp(card: PtpStatus, host: PtpStatus | None, mono_us: int) -> Estimate:
    """What both steps mean for the host's clock; without the second one it is taken to follow the card."""
    steps = [card] if host is None else [card, host]
    told = [step.at_us for step in steps if step.at_us is not None]
    error_ns = sum(max(abs(step.offset_ns), step.most_ns, step.delay_ns / 2) for step in steps)
    return Estimate(
        teller="ptp",
        at_us=min(mono_us, *told) if told else mono_us,
        synced=all(step.locked for step in steps),
        offset_us=sum(step.offset_ns for step in steps) / 1e3,
        error_us=error_ns / 1e3,
    )


def _number(text: str | None) -> float | None:
    if text is None or re.fullmatch(r"[+-]?\d{1,18}(?:\.\d{1,9})?", text) is None:
        return None
    return float(text)
