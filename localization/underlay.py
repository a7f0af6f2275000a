"""Underlay pass: is it a link, a switch, an RNIC, or congestion? Assumes that the overlay is healthy.
 Three kinds of tests: the faults that the fabric-wide search found for this case (``localization.search``), the
suspect that slow pairs have in common (``localization.grouping``), and the queues of the ports that the case's
trains wait in, during the anomaly against before. A deep queue at the blamed place turns the fault into congestion.
What RNICs of one host have in common is the board with its PCIe, as long as nothing speaks for software or settings.
Nats of a fault = gain - ln(number of suspects), its posterior odds under equal priors, capped: a model is never
surer than its assumptions, nor than what is left without the strongest pair, which may be ill for a reason of its own.
"""

from __future__ import annotations

from math import log

from localization.cases import Clue, Ends, Outcome, ends_between, ends_of
from localization.faults import Fault
from localization.heaps import suspect_of
from localization.likelihood import SUPPORT_NATS
from localization.links import LinkUse, usage_since
from localization.passages import lone_deep_port, reply_ports
from localization.patterns import (
    LEFT,
    UNSEEN,
    corrupting_instead,
    corrupting_links,
    ends_of_lone_flow,
    fault_link,
    issue_of,
    place_of,
)
from localization.queues import QueueTest
from localization.scene import Scene, listing
from localization.suspects import PRIOR_NATS, Suspect, component_of, egress_ports, words_of
from localization.switches import switches_alike
from schemas.diagnosis import Evidence, IssueId, PassTest, TracePass, Verdict

MOST_NATS = 10.0
SHARE = 0.5
QUEUE_NATS = 8.0
MARK_NATS = 4.0
COUNTED_NATS = 4.0
ERRORS_NATS = 6.0
ASSUMPTION = "the overlay forwards every packet as it should"


def underlay_pass(scene: Scene) -> Outcome:
    """Runs the pass."""
    outcome = Outcome(TracePass(pass_="underlay", assumption=ASSUMPTION, tests=(), verdict="clean", reason=""))
    tests: list[PassTest] = []
    _queue_tests(scene, outcome, tests)
    blamed = _fault_tests(scene, outcome, tests) + _group_test(scene, outcome, tests)
    blamed = blamed or _counter_tests(scene, outcome, tests)
    uses = _link_tests(scene, tests) if not blamed else []
    if uses and all(use.acquitted for use in uses):
        outcome.clues += ends_of_lone_flow(scene)
    verdict, reason = _conclude(scene, outcome, (blamed, uses, tests))
    outcome.trace = TracePass(
        pass_="underlay", assumption=ASSUMPTION, tests=tuple(tests), verdict=verdict, reason=reason
    )
    return outcome


def _queue_tests(scene: Scene, outcome: Outcome, tests: list[PassTest]) -> None:
    """Queues on the pairs' paths (both ways: replies wait too) and at the ports of the blamed suspects."""
    store, ports = scene.store, _ports(scene)
    back = reply_ports(scene, ports)
    found = [store.queues.test(port, scene.onset_us, scene.t_us, scene.case.before) for port in sorted({*ports, *back})]
    known = [test for test in found if test is not None]
    scene.deep = [test for test in known if test.deep and (ports.get(test.port, 0.0) >= SHARE or test.port in back)]
    if not known:
        result = "not observed" if "switch-queues" not in store.seen_topics else "too few samples"
        detail = f"{len(ports)} switch ports on the way, none with enough samples before and since the onset"
        tests.append(PassTest(test="queues", result=result, detail=detail))
        return
    worst = max(known, key=lambda test: (test.deep, test.nats, test.port))
    result = "deep" if scene.deep else "flat"
    tests.append(PassTest(test="queues", result=result, detail=f"{len(known)} ports on the way; {_queue_text(worst)}"))
    outcome.evidence.append(
        Evidence(topic="switch-queues", t_us=scene.t_us, ref=f"port:{worst.port}", text=_queue_text(worst))
    )
    for test in scene.deep:
        nats = min(QUEUE_NATS, test.nats)
        nats = nats * ports[test.port] if ports.get(test.port, 0.0) >= SHARE else nats + back[test.port]
        if test.uncontrolled or not any(each.uncontrolled for each in scene.deep):
            outcome.clues.append(_queue_clue(test, nats, _queue_text(test))._replace(source="queues"))
        if test.uncontrolled:
            outcome.clues.append(_queue_clue(test, MARK_NATS, _mark_text(test))._replace(source="counters"))


def _queue_clue(test: QueueTest, nats: float, text: str) -> Clue:
    """What a deep queue means: congestion, unless the queue is deep because nothing tells its senders."""
    if test.uncontrolled:
        issue: IssueId = "congestion_control_misconfiguration"
        return Clue(f"config:{test.port}", nats, "network_fault", issue, "underlay", text)
    return Clue(f"port:{test.port}", nats, "congestion", None, "underlay", text)


def _mark_text(test: QueueTest) -> str:
    return (
        f"port {test.port} marked no packet in {test.unmarked} intervals in which its queue was deeper than where"
        " queues of this fabric mark: no congestion control"
    )


def _queue_text(test: QueueTest) -> str:
    grown = ", ".join(f"{name} +{number}" for name, number in sorted(test.grown.items()))
    return (
        f"port {test.port}: median {test.median:.0f} and upper quartile {test.upper:.0f} bytes in {test.samples}"
        f" samples, before {test.before.median:.0f} and {test.before.upper:.0f} (95th percentile)"
        f" in {test.before.samples}" + (f"; {grown}" if grown else "")
    )


def _ports(scene: Scene) -> dict[str, float]:
    """Switch ports that the case's trains wait in, with the share of the case's pairs that pass them."""
    topology = scene.topology
    by_pair: dict[Ends, set[str]] = {}
    for (src, dst), paths in scene.paths().items():
        ports = by_pair.setdefault(ends_between(src, dst), set())
        for path in paths:
            for cable in [topology.cables[link] for link in path if link in topology.cables]:
                ends = ((cable.port_a, cable.node_a), (cable.port_b, cable.node_b))
                ports.update(port for port, node in ends if not topology.is_rnic(node))
    share: dict[str, float] = {}
    for ports in by_pair.values():
        for port in ports:
            share[port] = share.get(port, 0.0) + 1.0 / len(by_pair)
    for suspect in [*scene.case.faults, *([scene.case.group[0]] if scene.case.group else [])]:
        share.update(dict.fromkeys(egress_ports(topology, suspect), 1.0))
    return {port: round(number, 9) for port, number in share.items()}


def _fault_tests(scene: Scene, outcome: Outcome, tests: list[PassTest]) -> list[str]:
    watch = scene.store.watch
    blamed: list[str] = []
    if _is_of_board(scene):
        return blamed
    for fault in [fault for fault in watch.faults if fault.suspect in scene.case.faults]:
        text = _fault_text(scene, fault)
        tests.append(PassTest(test="likelihood", result=f"{fault.gain:.1f} nats", detail=text))
        outcome.evidence.append(
            Evidence(topic="pair-windows", t_us=scene.t_us, ref=_name(scene, fault.suspect), text=text)
        )
        nats = min(MOST_NATS, fault.gain - log(len(watch.routes.suspects.all)), fault.support)
        issue, shape = issue_of(scene, fault)
        elsewhere = _corrupted_elsewhere(scene, fault, nats, outcome)
        if elsewhere:
            nats, issue, shape = nats - ERRORS_NATS, None, elsewhere
        tests.append(PassTest(test="shape", result=issue or "no issue", detail=shape))
        _blame(scene, outcome, place_of(scene, fault, shape), (nats, text), issue)
        if issue == "crc_error" and shape != UNSEEN:
            link = f"link:{fault_link(scene, fault)}"
            outcome.clues.append(Clue(link, COUNTED_NATS, "network_fault", issue, "underlay", shape, "counters"))
        if issue == "bond_error" and shape != LEFT:
            rnic = suspect_of(scene.topology, _name(scene, fault.suspect))
            outcome.clues.append(Clue(rnic, COUNTED_NATS, "network_fault", issue, "underlay", shape, "counters"))
        for rival, gain in fault.rivals:
            text = f"{words_of(scene.topology, rival)} explains the losses nearly as well"
            _blame(scene, outcome, rival, (nats - max(0.0, fault.gain - gain), text), None)
        for switch in switches_alike(scene, fault):
            text = f"nothing else that arrives is probed through switch {switch}: it explains the losses as well"
            _blame(scene, outcome, Suspect("switch", switch), (nats + PRIOR_NATS["switch"], text), None)
        blamed.append(words_of(scene.topology, fault.suspect))
    if not blamed and watch.runner_up is not None:
        suspect, gain, support = watch.runner_up
        detail = (
            f"the best of the suspects that were not blamed is {words_of(scene.topology, suspect)}: {gain:.1f} nats,"
            f" {support:.1f} without its strongest pair, needed {watch.penalty:.1f} and {SUPPORT_NATS:.1f}"
        )
        tests.append(PassTest(test="likelihood", result="nobody to blame", detail=detail))
    return blamed


def _corrupted_elsewhere(scene: Scene, fault: Fault, nats: float, outcome: Outcome) -> str | None:
    """Blames the link that counts checksum errors on the way of all that suffer; in words, None: there is none."""
    found = corrupting_instead(scene, fault)
    if not found:
        return None
    link = max(found, key=lambda each: (found[each], each))
    text = f"ports of link {link}, on the way of all that suffer or of their replies, counted {found[link]} checksum"
    text += f" errors since the onset, no fewer than the {fault.lost} packets that were lost"
    outcome.clues.append(Clue(f"link:{link}", nats, "network_fault", "crc_error", "underlay", text, "counters"))
    outcome.evidence.append(Evidence(topic="switch-queues", t_us=scene.t_us, ref=f"link:{link}", text=text))
    return text


def _is_of_board(scene: Scene) -> bool:
    """Whether the faults are RNICs of the one host that the case is about: their board is to blame, not each."""
    group = scene.case.group
    if group is None or group[0].kind != "host":
        return False
    ends = [component_of(scene.topology, suspect) for suspect in scene.case.faults]
    return all(suspect_of(scene.topology, end).startswith(f"rnic:{group[0].name}/") for end in ends)


def _name(scene: Scene, suspect: Suspect) -> str:
    return component_of(scene.topology, suspect)


def _fault_text(scene: Scene, fault: Fault) -> str:
    return (
        f"{words_of(scene.topology, fault.suspect)} loses {fault.loss:.2%}: {fault.lost} of {fault.sent} packets"
        f" lost on routes over it, of {fault.pairs} pairs; {fault.gain:.1f} nats better than without it"
        f" (needed {scene.store.watch.penalty:.1f}), {fault.support:.1f} without its strongest pair"
    )


def _blame(
    scene: Scene,
    outcome: Outcome,
    suspect: Suspect,
    found: tuple[float, str],
    issue: IssueId | None,
    shared: frozenset[str] = frozenset(),
) -> None:
    """A clue against a suspect; where its own queue is deep, against the queue, and less against the suspect.

    ``shared``: further ports whose queues all that speaks against the suspect has waited in.
    """
    nats, text = found
    ports = {*egress_ports(scene.topology, suspect), *shared}
    deep = [test for test in scene.deep if test.port in ports]
    if deep:
        outcome.clues.append(_queue_clue(max(deep, key=lambda test: test.uncontrolled), nats, text))
        nats -= QUEUE_NATS
    if nats > 0.0:
        outcome.clues.append(Clue(_name(scene, suspect), nats, "network_fault", issue, "underlay", text))


def _group_test(scene: Scene, outcome: Outcome, tests: list[PassTest]) -> list[str]:
    if scene.case.group is None:
        return []
    suspect, nats = scene.case.group
    ill = len({ends_of(anomaly) for anomaly in scene.case.members()})
    text = f"{ill} ill pairs have {words_of(scene.topology, suspect)} in common, {nats:.1f} nats over chance"
    tests.append(PassTest(test="common part", result=f"{nats:.1f} nats", detail=text))
    issue: IssueId | None = "pcie_nic_error" if suspect.kind == "host" else None
    ports = _ports(scene)
    shared = frozenset([port for port, share in ports.items() if share >= 1.0]) | set(reply_ports(scene, ports))
    shared |= lone_deep_port(scene, suspect)
    _blame(scene, outcome, suspect, (min(MOST_NATS, nats), text), issue, shared)
    for rival, gain in scene.case.rivals:
        text = f"they have {words_of(scene.topology, rival)} in common nearly as well"
        _blame(scene, outcome, rival, (min(MOST_NATS, nats) - (nats - gain), text), None, shared)
    return [words_of(scene.topology, suspect)]


def _counter_tests(scene: Scene, outcome: Outcome, tests: list[PassTest]) -> list[str]:
    """What too few pairs show for a search, a port may have counted: checksum errors on the way of lossy pairs."""
    if scene.case.symptom() == "high_latency" or scene.case.group is not None:
        return []
    found = corrupting_links(scene)
    for link, (errors, share) in found.items():
        text = f"ports of link {link} counted {errors} checksum errors since the onset, {share:.0%} of the pairs use it"
        tests.append(PassTest(test=f"link:{link}", result="corrupts", detail=text))
        outcome.clues.append(
            Clue(f"link:{link}", ERRORS_NATS * share, "network_fault", "crc_error", "underlay", text, "counters")
        )
        outcome.evidence.append(Evidence(topic="switch-queues", t_us=scene.t_us, ref=f"link:{link}", text=text))
    return [f"link {link}" for link in found]


def _link_tests(scene: Scene, tests: list[PassTest]) -> list[LinkUse]:
    """Who else uses the links of the case's pairs."""
    usage = usage_since(scene.store.watch, scene.onset_us)
    own = {ends_between(src, dst) for src, dst in scene.pairs}
    links = list(dict.fromkeys(link for paths in scene.paths().values() for path in paths for link in path))
    uses = [usage.of_link(link, own, scene.ill) for link in links[:32]]
    for use in uses:
        result = "acquitted" if use.acquitted else "not shared"
        detail = f"{use.healthy} healthy pairs lost {use.lost} of {use.sent} packets on it since the onset"
        tests.append(PassTest(test=f"link:{use.link}", result=result, detail=detail))
    if not links:
        detail = "no trace and no hash says which links the pairs use"
        tests.append(PassTest(test="paths", result="not known", detail=detail))
    return uses


def _conclude(
    scene: Scene, outcome: Outcome, found: tuple[list[str], list[LinkUse], list[PassTest]]
) -> tuple[Verdict, str]:
    blamed, uses, tests = found
    if scene.deep:
        return "suspect", f"queues on the way were deep: {listing([test.port for test in scene.deep])}"
    if blamed:
        return "suspect", f"what was lost or slow is explained best by {listing(blamed)}"
    open_links = [use.link for use in uses if not use.acquitted]
    if not uses:
        outcome.wanted.append("traceroutes of the probed flows")
        return "inconclusive", "the links of the pairs are not known"
    if open_links:
        outcome.wanted.append(f"probes of other pairs over {listing(open_links)}")
        return "inconclusive", f"no healthy pair uses {listing(open_links)}, so nothing speaks for or against it"
    slow = scene.case.symptom() == "high_latency"
    if slow and "switch-queues" not in scene.store.seen_topics:
        outcome.wanted.append("queue depths of the switches on the way")
        return "inconclusive", "healthy pairs share every link, but no queue was observed"
    shared = "healthy pairs share every link on the way"
    if any(test.test == "queues" and test.result == "flat" for test in tests):
        return "clean", f"{shared}, and the queues did not grow: no fault there, not congestion"
    return "clean", f"{shared}: no fault there; of the queues too little was seen"
