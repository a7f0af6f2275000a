"""How does an alert look in a chat, on a phone, at night? A header, three short sections, the command. Pure.

Slack's Block Kit: a header holds 150 characters, a section 3000; ``&``, ``<`` and ``>`` are escaped, so nothing in an
incident can mention people or make links. ``text`` is what the lock screen shows.
"""

from __future__ import annotations

from typing import Any

from schemas.alerting import Severity
from skeletonhunter.sinks.alert_body import AlertBody

Json = dict[str, Any]

HEADER_LENGTH, SECTION_LENGTH, REASON_LENGTH = 150, 3000, 300
MARKS: dict[Severity, str] = {
    "critical": ":red_circle:",
    "error": ":large_orange_circle:",
    "warning": ":large_yellow_circle:",
    "info": ":white_circle:",
}


def slack_message(body: AlertBody) -> Json:
    """The message that an incoming webhook takes."""
    mark = ":white_check_mark:" if body.state == "resolved" else MARKS[body.severity]
    lines = [f"*What*  {_escaped(body.what)}"]
    if body.state != "resolved":
        lines.append(f"*Do*  {_escaped(body.todo)}")
        lines.append(f"*Why*  {_escaped(_cut(body.why, REASON_LENGTH))}")
    links = f"<{body.link}|open>  " if body.link else ""
    foot = f"{body.severity}: {_escaped(body.severity_why)}\n{links}`{_escaped(body.report)}`"
    return {
        "text": f"{mark} {_escaped(body.summary)}"[:SECTION_LENGTH],
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": _cut(f"{mark} {body.title}", HEADER_LENGTH)}},
            *({"type": "section", "text": _markdown(_cut(line, SECTION_LENGTH))} for line in lines),
            {"type": "context", "elements": [_markdown(_cut(foot, SECTION_LENGTH))]},
        ],
    }


def _markdown(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
