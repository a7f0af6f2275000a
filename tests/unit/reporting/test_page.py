"""A report says what the incident says, escapes what it was told, needs no network; equal input gives equal bytes."""

from __future__ import annotations

import re
from base64 import b64decode
from html.parser import HTMLParser
from xml.etree import ElementTree

import msgspec
import pytest

from schemas.diagnosis import Action, Candidate, Evidence, Incident, PassTest, TracePass
from schemas.envelope import Value
from schemas.folding import DERIVED_CLOCK, derived_producer
from schemas.maps import Ecmp, Endpoint, EndpointMap, FabricMap, Link, Node
from schemas.probing import ProbeResult, ProbeResults
from schemas.telemetry import QueueColumns, SwitchQueues
from skeletonhunter.reporting.backdrop import Backdrop, backdrop_from
from skeletonhunter.reporting.fabric_picture import draw_fabric
from skeletonhunter.reporting.page import render_incident, render_recording
from skeletonhunter.reporting.places import blamed_links, blamed_nodes, ill_pairs, ports_of
from tests.unit.scoring.cases import START_US, at, incident

ENVELOPE = {"v": 1, "producer": derived_producer("t", "k", 0), "clock": DERIVED_CLOCK, "fabric": "fab"}
HOSTS = ("h0", "h1", "h2")
EVIL = "<script>alert('x')</script>\"><img src=http://evil.example/x>"


def fabric() -> FabricMap:
    links = [Link(id=f"l{n}", a=f"{host}/mlx5_0/1", b=f"leaf-0/{n}") for n, host in enumerate(HOSTS)]
    links.append(Link(id="up", a="leaf-0/9", b="spine-0/0"))
    nodes = [Node(id=f"{host}/mlx5_0", kind="rnic") for host in HOSTS]
    nodes += [Node(id="leaf-0", kind="leaf"), Node(id="spine-0", kind="spine")]
    return FabricMap(
        **ENVELOPE,  # type: ignore[arg-type]
        t_us=START_US,
        version=1,
        nodes=tuple(nodes),
        links=tuple(links),
        ecmp=Ecmp(method="traced"),
    )


def endpoint(number: int) -> Endpoint:
    return Endpoint(
        endpoint=f"c{number}/mlx5_0", container=f"c{number}", host=f"h{number}", rnic="mlx5_0", rail=0, state="ready"
    )


def train(src: int, dst: int, second: int, rtt_us: float) -> ProbeResults:
    result = ProbeResult(
        dst=f"c{dst}/mlx5_0",
        t_us=at(second),
        kind="rdma",
        outcome="reply",
        sent=10,
        lost=0,
        rtt_us=(rtt_us,),
        path=(f"l{src}", f"l{dst}"),
    )
    return ProbeResults(
        **ENVELOPE,  # type: ignore[arg-type]
        t_us=at(second),
        job="j1",
        src=f"c{src}/mlx5_0",
        plan_version=1,
        results=(result,),
    )


def queue(second: int, depth: int) -> SwitchQueues:
    column = QueueColumns(port="0", queue=3, t_us=(at(second),), depth_bytes=(depth,))
    return SwitchQueues(**ENVELOPE, t_us=at(second), switch="leaf-0", ports=(column,))  # type: ignore[arg-type]


def backdrop() -> Backdrop:
    """Three RNICs under one leaf; from second 20 on the first is slow."""
    found = backdrop_from(START_US)
    messages: list[Value] = [fabric()]
    messages.append(
        EndpointMap(
            **ENVELOPE,  # type: ignore[arg-type]
            t_us=START_US,
            job="j1",
            version=1,
            state="running",
            reason="start",
            endpoints=tuple(endpoint(number) for number in range(3)),
        )
    )
    for second in range(60):
        messages += [train(0, 1, second, 90.0 if second >= 20 else 13.0), train(1, 2, second, 13.0), queue(second, 900)]
    for message in messages:
        found.observe("", "", 0, message)
    return found


def told(**more: object) -> Incident:
    """An incident about the first RNIC, with everything in it that a page shows."""
    value = incident(
        "rnic:h0/mlx5_0",
        "offloading_failure",
        "rnic",
        endpoints=("c0/mlx5_0",),
        candidates=("rnic:h0/mlx5_0", "link:l0"),
        action="quarantine",
        target="rnic:h0/mlx5_0",
    )
    step = TracePass(
        pass_="boundary",
        assumption="each layer works by itself",
        tests=(PassTest(test="flow f1", result="inconsistent", detail="only the switch holds it"),),
        verdict="suspect",
        reason="the tables disagree",
    )
    fields: dict[str, object] = {
        "symptom": "high_latency",
        "jobs": ("j1",),
        "trace": (step,),
        "evidence": (Evidence(topic="flow-tables", t_us=at(21), ref="f1", text="held as offloaded"),),
    }
    return msgspec.structs.replace(value, **(fields | more))


class Outline(HTMLParser):
    """Tags, attributes and text of a page, and whether its tags are balanced."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def pictures(self) -> list[str]:
        sources = [str(attrs["src"]) for tag, attrs in self.tags if tag == "img"]
        return [b64decode(source.removeprefix("data:image/svg+xml;base64,")).decode() for source in sources]


def test_the_page_says_what_where_how_sure_since_when_and_what_to_do() -> None:
    text = " ".join(" ".join(Outline(render_incident([told()], backdrop())).text).split())
    for words in (
        "Offloading failure at rnic:h0/mlx5_0",
        "quarantine rnic:h0/mlx5_0",
        "How sure 90%",
        "Detected 2.0 s after the onset",
        "Localized 3.0 s after the onset",
        "Over not yet",
        "Symptom high latency",
        "do virtual switch and RNIC agree on what is offloaded? yes : the tables disagree",
        "flow f1 inconsistent only the switch holds it",
        "link:l0 50.0%",
        "+1.0 s flow-tables f1 held as offloaded",
    ):
        assert words in text


def test_pictures_are_valid_svg_and_described_in_words() -> None:
    outline = Outline(render_incident([told()], backdrop()))
    pictures = outline.pictures()
    assert len(pictures) == 3  # timeline, measurements, fabric; the job has no skeleton
    for svg in pictures:
        assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert all(attrs["alt"] for tag, attrs in outline.tags if tag == "img")


def test_without_measurements_the_page_says_so_and_how_to_get_them() -> None:
    page = render_incident([told()], None)
    assert len(Outline(page).pictures()) == 1
    assert "--recording" in page


def test_what_comes_from_outside_is_escaped() -> None:
    page = render_incident([told(component=f"rnic:{EVIL}", jobs=(EVIL,), endpoints=(EVIL,))], backdrop())
    assert "<script" not in page
    assert "http://evil.example" in page  # as text
    assert {tag for tag, _ in Outline(page).tags}.isdisjoint({"script", "iframe", "object", "link", "form"})


def test_nothing_is_loaded_from_elsewhere() -> None:
    outline = Outline(render_recording("rec", "A recording.", [[told()]], backdrop()))
    loads = [value for _, attrs in outline.tags for name, value in attrs.items() if name in ("src", "href", "srcset")]
    assert loads and all(str(value).startswith(("data:", "#incident-")) for value in loads)
    for svg in outline.pictures():
        targets = re.findall(r'(?:href|src)="([^"]*)"', svg)
        assert all(target.startswith("#") for target in targets)


def test_equal_input_gives_equal_bytes() -> None:
    assert render_incident([told()], backdrop()) == render_incident([told()], backdrop())


def test_a_recording_without_incidents_has_a_page_too() -> None:
    outline = Outline(render_recording("rec", "A quiet day. No incident.", [], backdrop()))
    assert "A quiet day. No incident." in outline.text
    assert outline.pictures() == []


def test_the_overview_leads_to_each_incident() -> None:
    outline = Outline(render_recording("rec", "Two.", [[told()], [told(incident="i2")]], backdrop()))
    targets = {str(attrs["href"]).removeprefix("#") for tag, attrs in outline.tags if tag == "a"}
    assert targets == {str(attrs["id"]) for tag, attrs in outline.tags if tag == "article"}
    assert len(targets) == 2


def test_ill_pairs_are_those_with_a_concerned_end_and_their_ports_are_on_their_paths() -> None:
    value = told()
    assert ill_pairs(value, backdrop()) == [("c0/mlx5_0", "c1/mlx5_0")]
    assert ports_of(value, backdrop()) == {"h0/mlx5_0/1", "leaf-0/0", "h1/mlx5_0/1", "leaf-0/1"}


@pytest.mark.parametrize(
    ("component", "nodes"),
    [
        ("rnic:h0/mlx5_0", {"h0/mlx5_0"}),
        ("switch:leaf-0", {"leaf-0"}),
        ("host:h1", {"h1/mlx5_0"}),
        ("vswitch:h2", {"h2/mlx5_0"}),
        ("container:c2", {"h2/mlx5_0"}),
        ("vif:c1/mlx5_0", {"h1/mlx5_0"}),
        ("rnic:unknown/x", set()),
        ("link:l0", set()),
        (None, set()),
    ],
)
def test_a_component_is_found_on_the_map(component: str | None, nodes: set[str]) -> None:
    assert blamed_nodes(told(component=component), backdrop()) == nodes


@pytest.mark.parametrize(
    ("component", "links"), [("link:up", ["up"]), ("port:leaf-0/9", ["up"]), ("config:leaf-0/0", ["l0"]), (None, [])]
)
def test_a_cable_is_found_by_itself_and_by_its_ends(component: str | None, links: list[str]) -> None:
    assert [link.id for link in blamed_links(told(component=component), fabric())] == links


def test_there_is_no_picture_of_a_fabric_that_is_not_known() -> None:
    unknown = backdrop()
    unknown.fabrics.clear()
    assert draw_fabric(told(), unknown) is None
    assert draw_fabric(told(), backdrop()) is not None


def test_an_incident_without_endpoints_action_or_component_has_a_page() -> None:
    bare = incident(None, kind="insufficient_evidence", localized=None)
    bare = msgspec.structs.replace(bare, action=Action(kind="none", target=None, why="more evidence is needed"))
    text = " ".join(Outline(render_incident([bare], backdrop())).text)
    assert "Insufficient evidence: no component can be named" in text
    assert "Nothing to do." in text


def test_scores_are_shown_as_they_are() -> None:
    page = render_incident([told(candidates=(Candidate(component="link:up", score=0.123),))], None)
    assert "12.3%" in page
