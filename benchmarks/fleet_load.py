"""What a whole fleet sends, second by second, made cheaply: one pod from the testbed, copied under other names.

A pod is ``POD_HOSTS`` hosts with 8 RNICs and 13 jobs of 8 to 32 RNICs, simulated once with the planner in the loop, so
its agents probe what real plans say. Every name in it (hosts, containers, jobs, tenants, switches, links) ends in
``TOKEN``; a copy replaces it by the pod's number, one pass in C over each message. Pods hang on common cores, and the
fabric is one. Overlay addresses repeat from pod to pod, as those of tenants do. The first pods may have a fault each
(``FAULTS``).

All pods live by the same clock: what one job does at the end of a window all its copies do in the same second, which
is the worst case for the longest second. Cost: some 8 us per message for a copy; a pod is simulated in about 20 s, once
per version of this file and length (kept in the folder for temporary files).
"""

from __future__ import annotations

import json
import pickle
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import orjson

from probe_planner.parameters import PlannerParameters
from skeletonhunter.replaying.closed_loop import EnginePlanner
from skeletonhunter.testbed.scenario import FabricPlan, FaultPlan, JobPlan, Scenario, TelemetryPlan
from skeletonhunter.testbed.simulate import Simulation
from streams.parameters import Parameters

POD_HOSTS = 32
POD_RNICS = 8 * POD_HOSTS
CORES = 2
"""Per spine of a pod."""

TOKEN = b"@@@@"
SHAPES = (
    *((8, 1, 1), (8, 1, 2), (8, 2, 1), (8, 1, 3), (8, 2, 2), (8, 4, 1), (8, 1, 4)),
    *((8, 1, 3), (8, 3, 1), (8, 1, 2), (4, 1, 2), (4, 2, 1), (8, 2, 1)),
)
"""(tp, pp, dp) of the jobs of a pod; 256 RNICs."""

FAULTS = ("switch_port_down", "rnic_port_down", "switch_offline", "container_crash", "crc_error", "bond_error")
FAULT_S = 24.0
FIRST_S = 13
"""From this second on plans are being probed; what the pod sent before is left out, but for its maps."""

_NAMES = re.compile(
    rb"\b(?:h-\d{4}|c-[0-9a-f]+-\d{3}|job-[0-9a-f]{4}|tenant-\d+|leaf-\d+-\d+|spine-\d+)\b"
    rb'|(?<=")l\d{3,}(?=")|(?<=agent:)switch-collector(?=/)|(?<="agent":")switch-collector|(?<="host":")switch-collector'
)


class Sent(NamedTuple):
    """One message on its way: ``key`` and ``value`` as in Kafka."""

    topic: str
    key: bytes
    arrival_us: int
    value: bytes


@dataclass
class Template:
    """What one pod sends, by second of arrival (number n: what arrived within (n - 1, n] s), names with ``TOKEN``."""

    t0_us: int
    seconds: list[list[Sent]] = field(default_factory=list)
    fabric: Sent | None = None
    truth: tuple[dict[str, object], ...] = ()

    def write_raw(self, topic: str, key: str, arrival_us: int, raw: bytes) -> None:
        """Takes a line of the testbed."""
        sent = Sent(topic, _named(key.encode()), arrival_us, _named(raw))
        if topic == "fabric-map":
            self.fabric = sent
            return
        second = max(0, -(-(arrival_us - self.t0_us) // 1_000_000))
        while len(self.seconds) <= second:
            self.seconds.append([])
        self.seconds[second].append(sent)

    def copy(self, pod: int, second: int) -> list[Sent]:
        """What pod ``pod`` sends in ``second``."""
        number = b"%04d" % pod
        return [
            Sent(topic, key.replace(TOKEN, number), arrival_us, value.replace(TOKEN, number))
            for topic, key, arrival_us, value in self.seconds[second]
        ]


def _named(text: bytes) -> bytes:
    return _NAMES.sub(lambda found: found.group() + b"-p" + TOKEN, text)


@dataclass(frozen=True)
class Fleet:
    """``pods`` copies; the first ``len(faulty)`` pods are copies of those, each with one fault."""

    pods: int
    healthy: Template
    faulty: Sequence[Template] = ()

    @property
    def rnics(self) -> int:
        """RNICs of the fleet."""
        return self.pods * POD_RNICS

    @property
    def jobs(self) -> int:
        """Jobs of the fleet."""
        return self.pods * len(SHAPES)

    @property
    def last(self) -> int:
        """The last second."""
        return len(self.healthy.seconds) - 1

    def second(self, second: int) -> list[Sent]:
        """What all pods send in a second; the maps come in the first one, ``FIRST_S``."""
        sent = []
        if second == FIRST_S:
            sent.append(self._fabric())
            every = [each for earlier in range(FIRST_S) for each in self._copies(earlier)]
            sent += [each for each in every if each.topic == "endpoint-map"]
        return sent + self._copies(second)

    def _copies(self, second: int) -> list[Sent]:
        sent: list[Sent] = []
        for pod in range(self.pods):
            template = self.faulty[pod] if pod < len(self.faulty) else self.healthy
            if second < len(template.seconds):
                sent += template.copy(pod, second)
        return sent

    def _fabric(self) -> Sent:
        """One map of all pods, joined by cores: spine n of each pod is cabled to ``CORES`` of plane n."""
        one = self.healthy.fabric
        assert one is not None
        whole = orjson.loads(one.value)
        spines = [node["id"] for node in whole["nodes"] if node["kind"] == "spine"]
        nodes = [{"id": f"core-{n}-{k}", "kind": "core"} for n in range(len(spines)) for k in range(CORES)]
        links = []
        for pod in range(self.pods):
            own = orjson.loads(one.value.replace(TOKEN, b"%04d" % pod))
            nodes += own["nodes"]
            links += own["links"]
            links += [_to_core(spine.replace(TOKEN.decode(), f"{pod:04d}"), (n, k), pod)
                      for n, spine in enumerate(spines) for k in range(CORES)]  # fmt: skip
        return one._replace(value=orjson.dumps(whole | {"nodes": nodes, "links": links}))


def _to_core(spine: str, core: tuple[int, int], pod: int) -> dict[str, str]:
    n, k = core
    return {"id": f"up-{pod:04d}-{n}-{k}", "a": f"{spine}/{1000 + k}", "b": f"core-{n}-{k}/{pod + 1}"}


def fleet(rnics: int, faults: int = 1, slot_s: float = PlannerParameters().slot_s) -> Fleet:
    """A fleet of at least ``rnics`` RNICs, with ``faults`` pods that have a fault; ``slot_s`` as the planner has it."""
    pods = -(-rnics // POD_RNICS)
    ill = [template(FAULTS[n % len(FAULTS)], slot_s) for n in range(min(faults, pods))]
    return Fleet(pods, template(None, slot_s), ill)


def template(fault: str | None, slot_s: float, seconds: int = 90) -> Template:
    """The pod, simulated or as it was kept."""
    version = blake2b(Path(__file__).read_bytes(), digest_size=6).hexdigest()
    kept = Path(tempfile.gettempdir()) / f"fleet-pod-{version}-{seconds}-{slot_s}-{fault}.pickle"
    if not kept.exists():
        writing = kept.with_suffix(f".{id(kept)}")
        writing.write_bytes(pickle.dumps(_simulate(seconds, fault, slot_s), protocol=5))
        writing.rename(kept)
    found: Template = pickle.loads(kept.read_bytes())
    return found


def _simulate(seconds: int, fault: str | None, slot_s: float) -> Template:
    planner = EnginePlanner(Parameters(planner=PlannerParameters(slot_s=slot_s)))
    simulation = Simulation(scenario(seconds, fault), planner)
    made = Template(simulation.world.span.t0_us)
    simulation.run(made)
    made.truth = tuple(simulation.truth()["faults"]) if fault else ()
    return made


def scenario(seconds: int, fault: str | None) -> Scenario:
    """The pod; the same one with every fault."""
    jobs = tuple(JobPlan(tp=tp, pp=pp, dp=dp, period_s=12.0 + 3.0 * n) for n, (tp, pp, dp) in enumerate(SHAPES))
    return Scenario(
        name="pod",
        seed=7,
        seconds=seconds,
        fabric=FabricPlan(hosts=POD_HOSTS, hosts_per_leaf=16, spines=8),
        jobs=jobs,
        faults=(FaultPlan(what=fault, start_s=FAULT_S, end_s=float(seconds)),) if fault else (),
        telemetry=TelemetryPlan(flow_tables_s=60.0),
    )


def messages(load: Fleet, seconds: int) -> Iterator[tuple[int, list[Sent]]]:
    """Second by second, what comes: (its end in us, the messages), for at most ``seconds`` seconds."""
    for second in range(FIRST_S, min(FIRST_S + seconds, load.last + 1)):
        yield load.healthy.t0_us + second * 1_000_000, load.second(second)


def note(found: Mapping[str, object], output: Path | None) -> None:
    """Prints a figure as a JSON object, and adds it to a file as a line."""
    text = json.dumps(found)
    print(text, flush=True)
    if output:
        with output.open("a", encoding="utf-8") as file:
            file.write(text + "\n")
