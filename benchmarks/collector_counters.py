"""What do the RNIC collectors of the agent cost? Processor time per second and memory, on a made-up sysfs tree.

    python benchmarks/collector_counters.py [--rnics 8] [--seconds 120] [--sample-ms 50]

The tree has cards like mlx5: 17 + 4 files in ``counters``, 31 in ``hw_counters``, GID tables of 256 slots, a PCIe path
of four links. The collectors are asked as the agent asks them (counters and states once a second, bursts every
``--sample-ms``), with instants made up, so no time passes; messages are encoded to JSON, which is part of the cost. The
byte counters change before every sample (half the time in a burst); that work is measured and taken off.
Files of a disk, not of a driver: what a real driver needs to answer comes on top. Aim for the whole agent: 10 ms of
processor time per second (1 % of a core) and 35 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from collectors.observing import Now
from collectors.rnic.parts import RnicParts, rnic_parts
from collectors.rnic.placement import Placement
from collectors.rnic.settings import RnicSettings

IBTA = [
    "VL15_dropped",
    "excessive_buffer_overrun_errors",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "port_rcv_constraint_errors",
    "port_rcv_errors",
    "port_rcv_packets",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_constraint_errors",
    "port_xmit_discards",
    "port_xmit_packets",
    "port_xmit_wait",
    "symbol_error",
    "multicast_rcv_packets",
    "multicast_xmit_packets",
    "unicast_rcv_packets",
    "unicast_xmit_packets",
]
HARDWARE = [f"hw_counter_{number}" for number in range(30)]
T0_US = 1_700_000_000_000_000
HEAVY = ("numpy", "scipy", "polars", "faust", "pyarrow", "clickhouse_connect")


def make_card(sys_root: Path, number: int) -> Path:
    """One card; the folder of its byte counters."""
    bridge = f"pci0000:{number:02x}/0000:{number:02x}:01.0/0000:{number + 64:02x}:00.0/0000:{number + 96:02x}:00.0"
    pci = sys_root / "devices" / bridge / f"0000:{number + 128:02x}:00.0"
    folder = pci / "infiniband" / f"mlx5_{number}"
    port = folder / "ports/1"
    texts = {port / "counters" / name: "12345" for name in IBTA}
    texts |= {port / "hw_counters" / name: "67890" for name in HARDWARE}
    texts |= {port / "gids" / str(slot): "0000:0000:0000:0000:0000:0000:0000:0000" for slot in range(256)}
    texts |= {port / "gids" / str(slot): "fe80:0000:0000:0000:0000:00ff:fe00:0001" for slot in range(4)}
    texts |= {port / "gid_attrs/types" / str(slot): "RoCE v2" for slot in range(4)}
    texts |= {port / "counters/port_xmit_data": "1", port / "counters/port_rcv_data": "1"}
    texts |= {port / "state": "4: ACTIVE", port / "phys_state": "5: LinkUp", port / "rate": "400 Gb/sec (4X NDR)"}
    texts |= {folder / "fw_ver": "28.39.1002", folder / "node_guid": f"0000:0000:0000:{number + 1:04x}"}
    while pci.name.startswith("0000:"):
        texts |= {pci / f"{which}_link_speed": "32.0 GT/s PCIe" for which in ("current", "max")}
        texts |= {pci / f"{which}_link_width": "16" for which in ("current", "max")}
        pci = pci.parent
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    (folder / "device").symlink_to("../..")
    link = sys_root / "class/infiniband" / f"mlx5_{number}"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(folder)
    return port / "counters"


class Traffic:
    """Moves the byte counters of all cards."""

    def __init__(self, folders: list[Path]) -> None:
        paths = [folder / name for folder in folders for name in ("port_xmit_data", "port_rcv_data")]
        self._files = [os.open(path, os.O_WRONLY) for path in paths]
        self._words = 10**9
        self.spent_s = 0.0

    def move(self, mono_us: int, interval_us: int) -> None:
        """Half of each second at 20 GB/s, else background."""
        began = time.process_time()
        self._words += (5 * 10**9 if mono_us % 1_000_000 < 500_000 else 10**5) * interval_us // 1_000_000
        text = b"%d\n" % self._words
        for file in self._files:
            os.pwrite(file, text, 0)
        self.spent_s += time.process_time() - began


class Meter:
    """Processor time of one part."""

    def __init__(self, collect: Callable[[Now], object]) -> None:
        self.collect = collect
        self.spent_s = 0.0
        self.longest_s = 0.0
        self.bytes = 0

    def ask(self, now: Now) -> None:
        """One reading, encoded."""
        began = time.process_time()
        for one in self.collect(now):  # type: ignore[attr-defined]
            self.bytes += len(msgspec.json.encode(one.fields))
        spent = time.process_time() - began
        self.spent_s += spent
        self.longest_s = max(self.longest_s, spent)


def drive(parts: RnicParts, traffic: Traffic, seconds: int, sample_us: int) -> dict[str, Meter]:
    """Asks all parts for some seconds that do not pass; the first ten are warming up."""
    meters = {part.name: Meter(part.collect) for part in (parts.counters, parts.bursts, parts.state)}
    for mono_us in range(0, (seconds + 10) * 1_000_000, sample_us):
        if mono_us == 10_000_000:
            for meter in meters.values():
                meter.spent_s, meter.longest_s, meter.bytes = 0.0, 0.0, 0
        traffic.move(mono_us, sample_us)
        now = Now(T0_US + mono_us, mono_us)
        meters["rnic-bursts"].ask(now)
        if mono_us % 1_000_000 < sample_us:
            meters["rnic-counters"].ask(now)
            meters["rnic-state"].ask(now)
    return meters


def rss_mb() -> float:
    """Memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rnics", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--sample-ms", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        traffic = Traffic([make_card(root, number) for number in range(options.rnics)])
        placements = tuple(
            Placement(job="j", container="c", host="h", rnic=f"mlx5_{number}") for number in range(options.rnics)
        )
        settings = RnicSettings(burst_sample_s=options.sample_ms / 1000)
        parts = rnic_parts(lambda: placements, root, settings)
        before_mb = rss_mb()
        meters = drive(parts, traffic, options.seconds, options.sample_ms * 1000)
        found = {
            name: {
                "ms_per_second": round(1000 * meter.spent_s / options.seconds, 3),
                "longest_ms": round(1000 * meter.longest_s, 3),
                "bytes_per_second": round(meter.bytes / options.seconds),
            }
            for name, meter in meters.items()
        }
        total = sum(meter.spent_s for meter in meters.values()) / options.seconds
        print(
            json.dumps(
                {
                    "rnics": options.rnics,
                    "sample_ms": options.sample_ms,
                    "parts": found,
                    "percent_of_a_core": round(100 * total, 3),
                    "rss_mb": round(rss_mb(), 1),
                    "rss_before_mb": round(before_mb, 1),
                    "heavy_modules": [name for name in HEAVY if name in sys.modules],
                },
                indent=2,
            )
        )


if __name__ == "__main__":
    main()
