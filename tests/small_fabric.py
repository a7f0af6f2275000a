"""A small rail-optimised fabric whose monitor sends what a test wants: for detection and localization.

Eight hosts, two rails, eight leaves, two spines; every endpoint probes four others of its rail once a second.
``Effect`` says what a pair suffers in a second; everything else is healthy and drawn from a fixed seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from schemas.control import Tick
from schemas.diagnosis import Incident
from schemas.envelope import Clock, Message, Producer
from schemas.folding import Emission
from schemas.instants import SECOND_US
from schemas.maps import Ecmp, Endpoint, EndpointMap, FabricMap, Link, Node
from schemas.probing import ProbeResult, ProbeResults
from schemas.reporting import ReportingGaps
from schemas.telemetry import AgentHealth, DeviceEvent, FlowTables, QueueColumns, SwitchQueues
from streams.local import LocalPipeline
from streams.parameters import Parameters

BEGIN_US = 1_753_000_000 * SECOND_US
CLOCK = Clock(source="ptp", offset_us=0.2, error_us=1.0)
HOSTS, RAILS, SPINES, PEERS = 8, 2, 2, 4
TRAIN = 100


@dataclass(frozen=True)
class Suffers:
    """What happens to a train: share of packets lost, factor on its RTT, or how an agent holds back."""

    loss: float = 0.0
    rtt: float = 1.0
    outcome: str | None = None
    silent: bool = False


Effect = Callable[[int, str, str, tuple[str, ...]], Suffers]
"""(second, source, destination, links) -> what the train suffers; ``silent``: the source sends no message at all."""

WELL = Suffers()
Arrival = tuple[str, str, Message]
"""(topic, key, message)"""


def well(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
    """Nothing is wrong."""
    return WELL


def endpoint(host: int, rail: int) -> str:
    return f"c{host}/mlx5_{rail}"


def leaf(host: int, rail: int) -> str:
    return f"leaf-{host // 2}-{rail}"


def access(host: int, rail: int) -> str:
    return f"a{host}-{rail}"


def uplink(leaf_name: str, spine: int) -> str:
    return f"u{leaf_name.removeprefix('leaf')}-{spine}"


def links_of(src: tuple[int, int], dst: tuple[int, int]) -> tuple[str, ...]:
    """The traced path between two endpoints, given as (host, rail)."""
    near, far = leaf(*src), leaf(*dst)
    if near == far:
        return access(*src), access(*dst)
    spine = (src[0] + dst[0]) % SPINES
    return access(*src), uplink(near, spine), uplink(far, spine), access(*dst)


def pairs() -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """All probed pairs, as ((host, rail), (host, rail))."""
    ends = [(host, rail) for host in range(HOSTS) for rail in range(RAILS)]
    return [((h, r), ((h + step) % HOSTS, r)) for h, r in ends for step in (1, 2, 4, 5)]


def envelope(producer: str, second: float, seq: int) -> dict[str, object]:
    return {
        "v": 1,
        "t_us": BEGIN_US + round(second * SECOND_US),
        "producer": Producer(id=producer, kind="test", boot="b", seq=seq),
        "clock": CLOCK,
        "fabric": "f",
    }


def fabric_map(ecmp: Ecmp | None = None) -> FabricMap:
    ends = [(host, rail) for host in range(HOSTS) for rail in range(RAILS)]
    leaves = sorted({leaf(*end) for end in ends})
    nodes = [Node(id=f"spine-{n}", kind="spine") for n in range(SPINES)]
    nodes += [Node(id=name, kind="leaf") for name in leaves]
    nodes += [Node(id=f"h{h}/mlx5_{r}", kind="rnic") for h, r in ends]
    links = [Link(id=access(h, r), a=f"h{h}/mlx5_{r}/1", b=f"{leaf(h, r)}/{h}") for h, r in ends]
    links += [
        Link(id=uplink(name, n), a=f"{name}/up{n}", b=f"spine-{n}/{name}") for name in leaves for n in range(SPINES)
    ]
    body = envelope("topology", 0.0, 1)
    return FabricMap(**body, version=1, nodes=tuple(nodes), links=tuple(links), ecmp=ecmp or Ecmp(method="traced"))


def endpoint_map(
    second: float = 0.0, version: int = 1, gone: Sequence[int] = (), state: str = "running"
) -> EndpointMap:
    """The job's endpoints; those of hosts in ``gone`` have left."""
    listed = tuple(
        Endpoint(
            endpoint=endpoint(h, r),
            container=f"c{h}",
            host=f"h{h}",
            rnic=f"mlx5_{r}",
            rail=r,
            rank=h * RAILS + r,
            ip=f"10.0.{h}.{r}",
            gid=f"gid-{h}-{r}",
            switch_port=f"{leaf(h, r)}/{h}",
            state="gone" if h in gone else "ready",
        )
        for h in range(HOSTS)
        for r in range(RAILS)
    )
    body = envelope("scheduler", second, version)
    return EndpointMap(**body, job="j", version=version, state=state, reason="test", endpoints=listed)


def probe_results(seconds: int, effect: Effect = well, seed: int = 1, first: int = 1) -> list[ProbeResults]:
    """One message per source and second, of seconds ``first`` to ``seconds``."""
    draw = np.random.default_rng(seed)
    messages = []
    by_source: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for src, dst in pairs():
        by_source.setdefault(src, []).append(dst)
    for second in range(first, seconds + 1):
        for src, targets in by_source.items():
            results = []
            for number, dst in enumerate(targets):
                path = links_of(src, dst)
                suffers = effect(second, endpoint(*src), endpoint(*dst), path)
                if not suffers.silent:
                    results.append(_result(draw, second, (endpoint(*dst), path, number), suffers))
            if results:
                body = envelope(f"agent:c{src[0]}/probes-{src[1]}", float(second), second)
                messages.append(
                    ProbeResults(**body, job="j", src=endpoint(*src), plan_version=1, results=tuple(results))
                )
    return messages


def _result(
    draw: np.random.Generator, second: int, to: tuple[str, tuple[str, ...], int], suffers: Suffers
) -> ProbeResult:
    dst, path, number = to
    sent = 0 if suffers.outcome else TRAIN
    lost = int(draw.binomial(TRAIN, min(1.0, 2e-5 * len(path) + suffers.loss))) if sent else 0
    rtt = np.round(np.exp(draw.normal(np.log(13.0 * suffers.rtt), 0.3, 3)), 2).tolist()
    outcome = suffers.outcome or ("lost" if lost == sent else "reply")
    t_us = BEGIN_US + second * SECOND_US - 900_000 + number * 200_000
    return ProbeResult(
        dst=dst,
        t_us=t_us,
        kind="rdma",
        outcome=outcome,
        sent=sent,
        lost=lost,
        rtt_us=tuple(rtt) if outcome == "reply" else (),
        sport=49_152 + number,
        path=path,
    )


def health(
    seconds: int, dead: dict[int, int] | None = None, starved: dict[int, int] | None = None
) -> list[AgentHealth]:
    """Health of each container's agent every 2 s; ``dead``, ``starved``: from which second on, by host."""
    messages = []
    for second in range(2, seconds + 1, 2):
        for host in range(HOSTS):
            if second > (dead or {}).get(host, seconds):
                continue
            state = "starved" if second > (starved or {}).get(host, seconds) else "ok"
            covers = tuple(endpoint(host, rail) for rail in range(RAILS))
            body = envelope(f"agent:c{host}/health", second - 0.5, second) | {"v": 2}
            messages.append(AgentHealth(**body, agent=f"c{host}", host=f"h{host}", covers=covers, state=state))
    return messages


def queues(seconds: int, deep: Callable[[str, int], int] = lambda port, second: 0, seed: int = 2) -> list[SwitchQueues]:
    """Depths of every switch port once a second, about 1 kB, plus what ``deep`` adds to a port."""
    draw = np.random.default_rng(seed)
    ports: dict[str, list[str]] = {}
    for link in fabric_map().links:
        for port in (link.a, link.b):
            switch, _, name = port.rpartition("/")
            if not switch.startswith("h"):
                ports.setdefault(switch, []).append(name)
    messages = []
    for second in range(1, seconds + 1):
        for switch in sorted(ports):
            columns = tuple(
                QueueColumns(
                    port=name,
                    queue=3,
                    t_us=(BEGIN_US + second * SECOND_US - 500_000,),
                    depth_bytes=(int(draw.exponential(1000.0)) + deep(f"{switch}/{name}", second),),
                )
                for name in ports[switch]
            )
            messages.append(SwitchQueues(**envelope(f"agent:q/{switch}", second, second), switch=switch, ports=columns))
    return messages


def event(second: float, device: str, code: str, text: str = "test", seq: int = 1, **values: object) -> DeviceEvent:
    body = envelope(f"agent:{device}/events", second, seq)
    return DeviceEvent(**body, device=device, event=code, severity="error", text=text, values=values)


TOPICS: dict[type, tuple[str, str]] = {
    FabricMap: ("fabric-map", "f"),
    EndpointMap: ("endpoint-map", "j"),
    ProbeResults: ("probe-results", "j"),
    AgentHealth: ("agent-health", "f"),
    SwitchQueues: ("switch-queues", "f"),
    FlowTables: ("flow-tables", "f"),
    DeviceEvent: ("device-events", "f"),
    ReportingGaps: ("reporting-gaps", "f"),
}


def by_time(messages: Sequence[Message]) -> list[Message]:
    """In the order in which they were sent."""
    return sorted(messages, key=lambda m: (m.t_us, TOPICS[type(m)][0], m.producer.id, m.producer.seq))


def run(messages: Sequence[Message], parameters: Parameters | None = None) -> list[Emission]:
    """What detection and localization emit, the messages arriving in the given order, time passing with the newest.

    Each second passes by itself, as in a replay: after a jump one stage would say several seconds before the next one.
    """
    sent: list[Emission] = []
    pipeline = LocalPipeline(parameters or Parameters(), sent.append, ("detection", "localization"))
    now_us = min(message.t_us for message in messages) // SECOND_US * SECOND_US
    for message in messages:
        while message.t_us >= now_us + SECOND_US:
            now_us += SECOND_US
            pipeline.advance(Tick(t_us=now_us, source="clock", offsets={}))
        pipeline.admit(*TOPICS[type(message)], message)
    last_us = max(message.t_us for message in messages)
    pipeline.advance(Tick(t_us=last_us, source="clock", offsets={}, final=True))
    return sent


def incidents(sent: Sequence[Emission]) -> list[Incident]:
    """All incident messages, in order."""
    return [each.value for each in sent if isinstance(each.value, Incident)]


def newest(history: Sequence[Incident]) -> list[Incident]:
    """The newest state of each incident, in the order in which they were opened."""
    return list({incident.incident: incident for incident in history}.values())


def last_words(sent: Sequence[Emission]) -> list[Incident]:
    """The newest state of each incident among what was emitted."""
    return newest(incidents(sent))


def history_of(seconds: int, effect: Effect, *more: Sequence[Message]) -> list[Incident]:
    """All incident messages when the fabric's probes suffer ``effect`` and ``more`` is heard."""
    messages: list[Message] = [fabric_map(), endpoint_map(), *probe_results(seconds, effect)]
    return incidents(run(by_time([*messages, *(message for part in more for message in part)])))


def told(seconds: int, effect: Effect, *more: Sequence[Message]) -> list[Incident]:
    """The last word on each incident of ``history_of``."""
    return newest(history_of(seconds, effect, *more))
