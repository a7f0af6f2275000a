"""A host's devices as log lines name them, and its files."""

from __future__ import annotations

from pathlib import Path

from collectors.events.devices import Devices
from collectors.observing import Now

DATA = Path(__file__).parents[3] / "data" / "collectors" / "events"
NEW_YEAR_US = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z"""
NOW = Now(t_us=NEW_YEAR_US + 10_000_000, mono_us=2_000_000_000)

DEVICES = Devices(
    host="h1",
    by_pci={"0000:1a:00.0": "mlx5_0", "0000:9c:00.0": "mlx5_1"},
    by_netdev={"eth2": "mlx5_0", "eth3": "mlx5_0", "bond0": "mlx5_0", "ib6": "mlx5_1"},
    below_bridge={"0000:97:01.0": ("mlx5_1",), "0000:00:03.0": ("mlx5_0", "mlx5_1")},
)


def devices() -> Devices:
    return DEVICES


def text(name: str) -> str:
    return (DATA / name).read_text()


def write(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root
