"""What does probing cost a host? Processor time per probe, pieces and whole, over UDP on loopback.

    python benchmarks/probing.py [--seconds 20] [--pps 50]

*Whole*: two probers in this process, each sends ``--pps`` probes a second to the other and answers as many, turned
by a plain loop; what is stated is processor time per probe, so sending, answering and booking it. An agent that
sends 100 a second and is sent as many has 100 of these. Pieces: the best of five rounds. Aim for the whole agent
with 100 probes a second: 3 % of a core. Loopback delivers in the sender's system call, which a card does not.
"""

from __future__ import annotations

import argparse
import json
import select
import time
from collections.abc import Callable

from collectors.observing import Now
from collectors.probing import Home, Prober, ProbingSettings
from collectors.probing.packet import Kind, Packet, read_packet, write_packet
from collectors.probing.timing import Stamps, Times, split
from collectors.probing.trains import Ledger, Train
from collectors.probing.udp_socket import UdpSocket
from schemas.envelope import Clock, Producer
from schemas.maps import Endpoint, EndpointMap
from schemas.probing import ExpectedRound, ProbeBudget, ProbePlan

NAMES = ("a/r", "b/r")
TRAIN = 10
ENVELOPE = {
    "v": 1,
    "t_us": 1,
    "producer": Producer(id="agent:bench/maps", kind="bench", boot="b", seq=1),
    "clock": Clock(source="none", offset_us=0.0, error_us=0.0),
    "fabric": "f",
    "job": "j",
}


def best_us(action: Callable[[], object], rounds: int) -> float:
    """Processor time of one call, microseconds."""
    best = float("inf")
    for _ in range(5):
        begin = time.process_time()
        for _ in range(rounds):
            action()
        best = min(best, (time.process_time() - begin) / rounds * 1e6)
    return round(best, 2)


def pieces() -> dict[str, float]:
    """Costs of single steps."""
    packet, key = Packet(kind=Kind.PROBE, sport=1, session=2, seq=3, target=4, sent_ns=5), b"k" * 32
    plain, tagged = write_packet(packet), write_packet(packet, key)
    ledger, times, now = Ledger(0.5, 2.0), Times(1.0, 1.0, 1.0, 1.0, "kernel"), Now(1, 1)
    near, far = UdpSocket("127.0.0.2", 0), UdpSocket("127.0.0.3", 0)

    def book() -> None:
        train = Train(src="a/r", dst="b/r", kind="udp", planned=TRAIN, plan_version=1)
        for seq in range(TRAIN):
            ledger.note_sent(train, seq, now)
        for seq in range(TRAIN):
            ledger.note_answer(seq, times, now)
        list(ledger.take_decided())

    def probe() -> None:
        near.probe(plain, ("127.0.0.3", far.port))
        near.next_error()
        list(far.datagrams())

    found = {
        "write packet": best_us(lambda: write_packet(packet), 20_000),
        "write packet with key": best_us(lambda: write_packet(packet, key), 20_000),
        "read packet": best_us(lambda: read_packet(plain), 20_000),
        "read packet with key": best_us(lambda: read_packet(tagged, key), 20_000),
        "split times": best_us(lambda: split(Stamps(0, 1000, 5000, 9000, 1, 2, "kernel")), 20_000),
        "book a train of ten": best_us(book, 2_000),
        "send, stamp, receive": best_us(probe, 3_000),
    }
    near.close()
    far.close()
    return found


def both(pps: float, port: int) -> list[Prober]:
    """Two agents that probe each other."""
    endpoints = tuple(
        Endpoint(endpoint=n, container=n[0], host=n[0], rnic="r", rail=0, ip=f"127.0.0.{i}", state="ready")
        for i, n in enumerate(NAMES, 2)
    )
    listed = EndpointMap(**ENVELOPE, version=1, state="running", reason="bench", endpoints=endpoints)
    round_s = TRAIN / pps
    plan = ProbePlan(
        **ENVELOPE,
        plan="p",
        version=1,
        skeleton_version=None,
        mode="basic",
        budget=ProbeBudget(),
        expected=ExpectedRound(round_s=round_s, probes=2, lower_bound_s=round_s),
        slots=(((NAMES[0], NAMES[1], 50_000),), ((NAMES[1], NAMES[0], 50_001),)),
        excluded=(),
    )
    made = [Prober(Home(host=name[0]), ProbingSettings(transport="udp", port=port)) for name in NAMES]
    for prober in made:
        prober.take_map(listed)
        prober.take_plan(plan)
    return made


def turn(probers: list[Prober], until: Callable[[], bool]) -> None:
    """As the agent's loop does."""
    due_us = [0] * len(probers)
    while not until():
        wait_s = max(0.0, (min(due_us) - now().mono_us) / 1e6)
        readable = select.select([prober.fileno() for prober in probers], [], [], wait_s)[0]
        for number, prober in enumerate(probers):
            if prober.fileno() in readable:
                list(prober.receive(now()))
            if now().mono_us >= due_us[number]:
                list(prober.collect(now()))
                due_us[number] = now().mono_us + round(prober.period_s * 1e6)


def now() -> Now:
    return Now(time.time_ns() // 1000, time.monotonic_ns() // 1000)


def whole(seconds: float, pps: float) -> dict[str, float]:
    """Processor time per probe of two agents."""
    probers = both(pps, 17_171)
    turn(probers, lambda: all(prober.tally.answered for prober in probers))
    before, begin, end = sum(p.tally.answered for p in probers), time.process_time(), time.monotonic() + seconds
    turn(probers, lambda: time.monotonic() >= end)
    used, answered = time.process_time() - begin, sum(p.tally.answered for p in probers) - before
    for prober in probers:
        list(prober.close(now()))
    return {
        "probes": answered,
        "us per probe": round(used / answered * 1e6, 1),
        "percent of a core": 100 * used / seconds,
    }


def main() -> None:
    """Prints what was found as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--pps", type=float, default=50.0)
    options = parser.parse_args()
    print(json.dumps({"pieces us": pieces(), "whole": whole(options.seconds, options.pps)}, indent=2))


if __name__ == "__main__":
    main()
