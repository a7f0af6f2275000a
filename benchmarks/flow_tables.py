"""What does it cost to turn a dump of Open vSwitch into rows? For the paper's mean and largest number of flows.

    python benchmarks/flow_tables.py

Lines are of the kernel datapath's long form, every flow of another pair of one job of 2,048 endpoints; the commands
that print them are not counted. Prints one JSON object a size: processor time in milliseconds.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from collectors.flows.chains import chains
from collectors.flows.datapath import parse_dump
from collectors.flows.places import Places, Resolver
from collectors.flows.rows import rows_of
from schemas.maps import Endpoint

SIZES = (41, 9_355)
ENDPOINTS = 2_048
LINE = (
    "ufid:{0:08x}-0000-4000-8000-000000000001, skb_priority(0/0),skb_mark(0/0),ct_state(0/0x21),ct_zone(0/0),"
    "ct_mark(0/0),ct_label(0/0),recirc_id(0),dp_hash(0/0),in_port(vf0_rep),packet_type(ns=0/0,id=0/0),eth(src=02:00:00:00:01:20,"
    "dst=02:00:00:00:01:10),eth_type(0x0800),ipv4(src=10.255.0.1,dst={1},proto=17,tos=0/0x3,ttl=64/0,frag=no),"
    "udp(src={2},dst=4791), packets:2491914653, bytes:3074457645572, used:0.640s, offloaded:yes, dp:tc,"
    " actions:set(tunnel(tun_id=0x7,src=198.51.100.1,dst=198.51.100.2,ttl=64,tp_dst=4789,flags(df|key))),vxlan_sys_4789"
)


def endpoint(number: int, host: str, vif: str, ip: str) -> Endpoint:
    """One endpoint of the job."""
    container = f"c{number}"
    return Endpoint(
        endpoint=f"{container}/mlx5_0",
        container=container,
        host=host,
        rnic="mlx5_0",
        rail=0,
        vif=vif,
        ip=ip,
        state="ready",
    )


def address(number: int) -> str:
    """The overlay address of a peer."""
    return f"10.{number // 250}.{number % 250}.9"


def measure(flows: int, resolver: Resolver) -> dict[str, float]:
    """Milliseconds of each step."""
    dump = "\n".join(LINE.format(n, address(n % (ENDPOINTS - 1)), 49_152 + n % 16_000) for n in range(flows))
    began = time.process_time()
    parsed, _ = parse_dump(dump)
    read = time.process_time()
    rows = [row for chain in chains(parsed) for row in rows_of(chain, resolver)]
    done = time.process_time()
    return {"flows": flows, "rows": len(rows), "parse_ms": (read - began) * 1e3, "rows_ms": (done - read) * 1e3}


def main() -> None:
    """Measures each size, the best of three."""
    peers = [endpoint(n + 1, f"g{n}", "v", address(n)) for n in range(ENDPOINTS - 1)]
    own = endpoint(0, "h1", "vf0_rep", "10.255.0.1")
    resolver = Resolver(Places(host="h1", jobs={"j": (own, *peers)}))
    for flows in SIZES:
        best = min((measure(flows, resolver) for _ in range(3)), key=lambda found: found["parse_ms"] + found["rows_ms"])
        print(json.dumps({name: round(value, 1) for name, value in best.items()}))


if __name__ == "__main__":
    main()
