"""Which detector finds faults, how soon, and with how many false alarms? Three of them on the same recordings.

    python benchmarks/detection_baselines.py [--subjects issue-01-crc_error,control-healthy]

- *paper, read literally*: a failed train alarms at once, as does a second that loses 5 % (the paper names no
  threshold); windows of 30 s with P25, P50, P75, minimum, mean, deviation and maximum of the RTT (us), local outlier
  factor (k = 5, alarm at 1.5, scikit-learn's default) against the ten windows before.
- *fixed thresholds*: 2 % loss or a 99th percentile of 500 us over the last ten seconds.
- *ours*: the engine with its default parameters, through the same pipeline as a replay.

Every scenario of the quick campaign lasts ten minutes here, so that five minutes of look-back exist; the fault is there
from 420 to 540 s, and agents probe the job's true pairs. An alarm is a pair and a symptom turning ill; it is right when
one of its ends is among those that the fault can hurt and the fault lasts (or ended less than a minute ago); in a
scenario with a monitor fault or none, all alarms are wrong. Congestion is slow indeed, so its pairs are right there.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import product

import msgspec
import numpy as np

from localization.factors import local_outlier_factors
from schemas.codec import decode
from schemas.control import Tick
from schemas.diagnosis import Anomaly
from schemas.envelope import Message
from schemas.folding import Emission
from schemas.instants import SECOND_US
from schemas.probing import ProbeResults
from skeletonhunter.evaluation.scenarios import SUBJECTS
from skeletonhunter.testbed.catalogue import scenario_of
from skeletonhunter.testbed.scenario import Scenario
from skeletonhunter.testbed.simulate import Simulation
from streams.local import LocalPipeline
from streams.parameters import Parameters

SECONDS, START_S, END_S, GRACE_S = 600, 420.0, 540.0, 60.0
QUIET_S = 60
Pair = tuple[str, str]


@dataclass(frozen=True)
class Alarm:
    """A pair turned ill at ``t_us``."""

    t_us: int
    pair: Pair


@dataclass
class Heard:
    """What arrived of one simulation: messages of detection's topics in order of arrival, and the truth."""

    messages: list[tuple[str, str, int, Message]] = field(default_factory=list)
    truth: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    def write_raw(self, topic: str, key: str, arrival_us: int, raw: bytes) -> None:
        """Keeps a line."""
        if topic in ("probe-results", "endpoint-map"):
            value = decode(topic, key, raw, arrival_us)
            assert isinstance(value, Message)
            self.messages.append((topic, key, arrival_us, value))


def simulate(subject: str, seed: int) -> Heard:
    """One scenario of ten minutes."""
    scenario: Scenario = scenario_of(subject, "s", seed)
    timed = tuple(msgspec.structs.replace(plan, start_s=START_S, end_s=END_S) for plan in scenario.faults)
    simulation = Simulation(msgspec.structs.replace(scenario, seconds=SECONDS, faults=timed))
    heard = Heard()
    simulation.run(heard)
    heard.truth = simulation.truth()
    return heard


def seconds_of(heard: Heard) -> Iterator[tuple[int, dict[Pair, tuple[int, int, list[float], int]]]]:
    """(end of second, by pair: sent, lost, RTT samples, failed trains) of what was sent to ready targets."""
    by_second: dict[int, dict[Pair, tuple[int, int, list[float], int]]] = defaultdict(dict)
    seen = set()
    for _, _, _, value in heard.messages:
        if not isinstance(value, ProbeResults) or (value.producer.id, value.producer.seq) in seen:
            continue
        seen.add((value.producer.id, value.producer.seq))
        second = -(-value.t_us // SECOND_US) * SECOND_US
        for result in value.results:
            if result.sent and result.kind != "traceroute":
                sent, lost, rtt, failed = by_second[second].get((value.src, result.dst), (0, 0, [], 0))
                failed += result.lost == result.sent
                one = (sent + result.sent, lost + result.lost, rtt + list(result.rtt_us), failed)
                by_second[second][value.src, result.dst] = one
    yield from sorted(by_second.items())


@dataclass
class Latch:
    """Turns conditions into alarms: one until the condition was absent for ``QUIET_S``."""

    last_us: dict[tuple[Pair, str], int] = field(default_factory=dict)
    alarms: list[Alarm] = field(default_factory=list)

    def hold(self, pair: Pair, symptom: str, t_us: int) -> None:
        """The condition holds now."""
        last_us = self.last_us.get((pair, symptom))
        if last_us is None or t_us - last_us > QUIET_S * SECOND_US:
            self.alarms.append(Alarm(t_us, pair))
        self.last_us[pair, symptom] = t_us


def literal(heard: Heard) -> list[Alarm]:
    """The paper's detector."""
    latch = Latch()
    values: dict[Pair, list[float]] = defaultdict(list)
    past: dict[Pair, list[np.ndarray]] = defaultdict(list)
    window = 0
    for t_us, pairs in seconds_of(heard):
        if (t_us - 1) // (30 * SECOND_US) != window:
            _close(values, past, latch, t_us - SECOND_US)
            values, window = defaultdict(list), (t_us - 1) // (30 * SECOND_US)
        for pair, (sent, lost, rtt, failed) in pairs.items():
            values[pair] += rtt
            if failed:
                latch.hold(pair, "unconnectivity", t_us)
            elif lost >= 0.05 * sent:
                latch.hold(pair, "packet_loss", t_us)
    return latch.alarms


def _close(values: dict[Pair, list[float]], past: dict[Pair, list[np.ndarray]], latch: Latch, t_us: int) -> None:
    for pair, rtt in values.items():
        if len(rtt) < 5:
            continue
        quantiles = np.quantile(rtt, [0.25, 0.5, 0.75])
        features = np.array([*quantiles, np.min(rtt), np.mean(rtt), np.std(rtt), np.max(rtt)])
        if len(past[pair]) >= 10:
            reference = np.array(past[pair][-10:])
            if local_outlier_factors(reference[None], features[None], 5, 1e-9)[0] >= 1.5:
                latch.hold(pair, "high_latency", t_us)
        past[pair].append(features)


def fixed(heard: Heard) -> list[Alarm]:
    """Thresholds that fit everywhere, they say."""
    latch = Latch()
    recent: dict[Pair, list[tuple[int, int, int, list[float]]]] = defaultdict(list)
    for t_us, pairs in seconds_of(heard):
        for pair, (sent, lost, rtt, _) in pairs.items():
            window = [each for each in recent[pair] if each[0] > t_us - 10 * SECOND_US] + [(t_us, sent, lost, rtt)]
            recent[pair] = window
            if sum(each[2] for each in window) >= 0.02 * sum(each[1] for each in window):
                latch.hold(pair, "packet_loss", t_us)
            samples = [value for each in window for value in each[3]]
            if samples and np.quantile(samples, 0.99) >= 500.0:
                latch.hold(pair, "high_latency", t_us)
    return latch.alarms


def ours(heard: Heard) -> list[Alarm]:
    """The engine."""
    alarms: list[Alarm] = []

    def take(emission: Emission) -> None:
        value = emission.value
        if isinstance(value, Anomaly) and value.state == "open":
            alarms.append(Alarm(value.t_us, (value.src, value.dst)))

    pipeline = LocalPipeline(Parameters(), take, ("detection",))
    now_us = 0
    for topic, key, arrival_us, value in heard.messages:
        second = arrival_us // SECOND_US * SECOND_US
        if second > now_us:
            now_us = second
            pipeline.advance(Tick(t_us=now_us, source="clock", offsets={}))
        pipeline.admit(topic, key, value)
    pipeline.advance(Tick(t_us=now_us, source="clock", offsets={}, final=True))
    return alarms


DETECTORS = {"paper, read literally": literal, "fixed thresholds": fixed, "ours": ours}


@dataclass
class Tally:
    """Sums over scenarios. ``visible``: faults that probes can see; delays (s) from the fault's beginning."""

    right: int = 0
    wrong: int = 0
    visible: int = 0
    found: int = 0
    healthy_wrong: int = 0
    healthy_pair_hours: float = 0.0
    delays_s: list[float] = field(default_factory=list)


def count(tally: Tally, heard: Heard, alarms: list[Alarm]) -> None:
    """Adds one scenario."""
    faults = [each for each in heard.truth["faults"] if each["probe_visible"] or each["kind"] == "congestion"]
    right = [alarm for alarm in alarms if any(_hits(alarm, fault) for fault in faults)]
    tally.right += len(right)
    tally.wrong += len(alarms) - len(right)
    for fault in faults:
        if fault["kind"] == "congestion":
            continue
        tally.visible += 1
        own = [alarm.t_us for alarm in alarms if _hits(alarm, fault)]
        if own:
            tally.found += 1
            tally.delays_s.append((min(own) - int(str(fault["start_us"]))) / SECOND_US)
    if not heard.truth["faults"] and not heard.truth["monitor_faults"]:
        tally.healthy_wrong += len(alarms)
        tally.healthy_pair_hours += sum(len(pairs) for _, pairs in seconds_of(heard)) / 3600.0


def _hits(alarm: Alarm, fault: dict[str, object]) -> bool:
    start, end = int(str(fault["start_us"])), int(str(fault["end_us"]))
    hurt = fault["endpoints"]
    assert isinstance(hurt, list)
    return start <= alarm.t_us <= end + GRACE_S * SECOND_US and bool({*alarm.pair} & {*hurt})


def compare(subjects: list[str], seeds: int = 1) -> dict[str, Tally]:
    """Sums over the scenarios with seeds 1 to ``seeds``."""
    tallies = {name: Tally() for name in DETECTORS}
    for subject, seed in product(subjects, range(1, seeds + 1)):
        heard = simulate(subject, seed)
        for name, detect in DETECTORS.items():
            count(tallies[name], heard, detect(heard))
    return tallies


COMPARED = [each for each in SUBJECTS if not each.startswith("double")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", default=",".join(COMPARED))
    options = parser.parse_args()
    print(json.dumps({name: asdict(tally) for name, tally in compare(options.subjects.split(",")).items()}, indent=1))


if __name__ == "__main__":
    main()
