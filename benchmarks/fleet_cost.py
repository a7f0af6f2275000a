"""What does each stage cost for a fleet of N RNICs, in messages, processor time, memory and bytes?

    python benchmarks/fleet_cost.py [--rnics 1000 5000 10000 20000 40000] [--stages detection ...] [--seconds 76]
        [--slot-s 0.5] [--profile STAGE] [-o RESULTS.json]

All stages run in one process, one after another, over the load of ``fleet_load``, which another process makes.
*Share*: processor seconds of the stage (decoding, claims, sequencing, folding, encoding, checkpoints) per second of
event time, from second ``STEADY_S`` on; with 76 s, all that the load has, one checkpoint of large states is in it, and
they come once a minute. *Said*: a digest of all that a stage has sent, the same for two versions of the program that
say the same of the same load. Kafka's own client is not in
any share: see ``fleet_kafka.py``. Memory is the largest
resident set of the process, with the records of the second that is read; state is in bytes as pickled. *Bare* is what
orjson alone takes for the probe results in the same seconds: times on a busy machine are worth something beside it
only. One pod has a fault from second ``FAULT_S`` - ``FIRST_S`` of the load on, which a short run does not come to.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import multiprocessing
import os
import pstats
import resource
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import orjson

from benchmarks.fleet_load import Sent, fleet, messages, note
from benchmarks.fleet_stage import StageAtWork
from probe_planner.parameters import PlannerParameters
from streams.serving import RARELY
from streams.stages import STAGES

SIZES = (1_000, 5_000, 10_000, 20_000, 40_000)
STEADY_S = 20
"""Seconds until what is measured is what a fleet takes all day: event time is late by six, and jobs, which all begin at
once here, are looked at more often in their first quarter of a minute. A real fleet's begin a few in a minute."""


def _work(pipe: Connection, options: argparse.Namespace) -> None:
    """The stages, second by second, each with what those before it have sent."""
    gc.set_threshold(*RARELY)
    at_work = {name: StageAtWork(name, options.checkpoint) for name in STAGES if name in options.stages}
    ends: Counter[str] = Counter()
    profiler = cProfile.Profile() if options.profile else None
    bare_s: list[float] = []
    while (given := pipe.recv()) is not None:
        t_us, sent = given
        ends.update(each.topic for each in sent)
        bare_s.append(_decode_bare(sent))
        for stage in at_work.values():
            if profiler and len(bare_s) > STEADY_S and stage.name == options.profile:
                sent += profiler.runcall(stage.second, t_us, sent, ends)
            else:
                sent += stage.second(t_us, sent, ends)
        del sent, given
    if profiler:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(60).sort_stats("cumtime").print_stats(60)
    pipe.send({"bare_decode_s": sum(bare_s[STEADY_S:])} | {name: _report(stage) for name, stage in at_work.items()})


def _decode_bare(sent: list[Sent]) -> float:
    """Processor seconds of making Python objects of the probe results by orjson, nothing else: what no reader is below.

    Of every eighth message, times eight.
    """
    some = [each.value for each in sent if each.topic == "probe-results"][::8]
    begin = time.process_time()
    for raw in some:
        orjson.loads(raw)
    return 8.0 * (time.process_time() - begin)


def _report(stage: StageAtWork) -> dict[str, Any]:
    steady, ports = stage.cpu_s[STEADY_S:], stage.ports
    fold = stage.runner.fold
    return {
        "share_of_a_core": round(sum(steady) / len(steady), 4),
        "worst_second_s": round(max(steady), 3),
        "checkpoint_share": round(stage.checkpoint_s_spent / len(stage.cpu_s), 4),
        "messages_in": dict(stage.received),
        "bytes_in": dict(stage.received_bytes),
        "messages_out": dict(ports.messages),
        "bytes_out": dict(ports.bytes),
        "checkpoints": ports.checkpoints,
        "checkpoint_bytes": ports.shelved_bytes,
        "state_bytes": sum(len(fold.snapshot(key)) for key in fold.states),
        "dead_letters": sum(stage.letters.counts.values()),
        "said": stage.said.hexdigest(),
    }


def measure(rnics: int, options: argparse.Namespace) -> dict[str, Any]:
    """All stages with one size of fleet."""
    load = fleet(rnics, options.faults, options.slot_s)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    worker = context.Process(target=_work, args=(theirs, options))
    worker.start()
    theirs.close()
    for given in messages(load, options.seconds):
        ours.send(given)
    ours.send(None)
    stages: dict[str, Any] = ours.recv()
    worker.join()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    head = {
        "what": "stages" if options.slot_s == PlannerParameters().slot_s else "stages-slower",
        "slot_s": options.slot_s,
        "rnics": load.rnics,
        "jobs": load.jobs,
        "seconds": options.seconds,
        "steady_s": STEADY_S,
        "checkpoint_s": options.checkpoint,
    }
    return {**head, **stages, "worker_peak_rss_mib": peak, "load_average": round(os.getloadavg()[0], 1)}


def main() -> None:
    """Prints a JSON object per point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rnics", type=int, nargs="+", default=SIZES)
    parser.add_argument("--stages", nargs="+", default=tuple(STAGES), choices=tuple(STAGES))
    parser.add_argument("--seconds", type=int, default=76)
    parser.add_argument("--faults", type=int, default=1, help="pods with a fault")
    parser.add_argument("--checkpoint", type=float, default=10.0, help="seconds of event time between checkpoints")
    slot_s = PlannerParameters().slot_s
    parser.add_argument("--slot-s", type=float, default=slot_s, help="the planner's slot_s: longer is fewer probes")
    parser.add_argument("--profile", choices=tuple(STAGES), help="the stage to profile")
    parser.add_argument("-o", "--output", type=Path, help="a file that gets a JSON object per line")
    options = parser.parse_args()
    for rnics in options.rnics:
        note(measure(rnics, options), options.output)


if __name__ == "__main__":
    main()
