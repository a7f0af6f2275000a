"""What does a command print, at a bounded cost? Runs it without a shell, stops it at a number of seconds or bytes.

Output beyond ``max_bytes`` and a command beyond ``timeout_s`` are cut: ``Output.cut`` says which, and what was read so
far is kept, up to the last whole line. Standard error is kept to 2 kB for the message. Cost: one process.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Sequence

from msgspec import Struct

CHUNK = 65_536
ERROR_BYTES = 2_048
Cut = str
"""Why an output is not whole: ``bytes`` or ``time``."""


class Output(Struct, frozen=True):
    """What was read; ``cut``: why it is not all (None: it is)."""

    text: str
    cut: Cut | None


def run(command: Sequence[str], timeout_s: float = 5.0, max_bytes: int = 16_000_000) -> Output:
    """Runs a command.

    Raises:
        OSError: it is not there, may not be run, or ended with a failure; its own words are in the message.
        ValueError: there is no command.
    """
    if not command:
        raise ValueError("a command needs at least the name of a program")
    with subprocess.Popen(
        list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=True
    ) as process:
        until = time.monotonic() + timeout_s
        data, errors, cut = _read(process, until, max_bytes)
        try:
            code = process.wait(0.0 if cut is not None else max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            cut = cut or "time"
            process.kill()
            code = process.wait()
    if code != 0 and cut is None:
        words = errors.decode(errors="replace").strip() or "no message"
        raise OSError(f"{command[0]} ended with status {code}: {words}")
    if cut is not None:
        data = data[: data.rfind(b"\n") + 1]
    return Output(data.decode(errors="replace"), cut)


def _read(process: subprocess.Popen[bytes], until: float, max_bytes: int) -> tuple[bytes, bytes, Cut | None]:
    """Reads both pipes until they end, or a bound is reached."""
    assert process.stdout is not None and process.stderr is not None
    kept: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    out, err = process.stdout.fileno(), process.stderr.fileno()
    size, cut = {out: 0, err: 0}, None
    with selectors.DefaultSelector() as selector:
        for descriptor in kept:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map() and cut is None:
            left = until - time.monotonic()
            ready = selector.select(max(0.0, left)) if left > 0 else []
            if not ready and left <= 0:
                cut = "time"
            for key, _ in ready:
                data = os.read(key.fd, CHUNK)
                if not data:
                    selector.unregister(key.fd)
                elif key.fd == out or size[err] < ERROR_BYTES:
                    kept[key.fd].append(data)
                size[key.fd] += len(data)
            if size[out] > max_bytes:
                cut = "bytes"
    return b"".join(kept[out])[:max_bytes], b"".join(kept[err])[:ERROR_BYTES], cut
