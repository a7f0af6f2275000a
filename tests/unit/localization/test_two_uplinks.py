"""RNICs with two uplinks (dual ToR): which of them lost the packets, and was it the RNIC after all?"""

from __future__ import annotations

import numpy as np
import pytest

from localization.cases import Clue
from localization.echoes import Echoes
from localization.heaps import heap_up, name_of, suspect_of
from localization.suspects import Suspect, component_of, suspects_of_path
from localization.topology import Topology
from schemas.diagnosis import Incident, IssueId
from schemas.envelope import Message
from schemas.instants import SECOND_US
from schemas.maps import Ecmp, Endpoint, EndpointMap, FabricEndpoints, FabricMap, Link, Node
from schemas.probing import ProbeResult, ProbeResults
from schemas.telemetry import DeviceEvent
from tests.small_fabric import BEGIN_US, by_time, envelope, incidents, newest, run

HOSTS = 6
LEAVES = ("leaf-a", "leaf-b")


def fabric() -> FabricMap:
    """Every RNIC has a link to each of two leaves: ``a<host>`` and ``b<host>``."""
    nodes = [Node(id=name, kind="leaf") for name in LEAVES]
    nodes += [Node(id=f"h{host}/mlx5_0", kind="rnic") for host in range(HOSTS)]
    links = [
        Link(id=f"{name[-1]}{host}", a=f"h{host}/mlx5_0/{number}", b=f"{name}/{host}")
        for host in range(HOSTS)
        for number, name in enumerate(LEAVES)
    ]
    body = envelope("topology", 0.0, 1)
    return FabricMap(**body, version=1, nodes=tuple(nodes), links=tuple(links), ecmp=Ecmp(method="traced"))


def endpoints() -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(
            endpoint=f"c{host}/mlx5_0",
            container=f"c{host}",
            host=f"h{host}",
            rnic="mlx5_0",
            rail=0,
            rank=host,
            ip=f"10.0.{host}.0",
            gid=f"gid-{host}",
            switch_port=f"leaf-a/{host}",
            state="ready",
        )
        for host in range(HOSTS)
    )


def topology() -> Topology:
    known = Topology()
    known.take_fabric(fabric())
    body = envelope("detection:j", 0.0, 1)
    known.take_endpoints(FabricEndpoints(**body, job="j", version=1, state="running", endpoints=endpoints()))
    return known


def side(src: int, dst: int, sport: int) -> str:
    """The leaf that a flow takes."""
    return "ab"[(src * 7 + dst * 3 + sport * 5 + (src > dst)) // 2 % 2]


def probes(seconds: int, bad: str, taken: int = 100, unharmed: str = "") -> list[Message]:
    """Each second every host probes all others twice; from second 30 on ``bad``, a link or a host's card, takes so many
    of the 100 packets, whichever way they go. Trains sent over the link ``unharmed`` passed in its first second.
    """
    found: list[Message] = []
    for second in range(1, seconds + 1):
        for src in range(HOSTS):
            results = []
            for number, dst in enumerate(host for host in range(HOSTS) if host != src):
                for sport in (0, 1):
                    there, back = side(src, dst, sport), side(dst, src, sport + 2)
                    used = {f"{there}{src}", f"{there}{dst}", f"{back}{src}", f"{back}{dst}", f"h{src}", f"h{dst}"}
                    passed = second == 31 and unharmed in (f"{there}{src}", f"{there}{dst}")
                    lost = taken if second > 30 and bad in used and not passed else 0
                    results.append(
                        ProbeResult(
                            dst=f"c{dst}/mlx5_0",
                            t_us=BEGIN_US + second * SECOND_US - 900_000 + number * 50_000,
                            kind="rdma",
                            outcome="lost" if lost == 100 else "reply",
                            sent=100,
                            lost=lost,
                            rtt_us=() if lost == 100 else (13.0 + number % 3, 12.5),
                            sport=49_152 + sport,
                            path=(f"{there}{src}", f"{there}{dst}"),
                        )
                    )
            body = envelope(f"agent:c{src}/probes-0", float(second), second)
            found.append(ProbeResults(**body, job="j", src=f"c{src}/mlx5_0", plan_version=1, results=tuple(results)))
    return found


def told(*more: Message, bad: str = "b2", taken: int = 100, unharmed: str = "") -> list[Incident]:
    body = envelope("scheduler", 0.0, 1)
    listed = EndpointMap(**body, job="j", version=1, state="running", reason="test", endpoints=endpoints())
    return incidents(run(by_time([fabric(), listed, *probes(60, bad, taken, unharmed), *more])))


def warning(device: str, event: str, values: dict[str, str]) -> DeviceEvent:
    body = envelope("agent:h2/events", 32.0, 1)
    return DeviceEvent(**body, device=device, event=event, severity="error", text=event, values=values)


def test_each_uplink_is_a_suspect_of_its_own() -> None:
    found = suspects_of_path(topology(), "c1/mlx5_0", "c2/mlx5_0", ("b1", "b2"))
    assert {Suspect("link", "b1"), Suspect("link", "b2"), Suspect("rnic", "h2/mlx5_0")} <= set(found)
    assert component_of(topology(), Suspect("direction", "b2", "h2/mlx5_0")) == "link:b2"
    assert suspect_of(topology(), "port:leaf-b/2") == suspect_of(topology(), "link:b2") == "link:b2"


def test_replies_come_back_over_either_uplink() -> None:
    echoes, route = Echoes(), ("c1/mlx5_0", "c2/mlx5_0", ("a1", "a2"), 0)
    for link in ("a1", "b1", "a2", "b2"):
        chance = echoes.chances(topology(), [route], np.array([0]), Suspect("link", link))
        assert chance.tolist() == pytest.approx([0.5])
    assert echoes.chances(topology(), [route], np.array([0]), Suspect("link", "a3")).tolist() == [0.0]


def test_a_dead_uplink_is_blamed_and_its_rnic_is_not() -> None:
    (incident,) = newest(told())
    assert (incident.component, incident.issue) == ("link:b2", "switch_port_down")
    assert incident.confidence > 0.8


def test_a_dead_card_is_blamed_though_trains_over_one_uplink_had_passed_before_in_that_second() -> None:
    (incident,) = newest(told(bad="h2", unharmed="a2"))
    assert incident.component == "rnic:h2/mlx5_0"


def test_a_card_that_loses_a_little_for_no_known_reason_stays_in_use() -> None:
    """As with one uplink: a fibre is cheaper to try than a card, and which of the two it is nobody knows."""
    history = told(bad="h2", taken=2)
    assert newest(history)[0].component == "rnic:h2/mlx5_0"
    assert {incident.action.kind for incident in history} <= {"none", "clean_fibre"}
    assert (history[-1].action.kind, history[-1].action.target) == ("clean_fibre", "rnic:h2/mlx5_0")


def test_a_card_that_loses_most_does_not() -> None:
    history = told(bad="h2", taken=70)
    assert (history[-1].action.kind, history[-1].action.target) == ("quarantine", "rnic:h2/mlx5_0")


def test_a_remote_fault_is_of_the_uplink_that_is_dead() -> None:
    history = told(warning("rnic:h2/mlx5_0", "port_down", {"fault": "remote"}))
    assert {incident.component for incident in history} <= {"link:b2", "port:leaf-b/2"}
    assert history[-1].component == "port:leaf-b/2"


def test_an_rnic_that_warns_of_its_bond_takes_the_blame_from_its_link() -> None:
    (incident,) = newest(told(warning("rnic:h2/mlx5_0", "bond_degraded", {})))
    assert (incident.component, incident.issue) == ("rnic:h2/mlx5_0", "bond_error")


def test_losses_alone_do_not_move_from_a_link_to_its_rnic() -> None:
    def clue(component: str, nats: float, issue: IssueId | None = None) -> Clue:
        return Clue(component, nats, "network_fault", issue, "underlay", "")

    heaps = heap_up(topology(), [clue("link:b2", 9.0), clue("rnic:h2/mlx5_0", 8.0)], slow=False, pairs=())
    assert [name_of(heap)[0] for heap in heaps] == ["link:b2", "rnic:h2/mlx5_0"]


@pytest.mark.parametrize(("table", "first"), [(None, "port:leaf-b/2"), (5.0, "rnic:h2/mlx5_0")])
def test_a_deep_queue_before_one_uplink_is_congestion_unless_another_pass_accuses_the_card(
    table: float | None, first: str
) -> None:
    clues = [
        Clue("port:leaf-b/2", 10.0, "congestion", None, "underlay", "deep", "queues"),
        Clue("rnic:h2/mlx5_0", 2.0, "network_fault", None, "underlay", "in common, less what the queue explains"),
    ]
    if table is not None:
        clues.append(
            Clue("rnic:h2/mlx5_0", table, "network_fault", "offloading_failure", "boundary", "tables disagree")
        )
    heaps = heap_up(topology(), clues, slow=True, pairs=())
    assert name_of(heaps[0])[0] == first
