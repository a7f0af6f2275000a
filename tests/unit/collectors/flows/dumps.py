"""Dumps of Open vSwitch in the kernel's and the userspace datapath's words, and endpoints that they are about."""

from __future__ import annotations

from pathlib import Path

from collectors.flows.places import Places, Resolver
from schemas.maps import Endpoint

DATA = Path(__file__).parents[3] / "data" / "collectors" / "flows"
TUNNELS = {"198.51.100.1": "h1", "198.51.100.2": "h2", "198.51.100.3": "h3"}


def text(name: str) -> str:
    return (DATA / name).read_text()


def endpoint(container: str, host: str, vif: str, ip: str | None, rnic: str = "mlx5_0") -> Endpoint:
    return Endpoint(
        endpoint=f"{container}/{rnic}", container=container, host=host, rnic=rnic, rail=0, vif=vif, ip=ip, state="ready"
    )


ENDPOINTS = (
    endpoint("c1", "h1", "vf0_rep", "10.0.1.5"),
    endpoint("c2", "h2", "vf9_rep", "10.0.0.9"),
    endpoint("c3", "h3", "vf7_rep", "10.0.0.17"),
)


def resolver(*endpoints: Endpoint, host: str = "h1", **further: object) -> Resolver:
    places = {"host": host, "jobs": {"j": endpoints or ENDPOINTS}, "tunnels": TUNNELS} | further
    return Resolver(Places(**places))


def line(match: str, actions: str, marks: str = "offloaded:yes, dp:tc", packets: int = 10, ufid: str = "") -> str:
    head = f"ufid:{ufid}, " if ufid else ""
    marked = f" {marks}," if marks else ""
    return f"{head}{match}, packets:{packets}, bytes:{packets * 100}, used:0.5s,{marked} actions:{actions}"


def roce(port: str, src: str = "10.0.1.5", dst: str = "10.0.0.9", recirc: str = "0") -> str:
    addresses = f"ipv4(src={src},dst={dst},proto=17,frag=no),udp(src=0/0,dst=4791)"
    return f"recirc_id({recirc}),in_port({port}),eth_type(0x0800),{addresses}"


def into_tunnel(outer: str, port: str = "vxlan_sys_4789") -> str:
    return f"set(tunnel(tun_id=0x64,dst={outer},ttl=64,tp_dst=4789,flags(df|key))),{port}"


def out_of_tunnel(outer: str, src: str, dst: str) -> str:
    tunnel = f"tunnel(tun_id=0x64,src={outer},dst=198.51.100.1,ttl=64/0,tp_dst=4789,flags(-df-csum+key))"
    return f"{tunnel},{roce('vxlan_sys_4789', src, dst)}"
