"""Readiness: a pair is probed from the moment on that the map and the peer's own agent say so."""

from __future__ import annotations

from ipaddress import ip_address

from collectors.probing.peers import Peers, address_of, gid_bytes
from collectors.probing.transport import Located
from schemas.instants import SECOND_US
from tests.unit.collectors.probing.facts import endpoint, endpoint_map

HERE = Located("c2/r", session=7, gid=bytes(15) + b"\x01", qpn=17, qkey=5)


def peers(*states: str) -> Peers:
    known = Peers(hello_s=1.0)
    known.take_map(endpoint_map([endpoint(f"c{n}/r", state) for n, state in enumerate(states, 1)]))
    return known


def test_each_reason_to_hold_back_is_named() -> None:
    known = peers("ready", "starting", "gone")
    assert known.why_not("c9/r") == "c9/r is not in the endpoint map"
    assert known.why_not("c2/r") == "c2/r is starting"
    assert known.why_not("c3/r") == "c3/r is gone"
    assert "has not registered" in (known.why_not("c1/r") or "")
    assert known.why_not("c1/r", needs_hello=False) is None


def test_a_pair_is_activated_when_both_hold() -> None:
    known = peers("ready", "starting")
    known.note_located(HERE, 0)
    assert known.why_not("c2/r") == "c2/r is starting"
    known.take_map(endpoint_map([endpoint("c1/r"), endpoint("c2/r")], version=2))
    assert "has not registered" in (known.why_not("c2/r") or "")  # what it told before it was ready is not believed
    known.note_located(HERE, 0)
    assert known.why_not("c2/r") is None
    assert known.peer("c2/r").qpn == 17


def test_a_job_that_is_over_is_not_probed() -> None:
    known = peers("ready", "ready")
    known.note_located(HERE, 0)
    known.take_map(endpoint_map([endpoint("c1/r"), endpoint("c2/r")], version=2, state="ended"))
    assert known.why_not("c2/r") == "job j is over"
    assert known.listed() == []


def test_an_older_map_is_left_out() -> None:
    known = peers("ready")
    assert not known.take_map(endpoint_map([], version=1))
    assert known.endpoint("c1/r") is not None
    assert known.take_map(endpoint_map([], version=2))
    assert known.endpoint("c1/r") is None


def test_a_peer_that_moves_has_to_register_again_and_one_that_stays_has_not() -> None:
    known = peers("ready", "ready")
    known.note_located(HERE, 0)
    known.take_map(endpoint_map([endpoint("c1/r"), endpoint("c2/r")], version=2))
    assert known.why_not("c2/r") is None
    known.take_map(endpoint_map([endpoint("c1/r"), endpoint("c2/r", ip="10.9.9.9")], version=3))
    assert "has not registered" in (known.why_not("c2/r") or "")


def test_hellos_go_to_those_that_are_waited_for_at_their_interval() -> None:
    known = peers("ready", "ready", "starting")
    assert known.due_hellos(0, 99) == []
    for name in ("c2/r", "c3/r"):
        known.want("c1/r", name)
    assert [(src, peer.endpoint) for src, peer in known.due_hellos(0, 99)] == [("c1/r", "c2/r")]
    assert known.due_hellos(SECOND_US // 2, 99) == []
    assert len(known.due_hellos(SECOND_US, 99)) == 1
    known.note_located(HERE, SECOND_US)
    assert known.due_hellos(3 * SECOND_US, 99) == []
    known.doubt("c2/r")
    assert len(known.due_hellos(4 * SECOND_US, 99)) == 1
    known.note_located(HERE, 4 * SECOND_US)
    assert known.due_hellos(30 * SECOND_US, 99) == []
    assert len(known.due_hellos(64 * SECOND_US, 99)) == 1  # now and then, since an agent may have begun anew
    known.forget_wishes("j")
    assert known.due_hellos(99 * SECOND_US, 99) == []


def test_a_new_run_of_the_peers_agent_is_noticed() -> None:
    known = peers("ready", "ready")
    assert not known.note_located(HERE, 0)
    assert not known.note_located(HERE, 1)
    assert known.note_located(Located("c2/r", session=8, gid=None, qpn=17, qkey=5), 2)
    assert known.note_located(Located("c2/r", session=8, gid=None, qpn=18, qkey=5), 3)
    known.note_absent("c2/r")
    assert "has not registered" in (known.why_not("c2/r") or "")


def test_the_gid_that_the_job_uses_is_probed_if_the_map_has_it() -> None:
    known = Peers(1.0)
    known.take_map(endpoint_map([endpoint("c2/r"), endpoint("c3/r", gid="::ffff:10.7.7.7")]))
    known.note_located(HERE, 0)
    known.note_located(Located("c3/r", 7, HERE.gid, 17, 5), 0)
    assert known.peer("c2/r").gid == HERE.gid
    assert known.peer("c3/r").gid == gid_bytes("::ffff:10.7.7.7")


def test_addresses_and_gids_make_each_other() -> None:
    assert gid_bytes("10.0.0.1") == gid_bytes("::ffff:10.0.0.1") == ip_address("::ffff:10.0.0.1").packed
    assert gid_bytes("0000:0000:0000:0000:0000:ffff:0a00:0001") == gid_bytes("10.0.0.1")
    assert gid_bytes("gid-1") is None
    assert address_of(endpoint("c1/r", ip=None, gid="::ffff:10.0.0.9")) == "10.0.0.9"
    assert address_of(endpoint("c1/r", ip=None, gid="fd00::9")) == "fd00::9"
    assert address_of(endpoint("c1/r", ip=None, gid="fe80::9")) is None
    assert address_of(endpoint("c1/r", ip=None)) is None


def test_with_many_to_greet_each_gets_its_turn() -> None:
    known = peers(*["ready"] * 9)
    for number in range(1, 10):
        known.want("c1/r", f"c{number}/r")
    greeted = [peer.endpoint for call in range(6) for _, peer in known.due_hellos(call * SECOND_US, 3)]
    assert [greeted.count(f"c{number}/r") for number in range(1, 10)] == [2] * 9
