"""One of two hosts joined by Open vSwitch and VXLAN: its probes, flow tables and health, as the agent sends them.

Usage: ovs.py ME. After ``HEALTHY_S`` host 1 gets a rule that drops all RDMA packets of its own RNIC.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from agents import Driver, now, plan
from guest import check, say, sh

from collectors.flows.collector import FlowBounds, FlowCollector, FlowSources
from collectors.flows.known import Surroundings
from collectors.observing import Observed
from collectors.probing import Home, Prober, ProbingSettings
from collectors.stamping import Stamper, new_boot
from schemas.codec import encode
from schemas.envelope import Clock, Producer
from schemas.maps import Ecmp, Endpoint, EndpointMap, FabricMap, Link, Node

HEALTHY_S, BROKEN_S = 14.0, 18.0
EVERY_S = 4.0
DROP = "priority=30,in_port=rdma0,udp,tp_dst=4791,actions=drop"
SHARE = Path("/mnt/share")

me = int(sys.argv[1])
clock = Clock(source="ntp", offset_us=0.0, error_us=50_000.0)
boot = new_boot(now())
stamper = Stamper(f"h{me}", boot, "f", lambda: clock)
lines = (SHARE / f"host{me}.ndjson").open("w")


def write(topic: str, key: str, value: bytes) -> None:
    lines.write(f'{{"topic":"{topic}","key":"{key}","arrival_us":{now().t_us},"value":{value.decode()}}}\n')


def publish(observed: Observed) -> None:
    stamped = stamper.stamp(observed)
    write(stamped.topic, stamped.key, stamped.value)


def endpoint(number: int) -> Endpoint:
    return Endpoint(
        endpoint=f"c{number}/rnic0",
        container=f"c{number}",
        host=f"h{number}",
        rnic="rnic0",
        rail=0,
        rank=number - 1,
        vif="rdma0" if number == me else f"rdma0@h{number}",
        ip=f"10.9.0.{number}",
        switch_port=f"leaf/{number}",
        state="ready",
    )


def maps() -> tuple[EndpointMap, FabricMap]:
    """Of both hosts, by the host's present time."""
    producer = Producer(id="agent:site/maps", kind="test", boot=boot, seq=1)
    envelope = {"v": 1, "t_us": now().t_us, "producer": producer, "clock": clock, "fabric": "f"}
    endpoints = EndpointMap(
        **envelope, job="j", version=1, state="running", reason="test", endpoints=(endpoint(1), endpoint(2))
    )
    nodes = Node(id="leaf", kind="leaf"), Node(id="h1/rnic0", kind="rnic"), Node(id="h2/rnic0", kind="rnic")
    links = tuple(Link(id=f"wire-{n}", a=f"h{n}/rnic0/1", b=f"leaf/{n}") for n in (1, 2))
    return endpoints, FabricMap(**envelope, version=1, nodes=nodes, links=links, ecmp=Ecmp(method="traced"))


def health() -> Observed:
    fields = {"agent": f"h{me}", "host": f"h{me}", "covers": [f"c{me}/rnic0"], "state": "ok", **versions()}
    return Observed("agent-health", "agent-health", now().t_us, fields)


def versions() -> dict[str, int | None]:
    return {"plan_version": prober.report().plan_version}


settings = ProbingSettings(timeout_s=1.0, give_up_s=3.0)
prober = Prober(Home(host=f"h{me}", devices={"rnic0": "rxov"}), settings)
endpoints, fabric = maps()
both = plan([(1, 2), (2, 1)], slot_s=0.5)
known = Surroundings(f"h{me}", tunnels={"10.0.0.1": "h1", "10.0.0.2": "h2"})
dump = "ovs-appctl", "dpctl/dump-flows", "--names", "-m"
flows = FlowCollector(known, FlowSources(ovs=dump, ovs_offloaded=None), EVERY_S, FlowBounds(timeout_s=30.0))
for part in (prober, known):
    part.take_map(endpoints)
    part.take_plan(both)
if me == 1:
    write("endpoint-map", "j", encode("endpoint-map", endpoints))
    write("fabric-map", "f", encode("fabric-map", fabric))
driver = Driver({me: prober})
published: list[Observed] = []


def run(seconds: float) -> None:
    """Probes, and every ``EVERY_S`` health and flow tables."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        driver.run_for(EVERY_S)
        for observed in driver.said[len(published) :]:
            publish(observed)
            published.append(observed)
        publish(health())
        for observed in flows.collect(now()):
            publish(observed)


def has_replies() -> bool:
    return sum(r.outcome == "reply" for r in driver.results()) >= 4


say(f"agent {me} begins")
driver.run(has_replies, 120.0)
say(f"agent {me} has replies: {prober.tally}")
(SHARE / f"sync/replies{me}").touch()
driver.run((SHARE / f"sync/replies{3 - me}").exists, 120.0)
run(HEALTHY_S)
if me == 1:
    sh(f'ovs-ofctl add-flow br0 "{DROP}"')
    say("the drop rule is in place")
run(BROKEN_S)
lines.close()
results = [r for r in driver.results() if r.sent]
lost = [r for r in results if r.outcome == "lost"]
check(bool(lost), f"{len(results)} trains with probes, {len(lost)} of them lost")
