"""What probing is set up by."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Seconds = Annotated[float, Meta(gt=0.0, le=3600.0)]
Rate = Annotated[float, Meta(gt=0.0, le=1e6)]


class ProbingSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How plans are carried out; every plan stays within these limits, whatever it says.

    transport: `rdma`, `udp`, `tcp`, or `auto`: RDMA where this host and the peer have it, else UDP.
    port: UDP (and TCP) port of all agents of the fabric.
    max_pps: most probes per second of one endpoint.
    max_pps_total: most probes per second of the agent.
    train_packets: packets of a train, unless the plan's rate allows fewer.
    timeout_s: a reply after that is late.
    give_up_s: a probe without a reply by then is lost.
    hello_s: seconds between two greetings of a peer that has not registered.
    trace_s: seconds between two traceroutes of one pair and port; 0 = none.
    report_s: seconds that one message covers.
    answers_per_s: most answers per second of one endpoint.
    answers_per_asker: most of them to one address.
    traffic_class: IP traffic class (DSCP and ECN bits) of probes; that of the job's RDMA traffic is the right one.
    key_file: file with the key that the fleet's agents share (32 to 64 bytes); none = probes carry no tag.
    """

    transport: Literal["auto", "rdma", "udp", "tcp"] = "auto"
    port: Annotated[int, Meta(ge=1, le=65535)] = 17171
    max_pps: Rate = 200.0
    max_pps_total: Rate = 1000.0
    train_packets: Annotated[int, Meta(ge=1, le=1000)] = 10
    timeout_s: Seconds = 0.5
    give_up_s: Seconds = 2.0
    hello_s: Seconds = 1.0
    trace_s: Annotated[float, Meta(ge=0.0, le=86400.0)] = 60.0
    report_s: Seconds = 1.0
    answers_per_s: Rate = 5000.0
    answers_per_asker: Rate = 1000.0
    traffic_class: Annotated[int, Meta(ge=0, le=255)] = 0
    key_file: str = ""
