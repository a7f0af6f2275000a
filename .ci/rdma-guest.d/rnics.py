"""Counters, bursts and states of two Soft-RoCE devices, read from a real kernel: what is done to them is found."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from collectors.observing import Now, Observed
from collectors.rnic.parts import rnic_parts
from collectors.rnic.placement import Placement
from collectors.rnic.settings import RnicSettings

ENDPOINTS = tuple(Placement(job="j", container="c", host="h", rnic=name) for name in ("rxa", "rxb"))
SETTINGS = RnicSettings(
    message_s=1.0, burst_message_s=2.0, devices_s=0.5, gids_s=0.5, state_s=0.5, ethtool_s=5.0, quiet_bytes_s=2e5
)
PATIENCE_S = 40.0

parts = rnic_parts(lambda: ENDPOINTS, Path("/sys"), SETTINGS)
seen: list[Observed] = []


def sh(command: str) -> None:
    """Runs a command of the guest."""
    subprocess.run(command, shell=True, check=True, capture_output=True)


def check(holds: bool, text: str) -> None:
    """Prints what was found; a check that does not hold ends the program."""
    sys.stdout.write(f"{'holds ' if holds else 'FAILED'} {text}\n")
    sys.stdout.flush()
    if not holds:
        sys.exit(1)


def watch(until: Callable[[], bool], limit_s: float = PATIENCE_S) -> bool:
    """Asks the parts, about as the agent does, until something is so; whether it came to that."""
    end_s, turn = time.monotonic() + limit_s, 0
    while not until():
        if time.monotonic() > end_s:
            return False
        now = Now(time.time_ns() // 1000, time.monotonic_ns() // 1000)
        seen.extend(parts.bursts.collect(now))
        if turn % 10 == 0:
            seen.extend(parts.counters.collect(now))
            seen.extend(parts.state.collect(now))
        turn += 1
        time.sleep(0.05)
    return True


def events(code: str, rnic: str = "rxa") -> list[dict]:
    """Events of one kind about a device."""
    mine = [one.fields for one in seen if one.topic == "device-events" and one.fields["event"] == code]
    return [fields for fields in mine if fields["device"] == f"rnic:h/{rnic}"]


def newest(rnic: str, name: str) -> list[int | None]:
    """A counter in the newest message."""
    messages = [one.fields for one in seen if one.topic == "rnic-counters"]
    return next((each.get(name, []) for each in messages[-1]["rnics"] if each["rnic"] == rnic), []) if messages else []


def total(rnic: str, way: str) -> int:
    """Bytes of all bursts so far."""
    told = [one.fields for one in seen if one.topic == "rnic-bursts" and one.fields["endpoint"] == f"c/{rnic}"]
    return sum(burst["bytes"] for fields in told for burst in fields["bursts"] if burst["direction"] == way)


check(watch(lambda: bool(newest("rxa", "tx_bytes"))), "counters are read")
check(
    newest("rxa", "sent_pkts") == [0] * len(newest("rxa", "sent_pkts")) != [], "driver counters stand under their names"
)
inventory = events("rnic_inventory")[0]["values"]
check((inventory["kind"], inventory["netdev"]) == ("soft", "va"), f"the device is known: {inventory}")
check(
    parts.state.gids["c/rxa"].endswith("ffff:0a01:0001"), f"the GID in use is that of the address: {parts.state.gids}"
)

BYTES = 65536 * 60
server = subprocess.Popen(
    ["ib_send_bw", "-d", "rxb", "-x", "1", "-s", "65536", "-n", "60", "-F"], stdout=subprocess.DEVNULL
)
watch(lambda: False, 2.0)
client = subprocess.Popen(
    ["ib_send_bw", "-d", "rxa", "-x", "1", "-s", "65536", "-n", "60", "-F", "10.1.0.2"], stdout=subprocess.DEVNULL
)
check(watch(lambda: client.poll() is not None and server.poll() is not None), "a transfer of perftest ends")
check(watch(lambda: total("rxa", "tx") >= BYTES and total("rxb", "rx") >= BYTES), "both ends tell bursts of its bytes")
sent, received = total("rxa", "tx"), total("rxb", "rx")
check(sent < 1.6 * BYTES, f"{BYTES} bytes were sent with headers and what was sent again: {sent} told")
check(abs(sent - received) < 0.02 * sent, f"both ends tell the same: {sent} sent, {received} received")

sh("ip link set vb down")
check(watch(lambda: bool(events("port_down"))), "a lost carrier is a port that went down")
sh("ip link set vb up")
check(watch(lambda: bool(events("port_up"))), "and came back")
watch(lambda: False, 1.5)
sh("for i in 1 2 3; do ip link set vb down; ip link set vb up; done")
check(
    watch(lambda: any(one["values"]["flaps"] == 4 for one in events("port_down"))),
    "three flaps between two looks are found",
)

sh("ip addr del 10.1.0.1/24 dev va; ip addr add 10.1.9.9/24 dev va")
check(watch(lambda: bool(events("gid_changed"))), "another address is another GID")
check(events("gid_changed")[0]["values"]["gid"].endswith("ffff:0a01:0909"), "the new GID is named")

sh("rdma link del rxa; rdma link add rxa type rxe netdev va")
check(watch(lambda: bool(events("rnic_reset"))), "a device made anew is a reset")
check(watch(lambda: newest("rxa", "driver_epoch")[-1:] == [1]), "and a new epoch of its counters")
check(newest("rxa", "tx_bytes")[0] is not None and newest("rxa", "tx_bytes")[0] < 10_000, "which begin anew")
sh("rdma link del rxb")
check(watch(lambda: bool(events("rnic_missing", "rxb"))), "a device that is gone is missing")
check(newest("rxb", "tx_bytes")[-1] is None, "and gives nulls")
sh("rdma link add rxb type rxe netdev vb")
check(watch(lambda: bool(events("rnic_present", "rxb"))), "it is back")
