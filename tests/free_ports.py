"""A port for a program that begins in a moment: none that the kernel may give to a connection meanwhile."""

from __future__ import annotations

import random
import socket
from pathlib import Path

FIRST = 15_000
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A free port of 127.0.0.1 below those that connections get by themselves."""
    beyond = int(RANGE.read_text().split()[0])
    draw = random.SystemRandom()
    while True:
        port = draw.randrange(FIRST, beyond)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
