"""Can one core localize on a fabric of 40,000 RNICs with 1,000 anomalies in a minute, within a second of detection?

    OMP_NUM_THREADS=1 python benchmarks/localization_fleet.py [--rnics 40000] [--seconds 90] [--scene many] [--profile]

A rail-optimised fabric: pods of 128 hosts with 8 RNICs, a leaf per pod and rail, 16 spines per rail. Jobs of the
paper's sizes fill it; every endpoint probes 9 others of its rail once a second with trains of 100 packets, whose paths
are traced. What detection sends is given to the engine second by second: ``pair-windows`` of all jobs and, from two
seconds after its onset on, an anomaly for each pair that a fault makes lose a tenth or more, at most 18 of a fault in a
second. ``--quiet`` seconds without a fault come first. Scenes: ``many``: single RNICs and leaf-spine links fail one
after another, and go on; ``leaf``: a leaf dies.

Measured is processor time of the engine's ``step``, without decoding (stated beside it), and, of every fault, the
event time from its first anomaly to the incident that names it, to which the processor time of that second is added.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pickle
import pstats
import resource

import msgspec
import numpy as np

from benchmarks.detection_fleet import timed
from benchmarks.localization_fabric import BEGIN_US, RAILS, Fleet, broken, fabric_map, jobs_of
from localization.engine import LocalizationEngine, LocalizationState
from localization.parameters import LocalizationParameters
from schemas.diagnosis import Anomaly, Incident, PairWindows
from schemas.folding import Emission, Observation, TimeReached
from schemas.instants import SECOND_US


def measure(options: argparse.Namespace) -> dict[str, object]:
    """Runs a scene."""
    draw = np.random.default_rng(options.seed)
    hosts = options.rnics // RAILS
    jobs, faults = jobs_of(hosts, draw), broken(options.scene, hosts, options.quiet, draw)
    fleet, engine = Fleet(jobs, faults, options.seed), LocalizationEngine(LocalizationParameters())
    state, profiler = engine.start("f"), cProfile.Profile()
    maps = [("fabric-map", fabric_map(hosts)), *(("fabric-endpoints", job.endpoints()) for job in jobs)]
    maps_s = timed(lambda: [engine.step(state, Observation(topic, value)) for topic, value in maps])
    took: list[float] = []
    incidents: list[tuple[int, Incident]] = []
    decoding = 0.0
    for number in range(1, options.quiet + options.seconds + 1):
        sent = list(fleet.second(number))
        if number == 1:
            decoding = decode_share([value for topic, value in sent if topic == "pair-windows"])
        if options.profile and number == options.quiet:
            profiler.enable()
        seconds, told = one_second(engine, state, sent, number)
        took.append(seconds)
        incidents += [(number, emission.value) for emission in told if isinstance(emission.value, Incident)]
        if options.verbose:
            print(number, round(seconds, 2), len(fleet.opened), len(told), flush=True)
    profiler.disable()
    if options.profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
    return {
        "rnics": options.rnics,
        "jobs": len(jobs),
        "trains_per_second": sum(len(job.src) for job in jobs),
        "anomalies": len(fleet.opened),
        "maps_s": maps_s,
        "decoding_share_of_one_core": decoding,
        **shares(took, options.quiet),
        **delays(fleet, incidents, took),
        "state_gib": len(pickle.dumps(state)) / 2**30 if options.pickle else None,
        "peak_process_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def shares(took: list[float], quiet: int) -> dict[str, float]:
    """Processor seconds of a second of event time: the first, which places all routes, without and with faults."""
    steady, faulty = np.array(took[5:quiet]), np.array(took[quiet:])
    return {
        "first_second_s": took[0],
        "quiet_share_of_one_core": float(steady.mean()),
        "quiet_worst_second_s": float(steady.max()),
        "faulty_share_of_one_core": float(faulty.mean()),
        "faulty_p90_second_s": float(np.quantile(faulty, 0.9)),
        "faulty_worst_second_s": float(faulty.max()),
    }


def one_second(
    engine: LocalizationEngine, state: LocalizationState, sent: list[tuple[str, PairWindows | Anomaly]], number: int
) -> tuple[float, list[Emission]]:
    """Processor seconds of one second, and what was told in it."""
    told: list[Emission] = []

    def work() -> None:
        for topic, value in sent:
            engine.step(state, Observation(topic, value))
        told.extend(engine.step(state, TimeReached(BEGIN_US + number * SECOND_US))[1])

    return timed(work), told


def decode_share(sent: list[PairWindows | Anomaly]) -> float:
    """Seconds that decoding a second of messages takes, by msgspec from JSON."""
    raw, decoder = [msgspec.json.encode(value) for value in sent], msgspec.json.Decoder(PairWindows)
    return timed(lambda: [decoder.decode(each) for each in raw])


def delays(fleet: Fleet, incidents: list[tuple[int, Incident]], took: list[float]) -> dict[str, object]:
    """How long after its first anomaly each fault was named, processor time of that second included; and false ones."""
    found, missed = [], []
    for fault in [fault for fault in fleet.faults if fault in fleet.told]:
        named = [number for number, incident in incidents if incident.component in fault.names]
        if named:
            event_s = named[0] - (fleet.told[fault] - BEGIN_US) / SECOND_US
            found.append(event_s + took[named[0] - 1])
        else:
            missed.append(f"{fault.kind} {sorted(fault.names)} loss {fault.loss}")
    right = {name for fault in fleet.faults for name in fault.names}
    wrong = {incident.component for _, incident in incidents if incident.component not in right}
    return {
        "faults_with_anomalies": len(fleet.told),
        "named": len(found),
        "detection_to_incident_s": {"mean": float(np.mean(found)), "max": max(found)} if found else None,
        "missed": missed,
        "other_components_blamed": sorted(str(name) for name in wrong),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rnics", type=int, default=40_000)
    parser.add_argument("--quiet", type=int, default=65, help="seconds before the first fault; the window is 60 s")
    parser.add_argument("--seconds", type=int, default=60, help="seconds with faults")
    parser.add_argument("--scene", choices=["many", "leaf"], default="many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--pickle", action="store_true", help="also state the size of the state")
    parser.add_argument("--verbose", action="store_true", help="a line for each second")
    print(json.dumps(measure(parser.parse_args()), indent=1))


if __name__ == "__main__":
    main()
