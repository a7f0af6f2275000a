"""What the programs in the guests share: probers on Soft-RoCE devices, and checks that say what they found."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time

from agents import Driver, endpoint_map, listed, name_of

from collectors.probing import Home, Prober, ProbingSettings
from schemas.probing import ProbeResult

logging.basicConfig(level=logging.INFO, format="%(message)s")

BEGUN = time.monotonic()


def sh(command: str) -> str:
    """Runs a command of the guest and gives its output."""
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout


def dropped(device: str, handle: str) -> int:
    """Packets that a queueing discipline of a device has dropped, as the kernel counts them."""
    disciplines = json.loads(sh(f"tc -s -j qdisc show dev {device}"))
    return next(int(one["drops"]) for one in disciplines if one["handle"] == handle)


def say(text: str) -> None:
    """A line of the output, with the seconds that this program has taken."""
    sys.stdout.write(f"{time.monotonic() - BEGUN:6.1f} s  {text}\n")
    sys.stdout.flush()


def check(holds: bool, text: str) -> None:
    """Prints what was found; a check that does not hold ends the program."""
    say(f"{'holds ' if holds else 'FAILED'} {text}")
    if not holds:
        sys.exit(1)


def one_way(results: list[ProbeResult]) -> tuple[int, int, int]:
    """(sent, lost, late) of some trains."""
    return sum(r.sent for r in results), sum(r.lost for r in results), sum(r.late or 0 for r in results)


def least_rtt_us(results: list[ProbeResult]) -> float:
    """What the emulator's own pauses, which only add, disturb least."""
    return min(rtt for r in results for rtt in r.rtt_us)


def two_agents(addresses: tuple[str, str], settings: ProbingSettings) -> Driver:
    """Agents 1 and 2 on devices rxa and rxb of this guest."""
    driver = Driver(
        {n: Prober(Home(host=f"h{n}", devices={"rnic0": d}), settings) for n, d in ((1, "rxa"), (2, "rxb"))}
    )
    both = endpoint_map([listed(n, ip=ip) for n, ip in enumerate(addresses, 1)])
    for prober in driver.probers.values():
        prober.take_map(both)
    return driver


class Teller:
    """Trains of agent 1 with probes in them, told from now on."""

    def __init__(self, driver: Driver) -> None:
        self.told: list[ProbeResult] = []
        self._driver = driver
        self._seen = len(driver.said)

    def look(self) -> int:
        """How many by now."""
        for observed in self._driver.said[self._seen :]:
            if observed.fields["src"] == name_of(1):
                self.told += [r for r in observed.fields["results"] if r.sent and r.kind != "traceroute"]
        self._seen = len(self._driver.said)
        return len(self.told)


def replies(driver: Driver, wanted: int, limit_s: float = 60.0) -> list[ProbeResult]:
    """Runs until agent 1 has told of so many trains with probes in them, from now on."""
    teller = Teller(driver)
    driver.run(lambda: teller.look() >= wanted, limit_s)
    return teller.told


def settle(driver: Driver) -> list[ProbeResult]:
    """Runs until nothing of agent 1 is on its way or untold."""
    teller, sender = Teller(driver), driver.probers[1]._sender
    driver.run(lambda: sender.next_us() is None and not driver.probers[1]._results)
    teller.look()
    return teller.told
