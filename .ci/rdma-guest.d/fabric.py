"""A leaf-spine fabric: with loss on one spine link exactly the source ports through it lose, as traces say."""

from __future__ import annotations

import sys

from agents import ENVELOPE, plan
from guest import check, one_way, replies, say, sh, two_agents

from collectors.probing import ProbingSettings
from schemas.maps import Ecmp, FabricMap, Link, Node
from schemas.probing import ProbeResult

PORTS = 8

ADDRESSES = {
    "l1": {"10.1.0.1": "hst", "10.11.1.1": "s1", "10.11.2.1": "s2"},
    "l2": {"10.2.0.1": "hst", "10.12.1.1": "s1", "10.12.2.1": "s2"},
    "s1": {"10.11.1.2": "l1", "10.12.1.2": "l2"},
    "s2": {"10.11.2.2": "l1", "10.12.2.2": "l2"},
}


def fabric_map() -> FabricMap:
    kinds = {"l1": "leaf", "l2": "leaf", "s1": "spine", "s2": "spine"}
    nodes = [Node(id=name, kind=kinds[name], addresses=addresses) for name, addresses in ADDRESSES.items()]
    nodes += [Node(id=f"h{n}/rnic0", kind="rnic") for n in (1, 2)]
    links = [Link(id=f"h{n}-l{n}", a=f"h{n}/rnic0/1", b=f"l{n}/hst") for n in (1, 2)]
    links += [Link(id=f"{leaf}-{s}", a=f"{leaf}/{s}", b=f"{s}/{leaf}") for leaf in ("l1", "l2") for s in ("s1", "s2")]
    body = {key: value for key, value in ENVELOPE.items() if key != "job"}
    return FabricMap(**body, version=1, nodes=tuple(nodes), links=tuple(links), ecmp=Ecmp(method="traced"))


def spine_of(sport: int) -> str:
    """Which spine the kernel of leaf l1 sends a flow to."""
    route = sh(f"ip netns exec l1 ip route get 10.2.0.2 from 10.1.0.2 iif hst ipproto udp sport {sport} dport 4791")
    return "s1" if "10.11.1.2" in route else "s2"


settings = ProbingSettings(timeout_s=1.0, give_up_s=3.0, trace_s=30.0)
for attempt in range(6):  # queue pairs are numbered on, so each attempt has other ports
    driver = two_agents(("10.1.0.2", "10.2.0.2"), settings)
    driver.probers[1].take_fabric(fabric_map())
    driver.probers[1].take_plan(plan([(1, 2)] * PORTS, slot_s=0.2))
    healthy = replies(driver, 3 * PORTS)
    spines = {r.sport: spine_of(r.sport) for r in healthy if r.sport is not None}
    if len(set(spines.values())) == 2:
        break
    say(f"all ports of attempt {attempt} take one spine: again")
    driver.close()
else:
    sys.exit("no set of queue pairs takes both spines")
sent, lost, late = one_way(healthy)
check(len(spines) == PORTS, f"{len(spines)} source ports for {PORTS} slots")
check(lost == 0, f"healthy: {sent} sent, {lost} lost, {late} late")


def known() -> list[ProbeResult]:
    return [r for r in driver.results(1, 2) if r.kind == "rdma" and r.path is not None]


driver.run(lambda: {r.sport for r in known()} == set(spines), 120.0)
traced = known()
wrong = [r for r in traced if r.path != ("h1-l1", f"l1-{spines[r.sport]}", f"l2-{spines[r.sport]}", "h2-l2")]
check(bool(traced), f"traceroutes know the path of all {PORTS} ports")
check(not wrong, "and it is the one that the leaf's kernel takes")

sh("ip netns exec s1 tc qdisc add dev l2 root netem loss 50%")
found = replies(driver, 5 * PORTS, 90.0)
sh("ip netns exec s1 tc qdisc del dev l2 root")
for sport, spine in sorted(spines.items()):
    sent, lost, _ = one_way([r for r in found if r.sport == sport])
    text = f"source port {sport} through {spine}: {lost} of {sent} lost"
    check(lost > 0.2 * sent if spine == "s1" else lost == 0, text)
driver.close()
