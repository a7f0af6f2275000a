"""Is this host fit for the agent? RNICs, device files, capabilities, memory that may be locked, clock, spool.

Asked of the process that runs the doctor: run it as the user (and in the unit or container) that the agent runs as.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from collectors.agent_settings import AgentSettings
from collectors.rnic.devices import Inventory
from skeletonhunter.doctor.findings import Finding, failed, listed, ok, warning

CAPABILITIES = {
    "CAP_NET_ADMIN": (12, "some statistics of network devices"),
    "CAP_NET_RAW": (13, "raw sockets of some RDMA stacks"),
    "CAP_SYSLOG": (34, "the kernel's log"),
}
"""Bit in ``CapEff`` of ``/proc/self/status`` (capabilities(7)), and what the agent needs it for."""

RDMA_PARTS = frozenset(("rnic-counters", "rnic-bursts", "rnic-state"))
LEAST_LOCKED_BYTES = 16 << 20


def check_host(settings: AgentSettings, dev: Path = Path("/dev")) -> Iterator[Finding]:
    """All but the clock. ``dev`` is where device files are."""
    parts = set(settings.agent.parts)
    if parts & RDMA_PARTS or "probing" in parts:
        yield from _rnics(Path(settings.agent.sys), needed=bool(parts & RDMA_PARTS))
    if "probing" in parts and settings.probing.transport in ("rdma", "auto"):
        yield from _verbs(dev, needed=settings.probing.transport == "rdma")
    if "probing" in parts or "kernel-log" in parts:
        yield _capabilities(Path(settings.agent.proc) / "self/status")
    if "kernel-log" in parts:
        yield _kernel_log(dev / "kmsg")
    yield _spool(Path(settings.kafka.spool))


def _rnics(sys: Path, needed: bool) -> Iterator[Finding]:
    inventory = Inventory(sys)
    try:
        inventory.refresh()
    except OSError as error:
        inventory.devices = ()
        said = f"{inventory.folder} can't be read: {error.strerror}"
    else:
        said = f"there is no RNIC below {inventory.folder}"
    if not inventory.devices:
        fix = "Load the driver (mlx5_ib or the like) and see that the container has /sys; ibv_devices should list it."
        yield failed("RNICs", said, fix) if needed else warning("RNICs", said, fix)
        return
    down = [
        f"{device.name} port {port} ({state})"
        for device in inventory.devices
        for port in device.ports
        if (state := _state(Path(device.port_folder(port)))) not in ("ACTIVE", "unknown")
    ]
    if down:
        yield warning("RNICs", f"ports that are not active: {listed(down)}", "See cables and switch ports (ip link).")
    yield ok("RNICs", f"{len(inventory.devices)}: {listed(device.name for device in inventory.devices)}")


def _state(port: Path) -> str:
    """``4: ACTIVE`` is ACTIVE."""
    try:
        return (port / "state").read_text().partition(":")[2].strip() or "unknown"
    except OSError:
        return "unknown"


def _verbs(dev: Path, needed: bool) -> Iterator[Finding]:
    say = failed if needed else warning
    else_udp = "" if needed else " Without it probes go over UDP."
    if find_spec("pyverbs") is None:
        yield say("verbs", "pyverbs is not installed", f"pip install 'skeletonhunter[rdma]'.{else_udp}")
        return
    files = sorted((dev / "infiniband").glob("uverbs*"))
    barred = [str(each) for each in files if not os.access(each, os.R_OK | os.W_OK)]
    if not files or barred:
        said = f"no access to {listed(barred)}" if barred else f"there is no {dev}/infiniband/uverbs*"
        yield say("verbs", said, f"Give the agent /dev/infiniband (group, or --device in a container).{else_udp}")
        return
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if locked not in (resource.RLIM_INFINITY,) and locked < LEAST_LOCKED_BYTES:
        yield say("verbs", f"only {locked >> 10} kB of memory may be locked", "Set LimitMEMLOCK=64M (ulimit -l).")
        return
    yield ok("verbs", f"{len(files)} devices can be opened")


def _capabilities(status: Path) -> Finding:
    try:
        line = next(line for line in status.read_text().splitlines() if line.startswith("CapEff:"))
        held = int(line.split()[1], 16)
    except (OSError, StopIteration, ValueError, IndexError):
        return warning("capabilities", f"{status} does not tell them", "See that the container has /proc.")
    missing = [f"{name} ({use})" for name, (bit, use) in CAPABILITIES.items() if not held >> bit & 1]
    if missing:
        fix = "Grant them: AmbientCapabilities= in the unit, --cap-add in a container."
        return warning("capabilities", f"this process lacks {', '.join(missing)}", fix)
    return ok("capabilities", ", ".join(CAPABILITIES))


def _kernel_log(kmsg: Path) -> Finding:
    if os.access(kmsg, os.R_OK):
        return ok("kernel log", f"{kmsg} can be read")
    fix = "Grant CAP_SYSLOG and the device /dev/kmsg, or leave kernel-log out of agent.parts."
    return warning("kernel log", f"{kmsg} can't be read", fix)


def _spool(folder: Path) -> Finding:
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
        return ok("spool", f"{folder} can be written")
    return failed("spool", f"{nearest} can't be written", "Set kafka.spool to a folder of the agent's own.")
