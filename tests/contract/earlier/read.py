"""Reads messages with whatever ``schemas`` is on the path: an earlier version's, out of its archive.

Standard input: lines {"topic", "key", "arrival_us", "value"}. Standard output: one line each, the reason of the refusal
or "", and what was read, written again. A topic that the version does not have is "unknown_topic".
"""

from __future__ import annotations

import json
import sys

from schemas.codec import BadRecord, decode, encode
from schemas.topics import topics


def read(text: str) -> dict[str, object]:
    """What becomes of one line."""
    line = json.loads(text)
    if line["topic"] not in topics():
        return {"reason": "unknown_topic", "value": None}
    try:
        value = decode(line["topic"], line["key"], json.dumps(line["value"]).encode(), line["arrival_us"])
    except BadRecord as error:
        return {"reason": error.reason, "detail": error.detail, "value": None}
    return {"reason": "", "value": json.loads(encode(line["topic"], value))}


if __name__ == "__main__":
    for text in sys.stdin:
        sys.stdout.write(json.dumps(read(text)) + "\n")
