"""What do the map files say? JSON with the fields of ``endpoint-map`` or ``fabric-map``, published when they change.

A file is looked at by inode, size and time of change, and read when one differs. It needs no envelope, and ``version``
may be left out: then it is the time of the file's change in milliseconds, which grows with each change. An unchanged
map is said again from time to time, for topics that were made anew. A wrong file is refused with one sentence (file,
field, expectation) and what was published before stays; the other files go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import orjson

from collectors.observing import Now, Observed
from schemas.instants import SECOND_US
from schemas.refusals import explain
from schemas.topics import topic

Stamp = tuple[int, int, int]

_ENVELOPE: dict[str, Any] = {
    "v": 1,
    "t_us": 0,
    "fabric": "-",
    "producer": {"id": "-", "kind": "-", "boot": "-", "seq": 0},
    "clock": {"source": "none", "offset_us": 0.0, "error_us": 0.0},
}


def parse_map(topic_name: str, path: str, data: bytes, version: int) -> dict[str, Any]:
    """The fields of a map file; ``version`` is used where the file gives none.

    Raises:
        ValueError: naming file, field and expectation.
    """
    try:
        fields = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise ValueError(f"{path}: expected a JSON object, got {type(fields).__name__}")
    fields = {"version": version, **{name: field for name, field in fields.items() if name not in _ENVELOPE}}
    value_type = topic(topic_name).value_type
    wire = {**fields, **_ENVELOPE}
    try:
        msgspec.convert(wire, value_type)
    except msgspec.ValidationError as error:
        raise ValueError(f"{path}: {explain(error, wire, value_type)}") from error
    return fields


class MapFiles:
    """Collector of one topic's map files."""

    def __init__(self, topic_name: str, paths: Sequence[Path], look_s: float, again_s: float) -> None:
        self.name = f"{topic_name} from files"
        self.period_s = look_s
        self._topic, self._paths, self._again_us = topic_name, tuple(paths), round(again_s * SECOND_US)
        self._seen: dict[Path, Stamp] = {}
        self._maps: dict[Path, dict[str, Any]] = {}
        self._said_us: dict[Path, int] = {}
        self._wrong: dict[Path, str] = {}

    def collect(self, now: Now) -> Iterable[Observed]:
        """Maps that are new, and those that are to be said again."""
        for path in self._paths:
            self._look(path)
            yield from self._say(path, now)
        if self._wrong:
            raise ValueError("; ".join(self._wrong.values()))

    def _look(self, path: Path) -> None:
        try:
            about = path.stat()
            stamp = about.st_ino, about.st_size, about.st_mtime_ns
            if self._seen.get(path) == stamp:
                return
            self._maps[path] = parse_map(self._topic, str(path), path.read_bytes(), about.st_mtime_ns // 1_000_000)
        except OSError as error:
            self._wrong[path] = f"{path}: {error.strerror}"
            return
        except ValueError as error:
            self._wrong[path] = str(error)
        else:
            self._wrong.pop(path, None)
            self._said_us.pop(path, None)
        self._seen[path] = stamp

    def _say(self, path: Path, now: Now) -> Iterator[Observed]:
        fields = self._maps.get(path)
        said_us = self._said_us.get(path)
        if fields is None or (said_us is not None and now.mono_us - said_us < self._again_us):
            return
        self._said_us[path] = now.mono_us
        stream = f"{self._topic}.{fields['job']}" if "job" in fields else self._topic
        yield Observed(self._topic, stream, now.t_us, fields)
