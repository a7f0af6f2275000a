"""Host pass: what do the devices say about themselves? Warnings, GIDs and configuration of everything the pairs
touch.
 A warning counts if its device lies on at least half of the case's pairs and it came between a minute before the
onset and now. It adds the nats of its signature, less where other pairs through the same RNIC are well although the
warning says that nothing can pass. It names the issue. That no device warned acquits nobody.
"""

from __future__ import annotations

from collections.abc import Iterable

from localization.cards import answers, card_clues
from localization.cases import Clue, Outcome
from localization.links import usage_since
from localization.scene import BEFORE_US, Scene, in_seconds, listing
from localization.signatures import SIGNATURES, Signature
from localization.suspects import Suspect
from localization.switches import QUEUES, fell_silent
from localization.topology import Cable
from schemas.diagnosis import Evidence, IssueId, PassTest, TracePass
from schemas.instants import SECOND_US
from schemas.telemetry import DeviceEvent

ASSUMPTION = "a device that warns is in trouble; one that does not may be, too"
MOST_TESTS = 12
SHARE = 0.5
CONTRADICTED = 0.2
GID_NATS = 6.0
QUEUE_NATS = 5.0
SILENT_NATS = 5.0
FLAP_EVENTS = 3
KILLS_US = 4 * SECOND_US
"""A collective that gets nothing through for so long gives up, so a container that exits later did it for that."""
TURNS = 2
"""A port that came up so often was down in between, whether that was reported or not."""


def host_pass(scene: Scene) -> Outcome:
    """Runs the pass."""
    outcome = Outcome(TracePass(pass_="host", assumption=ASSUMPTION, tests=(), verdict="clean", reason=""))
    tests: list[PassTest] = []
    touched = _touched(scene)
    for event in _relevant(scene, touched):
        _weigh_event(scene, event, touched[event.device], (outcome, tests))
    _check_gids(scene, outcome, tests)
    _check_switches(scene, touched, outcome, tests)
    _check_cards(scene, outcome, tests)
    blamed = list(dict.fromkeys(clue.component for clue in outcome.clues))
    if blamed:
        verdict, reason = "suspect", f"what {listing(blamed)} say of themselves, or no longer do, fits"
    elif "device-events" not in scene.store.seen_topics and not _are_watched(scene, touched):
        verdict, reason = "inconclusive", "no device events were observed, which proves nothing"
    else:
        verdict, reason = "clean", "no device that the pairs have in common warned, which acquits nobody"
    outcome.trace = TracePass(
        pass_="host",
        assumption=ASSUMPTION,
        tests=tuple(tests[:MOST_TESTS]),
        verdict=verdict,  # type: ignore[arg-type]
        reason=reason,
    )
    return outcome


def _are_watched(scene: Scene, components: Iterable[str]) -> bool:
    """Whether an agent would have reported the troubles of any component."""
    since_us = scene.onset_us - BEFORE_US
    return any(scene.store.producers.is_watched(each, since_us) for each in components)


def _touched(scene: Scene) -> dict[str, float]:
    """Component ids on the pairs' way, with the share of pairs that depend on them."""
    count: dict[str, int] = {}
    paths = scene.paths()
    for pair in scene.pairs:
        for part in scene.parts_of(pair, paths.get(pair, [])):
            count[part] = count.get(part, 0) + 1
    share = {part: number / len(scene.pairs) for part, number in count.items()}
    if scene.case.faults:
        share |= {part: 1.0 for suspect in scene.case.faults for part in _parts_of_suspect(scene, suspect)}
    return share


def _parts_of_suspect(scene: Scene, suspect: Suspect) -> list[str]:
    if suspect.kind in ("direction", "link"):
        return scene.path_parts((suspect.name,))
    return [f"{suspect.kind}:{suspect.name}"]


def _relevant(scene: Scene, touched: dict[str, float]) -> list[DeviceEvent]:
    start_us = scene.onset_us - BEFORE_US
    found = [e for e in scene.store.events if start_us <= e.t_us <= scene.t_us and touched.get(e.device, 0.0) >= SHARE]
    return sorted(found, key=lambda event: (-touched[event.device], event.t_us, event.device, event.event))


def _weigh_event(scene: Scene, event: DeviceEvent, share: float, into: tuple[Outcome, list[PassTest]]) -> None:
    outcome, tests = into
    when = in_seconds(event.t_us, scene.onset_us)
    text = f"{event.device}: {event.event} ({event.severity}) {when}: {event.text}"
    tests.append(
        PassTest(test=f"event {event.event}", result=event.device, detail=f"{text}; on {share:.0%} of the pairs")
    )
    signature = SIGNATURES.get(event.event)
    if signature is None or (event.severity == "info" and event.event != "port_up"):
        return
    component, issue = _meaning(scene, event, signature)
    if component is None:
        return
    nats = signature.nats * share
    if scene.case.symptom() not in signature.symptoms and scene.case.symptom() is not None:
        nats *= 0.5
    if event.event in ("port_down", "rnic_missing", "bond_failed") and _passes_others(scene, event.device):
        nats *= CONTRADICTED
    if event.event == "container_exit" and event.t_us > scene.onset_us + KILLS_US:
        nats *= CONTRADICTED
    if event.event == "cc_disabled" and any(test.port in event.device for test in scene.deep):
        nats += QUEUE_NATS
    outcome.clues.append(Clue(component, nats, "network_fault", issue, "host", text))
    ref = f"{event.producer.id}#{event.producer.seq}"
    outcome.evidence.append(Evidence(topic="device-events", t_us=event.t_us, ref=ref, text=text))


def _meaning(scene: Scene, event: DeviceEvent, signature: Signature) -> tuple[str | None, IssueId | None]:
    """The component that an event is about (None: one of several, not known which), and the issue that it means."""
    kind, _, name = event.device.partition(":")
    if event.event == "port_down" and _is_remote(event):
        return _other_end(scene, event, name)
    if event.event == "port_up" and _times(scene, event, "port_up") < TURNS:
        return None, None
    on_fabric = kind in ("port", "link", "switch") or (kind == "config" and name not in scene.topology.rnics_of)
    issue = signature.fabric_issue if on_fabric else signature.host_issue
    flaps = _times(scene, event, "port_down", "port_up")
    if flaps >= FLAP_EVENTS and issue in ("switch_port_down", "rnic_port_down"):
        issue = "switch_port_flapping" if issue == "switch_port_down" else "rnic_port_flapping"
    host = name.partition("/")[0]
    if issue in ("pcie_nic_error", "gpu_direct_rdma_error"):
        return f"host:{host}", issue
    if issue == "not_using_rdma":
        return f"vswitch:{host}", issue
    if issue == "hugepage_misconfiguration":
        return f"config:{host}", issue
    if issue == "congestion_control_misconfiguration":
        return f"config:{name}", issue
    if issue == "crc_error" and kind == "port" and name in scene.topology.by_port:
        return f"link:{scene.topology.by_port[name].link}", issue
    return event.device, issue


def _times(scene: Scene, event: DeviceEvent, *codes: str) -> int:
    """How often an event's device has said one of these."""
    return sum(e.event in codes and e.device == event.device for e in scene.store.events)


def _is_remote(event: DeviceEvent) -> bool:
    """Whether the port says that its peer has failed (Ethernet's remote fault), not itself."""
    return event.values.get("fault") == "remote" or "remote fault" in event.text.lower()


def _other_end(scene: Scene, event: DeviceEvent, name: str) -> tuple[str | None, IssueId | None]:
    """Who is to blame when a port complains of its peer: an RNIC that neither says so nor answers its host is dead."""
    cable = scene.topology.by_port.get(name) or _cut_uplink(scene, name)
    if cable is None:
        return (None if scene.topology.has_several_uplinks(name) else event.device), None
    near = name if name in (cable.node_a, cable.node_b) else name.rpartition("/")[0]
    far = cable.far_end(near) or near
    if not scene.topology.is_rnic(far):
        return f"port:{cable.port_of(far)}", "switch_port_down"
    told = any(e.device == f"rnic:{far}" and e.event == "port_down" for e in scene.store.events)
    return f"rnic:{far}", "rnic_port_down" if told or answers(scene, far) else "rnic_hardware_failure"


def _cut_uplink(scene: Scene, rnic: str) -> Cable | None:
    """The link of an RNIC whose far end has failed: of several the one that is blamed, or whose far end warned."""
    cables = scene.topology.neighbours.get(rnic, [])
    if len(cables) < 2:
        return cables[0] if cables else None
    warned = {event.device for event in scene.store.events if event.event == "port_down"}
    blamed = {suspect.name for suspect in scene.case.faults}
    marked = [c for c in cables if c.link in blamed or f"port:{c.port_of(c.far_end(rnic) or rnic)}" in warned]
    return marked[0] if len(marked) == 1 else None


def _passes_others(scene: Scene, device: str) -> bool:
    """Whether pairs that are not ill get most of their packets through an RNIC that says nothing can pass."""
    suspect = Suspect("rnic", device.partition(":")[2])
    table = scene.store.watch.routes
    number = table.suspects.index.get(suspect)
    if number is None:
        return False
    usage = usage_since(scene.store.watch, scene.onset_us)
    ill = set(scene.pairs)
    sent = lost = 0
    for route, (packets, gone) in usage.packets([number]).items():
        if table.routes[route][:2] not in ill:
            sent, lost = sent + packets, lost + gone
    return sent > 0 and lost < sent / 2


def _check_gids(scene: Scene, outcome: Outcome, tests: list[PassTest]) -> None:
    """The GID that an agent uses against the one that the endpoint map tells others to use."""
    for endpoint in scene.endpoints():
        listed = scene.topology.endpoints.get(endpoint)
        health = scene.store.producers.health.get(scene.store.producers.agent_of.get(endpoint, ""))
        used = (health.gids or {}).get(endpoint) if health else None
        if listed is None or listed.gid is None or used is None or health is None:
            continue
        touching = sum(endpoint in pair for pair in scene.pairs) / len(scene.pairs)
        if used != listed.gid:
            text = f"{endpoint} uses GID {used}, the endpoint map lists {listed.gid}"
            tests.append(PassTest(test=f"GID of {endpoint}", result="changed", detail=text))
            component = f"rnic:{listed.host}/{listed.rnic}"
            outcome.clues.append(Clue(component, GID_NATS * touching, "network_fault", "gid_change", "host", text))
            ref = f"{health.producer.id}#{health.producer.seq}"
            outcome.evidence.append(Evidence(topic="agent-health", t_us=health.t_us, ref=ref, text=text))


def _check_switches(scene: Scene, touched: dict[str, float], outcome: Outcome, tests: list[PassTest]) -> None:
    """Switches on the pairs' way that no longer tell of their queues, though others do: one that is off can't."""
    if scene.case.symptom() == "high_latency":
        return
    for part in sorted(part for part, share in touched.items() if part.startswith("switch:") and share >= SHARE):
        stream = fell_silent(scene, part.partition(":")[2])
        if stream is not None:
            text = f"{part} has told nothing of its queues since {in_seconds(stream.last_us, scene.onset_us)}"
            tests.append(PassTest(test=f"telemetry of {part}", result="silent", detail=text))
            nats = SILENT_NATS * touched[part]
            clue = Clue(part, nats, "network_fault", "switch_offline", "host", text, "telemetry")
            outcome.clues.append(clue)
            outcome.evidence.append(Evidence(topic=QUEUES, t_us=stream.last_us, ref=part, text=text))


def _check_cards(scene: Scene, outcome: Outcome, tests: list[PassTest]) -> None:
    """RNICs that no longer answer their own host."""
    for clue, evidence in card_clues(scene):
        tests.append(PassTest(test=f"card {clue.component}", result="does not answer", detail=clue.text))
        outcome.clues.append(clue)
        outcome.evidence.append(evidence)
