"""Carries out probe plans over RDMA, UDP or TCP, answers the probes of other agents, and says what became of each
train.

    plan ──► schedule ──► sending ──► transport (rdma | udp | tcp) ──► network ──► the peer's responder
    endpoint map ──► peers (ready?)        │ completions
    probe results ◄── trains (ledger) ◄────┘

Pure: packet, timing, pacing, schedule, peers, trains, paths, tracing, source_ports. The rest touches sockets and
devices.
"""

from collectors.probing.prober import Home, Prober
from collectors.probing.settings import ProbingSettings

__all__ = ["Home", "Prober", "ProbingSettings"]
