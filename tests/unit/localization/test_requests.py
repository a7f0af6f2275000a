"""Evidence on demand: what is missing is asked for, once, within limits, and the verdict says what came of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from localization.requests import EXPIRY_S, GAP_S, MOST_A_SECOND, MOST_TIMES, RequestBook, Wish, is_lacking
from localization.verdict import Verdict
from schemas.codec import decode, encode
from schemas.control import Tick
from schemas.diagnosis import Action, Incident, PassTest, TracePass
from schemas.envelope import Message
from schemas.folding import Emission
from schemas.instants import SECOND_US
from schemas.probing import ProbeResults
from schemas.requests import EvidenceRequest
from schemas.telemetry import FlowTables
from skeletonhunter.recordings.reader import Recording
from streams.local import LocalPipeline
from streams.parameters import Parameters

RECORDING = Path(__file__).parents[3] / "examples/incidents/stale-flow-offload"
CUT_S = 125
RNIC, HOSTS = "rnic:h-2269/mlx5_5", ("h-2269", "h-8008")
Edit = Callable[[Message, list[EvidenceRequest]], Message | None]
"""(a message, what was asked for by now) -> what is replayed in its place; None: nothing."""
Replayed = tuple[list[Incident], list[EvidenceRequest], bytes]


def replay(edit: Edit) -> Replayed:
    """All incident messages, all requests, and the bytes of both, of the production case until 39 s after its onset."""
    sent: list[Emission] = []
    asked: list[EvidenceRequest] = []

    def take(emission: Emission) -> None:
        sent.append(emission)
        if isinstance(emission.value, EvidenceRequest):
            asked.append(emission.value)

    pipeline = LocalPipeline(Parameters(), take, ("detection", "localization"))
    with Recording(RECORDING) as source:
        now_us = source.manifest.start_us
        end_us = now_us + CUT_S * SECOND_US
        for line in source.lines():
            if line.arrival_us > end_us:
                break
            while now_us + SECOND_US <= line.arrival_us:
                now_us += SECOND_US
                pipeline.advance(Tick(t_us=now_us, source="clock", offsets={}, final=False))
            if line.topic in pipeline.readers:
                value = decode(line.topic, line.key, line.raw, line.arrival_us)
                assert isinstance(value, Message)
                edited = edit(value, asked)
                if edited is not None:
                    pipeline.admit(line.topic, line.key or "", edited)
    pipeline.advance(Tick(t_us=now_us, source="clock", offsets={}, final=True))
    told = [each for each in sent if each.topic in ("incidents", "evidence-requests")]
    lines = b"\n".join(encode(each.topic, each.value) for each in told)
    return [each.value for each in told if isinstance(each.value, Incident)], asked, lines


def without_flow_tables(message: Message, asked: list[EvidenceRequest]) -> Message | None:
    return None if isinstance(message, FlowTables) else message


def on_demand(message: Message, asked: list[EvidenceRequest]) -> Message | None:
    """Hosts dump their tables only once they have been asked."""
    if isinstance(message, FlowTables):
        return message if any(each.host == message.host and message.t_us >= each.t_us for each in asked) else None
    return message


def without_paths(message: Message, asked: list[EvidenceRequest]) -> Message | None:
    if isinstance(message, ProbeResults):
        results = tuple(msgspec.structs.replace(each, path=None) for each in message.results)
        return msgspec.structs.replace(message, results=results)
    return without_flow_tables(message, asked)


@pytest.fixture(scope="module")
def unanswered() -> Replayed:
    """Nobody dumps flow tables."""
    return replay(without_flow_tables)


@pytest.fixture(scope="module")
def answered() -> Replayed:
    """Hosts dump flow tables once they are asked."""
    return replay(on_demand)


def asked_in(incident: Incident, name: str) -> dict[str, PassTest]:
    """The tests of one pass by their names."""
    return {test.test: test for step in incident.trace if step.pass_ == name for test in step.tests}


def test_missing_flow_tables_are_asked_for_and_the_verdict_says_that_none_came(unanswered: Replayed) -> None:
    (incident,), asked, _ = unanswered
    assert (incident.kind, incident.component) == ("insufficient_evidence", None)
    first = asked[:2]
    assert [(each.kind, each.host, each.incident) for each in first] == [
        ("flow-tables", host, incident.incident) for host in HOSTS
    ]
    assert all(each.endpoints and each.t_us < incident.t_us for each in first)
    assert incident.action.why.endswith("asked for: flow tables of h-2269, h-8008 have not come yet")
    found = asked_in(incident, "boundary")
    for each in first:
        test = found[f"flow tables asked of {each.host}"]
        assert test.result == "awaited"
        assert each.request in test.detail


def test_a_host_is_asked_again_only_after_its_request_expired(unanswered: Replayed) -> None:
    asked = unanswered[1]
    for host in HOSTS:
        first, second = [each for each in asked if each.host == host]
        assert first.expires_us == first.t_us + EXPIRY_S * SECOND_US == second.t_us
        assert first.request != second.request


def test_an_answer_decides_and_the_verdict_says_that_it_came(answered: Replayed) -> None:
    incidents, asked, _ = answered
    last = incidents[-1]
    assert incidents[0].kind == "insufficient_evidence"
    assert (last.kind, last.issue, last.component) == ("network_fault", "offloading_failure", RNIC)
    assert [each.host for each in asked] == list(HOSTS)
    answer = asked_in(last, "boundary")["flow tables asked of h-2269"]
    assert answer.result == "came"
    assert asked[0].request in answer.detail


def test_the_reasons_say_what_is_lacking() -> None:
    _, asked, _ = replay(lambda message, asked: message)
    assert [each.reason for each in asked] == [
        "flow tables of h-2269 would decide, but the newest are from 3.4 s before the onset",
        "flow tables of h-8008 would decide, but the newest are from 0.6 s before the onset",
    ]


def test_unknown_paths_are_asked_of_the_source_s_host() -> None:
    (incident,), asked, _ = replay(without_paths)
    traces = [each for each in asked if each.kind == "traceroute"]
    assert {(each.host, each.endpoints, each.towards) for each in traces} == {
        ("h-2269", ("c-0545-014/mlx5_5",), ("c-01b1-002/mlx5_5",))
    }
    assert asked_in(incident, "underlay")["traceroutes asked of h-2269"].result == "awaited"


def test_a_replay_asks_the_same_byte_for_byte(answered: Replayed) -> None:
    assert replay(on_demand) == answered


def wish(host: str) -> Wish:
    return Wish("flow-tables", host, (f"{host}-c/r0",), (), "test")


def asked_at(book: RequestBook, case: str, t_s: int, *hosts: str) -> list[str]:
    emissions = book.ask(case, [wish(host) for host in hosts], t_s * SECOND_US)
    return [each.value.host for each in emissions if isinstance(each.value, EvidenceRequest)]


def test_cases_share_a_request_and_an_answered_one_is_not_repeated_at_once() -> None:
    book = RequestBook("fab")
    assert asked_at(book, "a", 100, "h1", "h2") == ["h1", "h2"]
    assert asked_at(book, "b", 101, "h1") == []
    assert book.asked["flow-tables", "h1"].cases == ["a", "b"]
    book.asked["flow-tables", "h1"].came_us = 103 * SECOND_US
    assert asked_at(book, "b", 103 + GAP_S - 1, "h1") == []
    assert asked_at(book, "b", 103 + GAP_S, "h1") == ["h1"]


def test_one_incident_asks_a_few_times_only_and_another_may_still_ask() -> None:
    book = RequestBook("fab")
    times = [100 + n * EXPIRY_S for n in range(MOST_TIMES + 3)]
    assert [asked_at(book, "a", t_s, "h1") for t_s in times] == [["h1"]] * MOST_TIMES + [[]] * 3
    assert asked_at(book, "b", times[-1] + 1, "h1") == ["h1"]


def test_a_storm_asks_a_bounded_number_of_hosts_a_second() -> None:
    book = RequestBook("fab")
    hosts = [f"h{n}" for n in range(100)]
    assert len(asked_at(book, "a", 100, *hosts)) == MOST_A_SECOND
    assert len(asked_at(book, "a", 101, *hosts)) == MOST_A_SECOND


def test_the_book_goes_on_from_a_pickle_with_the_same_ids() -> None:
    book = RequestBook("fab")
    asked_at(book, "a", 100, "h1")
    other = pickle.loads(pickle.dumps(book))
    one, two = (list(each.ask("a", [wish("h2")], 101 * SECOND_US)) for each in (book, other))
    assert one == two
    assert len(one) == 1


def undecided() -> Verdict:
    step = TracePass(pass_="boundary", assumption="", tests=(), verdict="inconclusive", reason="")
    action = Action(kind="none", target=None, why="no component can be named yet")
    return Verdict("insufficient_evidence", None, None, None, 0.0, (), (), (step,), action, False)


def test_a_request_that_expired_is_said_to_have_brought_nothing() -> None:
    book = RequestBook("fab")
    asked_at(book, "a", 100, "h1")
    for t_s, result in ((100 + EXPIRY_S - 1, "awaited"), (100 + EXPIRY_S, "never came")):
        said = book.noted("a", undecided(), 99 * SECOND_US, t_s * SECOND_US)
        assert [test.result for test in said.trace[0].tests] == [result]
    assert said.action.why == "no component can be named yet; asked for: flow tables of h1 never came"
    assert book.noted("b", undecided(), 99 * SECOND_US, 101 * SECOND_US) == undecided()


def test_what_blames_a_host_for_no_reason_lacks_flow_tables_and_what_blames_a_link_does_not() -> None:
    blamed = replace(undecided(), kind="network_fault", component="rnic:h1/r0")
    assert is_lacking(blamed)
    assert not is_lacking(replace(blamed, issue="rnic_port_down"))
    assert not is_lacking(replace(blamed, component="link:l1"))
    assert not is_lacking(replace(blamed, kind="agent_missing", component="agent:a1"))
