"""No name is left, equal names stay equal, and what is told is the same up to names."""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.codec import encode
from schemas.diagnosis import Incident
from skeletonhunter.recordings.anonymising import Anonymity, Rewriter, anonymise
from skeletonhunter.recordings.manifest import Manifest, RecordingError
from skeletonhunter.recordings.names import WORDS, first_kinds, names_in
from skeletonhunter.recordings.pseudonyms import Pseudonyms
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.recordings.writer import RecordingWriter, about
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.testbed.scenario import FabricPlan, FaultPlan, JobPlan, Scenario
from streams.parameters import Parameters

KEY = b"a key of 16 bytes or more"
HOW = Anonymity(KEY, shift_times=True)
INCIDENTS = Path(__file__).parents[3] / "examples/incidents"


def quiet(_: int) -> None:
    """Says nothing."""


def pseudonyms(recording: Recording, how: Anonymity = HOW) -> Pseudonyms:
    found: dict[str, set[str]] = {}
    for line in recording.lines():
        for kind, name in names_in(orjson.loads(line.raw)):
            found.setdefault(name, set()).add(kind)
    return Pseudonyms(how.key, first_kinds(found), WORDS)


def told(path: Path) -> list[Incident]:
    with Recording(path) as recording:
        return LocalReplay(Parameters()).run(recording).updates


def plain(incidents: list[Any]) -> str:
    """Incidents as text, their ids (which follow from names) by the order of their first mention.

    Facts of equal time are in the order of their ids, which says nothing: here they are in that of their words.
    """
    numbers: dict[str, str] = {}
    for each in incidents:
        each["evidence"].sort(key=lambda fact: (fact["t_us"], fact["topic"], fact["text"]))
    text = orjson.dumps(incidents).decode()
    return re.sub(r"\w+-[0-9a-f]{16}\b", lambda found: numbers.setdefault(found[0], f"id-{len(numbers)}"), text)


def same_up_to_names(path: Path, into: Path) -> None:
    with Recording(path) as recording:
        anonymise(recording, into, HOW, quiet)
        rewriter = Rewriter(pseudonyms(recording), HOW.shift_times)
    expected = [rewriter.value(orjson.loads(encode("incidents", each))) for each in told(path)]
    assert expected
    assert plain([orjson.loads(encode("incidents", each)) for each in told(into)]) == plain(expected)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("anonymising") / "simulated"
    scenario = Scenario(
        name="anonymising",
        seed=4,
        seconds=70,
        fabric=FabricPlan(hosts=4, rails=2, hosts_per_leaf=2, spines=2),
        jobs=(JobPlan(tp=2, pp=1, dp=4, period_s=5.0),),
        faults=(
            FaultPlan(what="crc_error", start_s=30, end_s=60, severity=0.7),
            FaultPlan(what="rnic_port_flapping", start_s=40, end_s=60),
        ),
        probes_per_train=50,
    )
    simulate_recording(scenario, path, None)
    return path


def test_a_replay_says_the_same_up_to_names(simulated: Path, tmp_path: Path) -> None:
    same_up_to_names(simulated, tmp_path / "other")


def test_the_bundled_incident_is_the_same_up_to_names(tmp_path: Path) -> None:
    same_up_to_names(INCIDENTS / "stale-flow-offload", tmp_path / "other.tar.zst")


def test_no_name_and_no_address_is_left(simulated: Path, tmp_path: Path) -> None:
    with Recording(simulated) as recording:
        names = set(pseudonyms(recording).names) - {"switch-collector"}  # that is also the kind of that agent
        lines = [line.raw.decode() for line in recording.lines()]
        addresses = set(re.findall(r"\b10\.\d+\.\d+\.\d+\b", "\n".join(lines)))
        manifest = anonymise(recording, tmp_path / "other", HOW, quiet)
    assert len(names) > 20 and len(addresses) >= 8
    with Recording(tmp_path / "other") as other:
        written = [line.raw.decode() + (line.key or "") for line in other.lines()]
        written.append((other.folder / "truth.json").read_text())
    words = set(re.findall(r"[A-Za-z0-9_.-]+", "\n".join(written)))
    pieces = words | {piece for word in words for piece in word.split(".")}
    assert names & pieces == set()
    assert not addresses & pieces
    assert not any(name in word for word in words for name in names if len(name) > 4)
    assert len(written) == len(lines) + 1
    assert manifest.start_us < recording.manifest.start_us - 86_400_000_000 + 1


def test_the_same_key_gives_the_same_names_and_another_key_others(simulated: Path, tmp_path: Path) -> None:
    def content(name: str, key: bytes) -> list[bytes]:
        with Recording(simulated) as recording:
            anonymise(recording, tmp_path / name, Anonymity(key), quiet)
        with Recording(tmp_path / name) as other:
            return [line.raw for line in other.lines()]

    first = content("first", KEY)
    assert content("again", KEY) == first
    assert content("other", KEY + b"!") != first


def test_the_digest_of_a_name_is_the_same_in_every_recording() -> None:
    one = Pseudonyms(KEY, {"h-1": "host", "h-2": "host"}, WORDS)
    two = Pseudonyms(KEY, {"a": "tenant", "h-2": "host"}, WORDS)
    assert one.name("h-2").partition("-")[2] == two.name("h-2").partition("-")[2]
    assert one.name("h-2") != one.name("h-1")


KINDS = {
    "h-1": "host",
    "h-12": "host",
    "leaf-0": "switch",
    "l1": "link",
    "c.x/y": "container",
    "7": "tenant",
    "rdma": "job",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rnic:h-1/mlx5_0", "rnic:{h-1}/mlx5_0"),
        ("h-12 and h-1, not h-123", "{h-12} and {h-1}, not h-123"),
        ("trainer-h-1.log", "trainer-{h-1}.log"),
        ("port:leaf-0/7 of 7", "port:{leaf-0}/7 of 7"),
        ("link:l1", "link:{l1}"),
        ("link: l1", "link: {l1}"),
        ("c.x/y/r0", "{c.x/y}/r0"),
        ("rdma is a word", "rdma is a word"),
        ("7", "{7}"),
        ("0.0.0.0 12:30:45 1.5 0000:3b:00.0", "0.0.0.0 12:30:45 1.5 0000:3b:00.0"),
    ],
)
def test_names_are_found_in_texts_where_they_are_whole(text: str, expected: str) -> None:
    names = Pseudonyms(KEY, KINDS, WORDS)
    for name in KINDS:
        expected = expected.replace(f"{{{name}}}", names.names[name])
    assert names.text(text) == expected


def test_addresses_become_addresses_of_their_kind_and_stay_equal() -> None:
    names = Pseudonyms(KEY, {}, WORDS)
    text = "ipv4(src=10.0.0.9,dst=192.168.1.1),dl_src=0c:42:a1:00:11:22,fe80::1 0000:0000:0000:0000:0000:ffff:0a00:0009"
    found = names.text(text)
    v4 = re.search(r"src=(10\.\d+\.\d+\.\d+),dst=(10\.\d+\.\d+\.\d+)\)", found)
    assert v4 and v4[1] != v4[2] and "192.168" not in found and "0c:42" not in found
    assert re.search(r"dl_src=02(:[0-9a-f]{2}){5},fe80::[0-9a-f:]+ ", found)
    assert ip_address(names.text("::ffff:10.0.0.9")) == ip_address(f"::ffff:{v4[1]}")
    parts = [int(part) for part in v4[1].split(".")]
    assert found.endswith(f"ffff:{parts[0]:02x}{parts[1]:02x}:{parts[2]:02x}{parts[3]:02x}")
    assert Pseudonyms(KEY, {}, WORDS, keep_addresses=True).text(text) == text


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.sampled_from(("host", "job", "link")), max_size=12))
def test_no_two_names_become_one_and_their_order_stays(kinds: dict[str, str]) -> None:
    names = Pseudonyms(KEY, kinds, WORDS).names
    assert len(set(names.values())) == len(kinds)
    assert sorted(kinds) == sorted(kinds, key=lambda name: names[name])


def recording_of(path: Path, lines: list[tuple[str, str, bytes]]) -> Manifest:
    with RecordingWriter(path) as writer:
        for number, (topic, key, raw) in enumerate(lines):
            writer.write_raw(topic, key, 10**15 + number, raw)
        return writer.finish(about("odd", "", (10**15, 10**15), "", ""))


def test_what_is_no_json_is_left_out_and_counts(tmp_path: Path) -> None:
    recording_of(tmp_path / "bad", [("device-events", "secret-fabric", b"{secret-host"), ("ticks", "c", b"{}")])
    with Recording(tmp_path / "bad") as recording:
        anonymise(recording, tmp_path / "other", Anonymity(KEY), quiet)
    with Recording(tmp_path / "other") as other:
        assert next(line.raw for line in other.lines()) == b'"left out: it could not be read"'
        assert other.manifest.topics == {"device-events": 1, "ticks": 1}


def test_hashed_paths_need_their_addresses(tmp_path: Path) -> None:
    fabric = b'{"fabric":"fab-1","nodes":[],"links":[],"ecmp":{"method":"hash","salt":{"leaf-0":1}}}'
    recording_of(tmp_path / "hash", [("fabric-map", "fab-1", fabric)])
    with Recording(tmp_path / "hash") as recording:
        with pytest.raises(RecordingError, match=r"computes paths by a hash of addresses.*expected --keep-addresses"):
            anonymise(recording, tmp_path / "refused", Anonymity(KEY), quiet)
        anonymise(recording, tmp_path / "kept", Anonymity(KEY, keep_addresses=True), quiet)


def test_a_short_key_is_refused() -> None:
    with pytest.raises(RecordingError, match="the key has 5 bytes, expected at least 16"):
        Anonymity(b"short")
