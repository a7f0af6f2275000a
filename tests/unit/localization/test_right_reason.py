"""The smaller cause goes before the wider one that would look alike: container, port, fibre before host and switch."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from localization.evidence import EvidenceStore, new_evidence
from localization.faults import Fault
from localization.grouping import CaseBook, own_faults
from localization.heaps import is_part
from localization.parameters import LocalizationParameters
from localization.suspects import Suspect
from localization.switches import is_cut_off
from localization.topology import Topology
from schemas.diagnosis import IssueId
from tests.anomalies import anomaly
from tests.small_fabric import (
    BEGIN_US,
    WELL,
    Suffers,
    access,
    endpoint,
    endpoint_map,
    event,
    fabric_map,
    health,
    history_of,
    queues,
    told,
)

FIRST, SECOND = "c3/mlx5_0", "d3/mlx5_1"


def shared_host(gone: bool = False) -> Topology:
    """Host 3 has a container for each of its two cards."""
    topology, known = Topology(), endpoint_map()
    topology.take_fabric(fabric_map())
    halves = [
        replace(each, endpoint=SECOND, container="d3") if each.endpoint == "c3/mlx5_1" else each
        for each in known.endpoints
    ]
    topology.take_endpoints(replace(known, endpoints=tuple(halves)))
    if gone:
        left = [replace(each, state="gone") if each.container == "c3" else each for each in halves]
        topology.take_endpoints(replace(known, version=2, endpoints=tuple(left)))
    return topology


@pytest.mark.parametrize("gone", [False, True], ids=["listed", "off the map"])
@pytest.mark.parametrize(
    ("whole", "ill", "part"),
    [
        ("host:h3", [(FIRST, "c5/mlx5_0"), ("c1/mlx5_0", FIRST)], True),
        ("rnic:h3/mlx5_0", [(FIRST, "c5/mlx5_0")], True),
        ("host:h3", [(FIRST, "c5/mlx5_0"), (SECOND, "c5/mlx5_1")], False),
        ("host:h5", [(FIRST, "c5/mlx5_0"), ("c5/mlx5_0", "c6/mlx5_0")], False),
    ],
)
def test_a_container_is_what_its_host_has_if_only_its_endpoints_are_ill(
    whole: str, ill: list[tuple[str, str]], part: bool, gone: bool
) -> None:
    assert is_part(shared_host(gone), "container:c3", whole, ill) is part


@pytest.mark.parametrize(("exits", "component"), [(32.0, "container:c3"), (40.0, "host:h3")])
def test_a_container_that_exits_long_after_its_host_was_cut_off_did_so_for_that(exits: float, component: str) -> None:
    def cut(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(loss=1.0) if second > 30 and ("c3/" in src or "c3/" in dst) else WELL

    found = told(60, cut, health(60), [event(exits, "container:c3", "container_exit", "code 137")])
    assert component in {incident.component for incident in found}


def beneath_leaf(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
    """All that begins or ends beneath leaf 3 is slow, but for one pair; half of it comes through spine 0."""
    there = {access(6, 0), access(7, 0)} & set(path)
    return Suffers(rtt=6.0) if second > 30 and there and {src[:2], dst[:2]} != {"c1", "c6"} else WELL


@pytest.mark.parametrize(
    ("deep", "kind", "component"),
    [
        (("spine-0/leaf-3-0",), "congestion", "port:spine-0/leaf-3-0"),
        ((), "network_fault", "switch:leaf-3-0"),
    ],
)
def test_a_slow_switch_is_its_one_deep_queue_and_is_never_taken_out_for_its_place(
    deep: tuple[str, ...], kind: str, component: str
) -> None:
    depths = queues(90, lambda port, second: 900_000 if port in deep and second > 30 else 0)
    history = history_of(90, beneath_leaf, depths)
    assert {incident.action.kind for incident in history} == {"none"}
    assert (history[-1].kind, history[-1].component) == (kind, component)


def test_what_a_card_receives_corrupted_is_its_links_also_where_its_replies_come_in() -> None:
    def corrupted(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(loss=0.03) if second > 30 and endpoint(7, 0) in (src, dst) else WELL

    (incident,) = told(70, corrupted, queues(70))
    assert (incident.component, incident.issue) == (f"link:{access(7, 0)}", "crc_error")
    assert incident.confidence <= 0.8
    (unwatched,) = told(70, corrupted)
    assert unwatched.issue is None


def fault(suspect: Suspect, replaces: tuple[Suspect, ...] = ()) -> Fault:
    return Fault(suspect, 1.0, 1.0, BEGIN_US, BEGIN_US, 50.0, 40.0, 4, 1000, 1000, (), replaces=replaces)


def store_of(*faults: Fault) -> EvidenceStore:
    store = new_evidence("f", LocalizationParameters())
    store.topology.take_fabric(fabric_map())
    store.topology.take_endpoints(endpoint_map())
    store.watch.faults.extend(faults)
    return store


def test_of_two_faults_that_one_replaces_neither_leaves_a_case_behind() -> None:
    hosts = [Suspect("host", f"h{number}") for number in (1, 5)]
    store, book = store_of(fault(Suspect("switch", "spine-0"), tuple(hosts))), CaseBook("f")
    for number, host in enumerate(hosts):
        case = book.start(f"host:{host.name}", BEGIN_US, BEGIN_US)
        case.take(anomaly(number, endpoint(1, 0), endpoint(3 + 4 * number, 0), BEGIN_US))
        case.faults.append(host)
    own_faults(book, store)
    assert [case.faults for case in book.cases] == [[Suspect("switch", "spine-0")], []]


@pytest.mark.parametrize(
    ("link", "issues", "owed"),
    [
        ("u-1-0-0", ("switch_offline", "switch_port_down"), True),
        ("u-1-0-1", ("switch_offline", "switch_port_down"), False),
        ("u-1-0-0", ("switch_offline", "crc_error"), False),
        ("u-1-0-0", (None, "switch_port_down"), False),
    ],
    ids=["at the switch", "elsewhere", "lossy", "not off"],
)
def test_a_link_that_is_down_at_a_switch_that_is_off_is_no_second_fault(
    link: str, issues: tuple[IssueId | None, IssueId | None], owed: bool
) -> None:
    off, down = ("switch:spine-0", issues[0]), (f"link:{link}", issues[1])
    assert is_cut_off(store_of().topology, off, down) is owed
