"""What parts that have no settings module of their own can be told: clock, flow tables, device events, switches."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Seconds = Annotated[float, Meta(ge=0.1, le=3600.0)]
OVS = ("ovs-appctl", "dpctl/dump-flows", "-m")
OVS_OFFLOADED = (*OVS, "type=offloaded")
"""As long as the dump, as only ``-m`` prints the ids that the two are compared by."""


class ClockSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who is asked, beside the kernel, how far the host's clock may be off. Every agent follows its clock.

    chronyc: command that prints chrony's tracking, such as `["chronyc", "-c", "tracking"]`; empty = none.
    pmc: command that prints the data sets of ptp4l; empty = none.
    ptp_log: log of ptp4l and phc2sys; empty = none.
    vouched_us: a bound that you vouch for where no source tells one (on one machine in a laboratory); 0 = none.
    """

    chronyc: tuple[str, ...] = ()
    pmc: tuple[str, ...] = ()
    ptp_log: str = ""
    vouched_us: Annotated[float, Meta(ge=0.0)] = 0.0


class FlowSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Flow tables of the virtual switch and of the RNICs (part `flow-tables`).

    period_s: seconds between two dumps; an anomaly of an endpoint of this host, or a request, asks for one in between.
    ovs: command that dumps the virtual switch's flows; empty = there is none.
    ovs_offloaded: command that lists the offloaded ones, where the dump does not mark them.
    devices: network devices whose tc filters are read.
    cards: command that prints what the RNICs hold, see the guide; empty = none.
    tunnels: outer address to `<host>` or `<host>/<rnic>`, for tunnels between hosts.
    ports: a port as the dump prints it, to the virtual interface as the endpoint map names it.
    timeout_s: seconds that each command has.
    max_mb: megabytes that are read of each command.
    max_flows: flows of each table in one message.
    """

    period_s: Seconds = 10.0
    ovs: tuple[str, ...] = OVS
    ovs_offloaded: tuple[str, ...] = OVS_OFFLOADED
    devices: tuple[str, ...] = ()
    cards: tuple[str, ...] = ()
    tunnels: dict[str, str] = {}
    ports: dict[str, str] = {}
    timeout_s: Seconds = 5.0
    max_mb: Annotated[float, Meta(ge=0.1, le=1000.0)] = 16.0
    max_flows: Annotated[int, Meta(ge=1, le=1_000_000)] = 20_000


class InterfaceSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A network device of the host as it should be.

    netdev: its name.
    mtu: its MTU.
    speed_mbps: its speed in Mb/s; a bond's is the sum of its members'.
    master: the bond that it belongs to.
    """

    netdev: Annotated[str, Meta(min_length=1)]
    mtu: Annotated[int, Meta(ge=68, le=65535)] | None = None
    speed_mbps: Annotated[int, Meta(ge=1)] | None = None
    master: str | None = None


class EventSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What devices, the container runtime and the host's configuration say (parts `kernel-log`, `log-files`,
    `job-logs`, `journal`, `syslog`, `container-runtime`, `configuration`, `lldp`).

    kernel_log: the kernel's log.
    backlog: also tell what was in it before the agent began.
    logs: log files to follow.
    job_logs: a container's own log (of NCCL, say), by container.
    syslog: `address:port` (UDP) on which switches' syslog is heard.
    switches: name of the switch by sender's address; others are left out.
    runtime: whose events of containers are heard.
    aliases: container as the endpoint map names it, by the runtime's name.
    configuration_s: seconds between two checks of network devices, bonds, congestion control and huge pages.
    interfaces: tables `[[events.interfaces]]`, one for each network device that is to be as they say, with the fields
        below; empty = all are to stay as they are when the agent begins.
    hugepages: number of huge pages that should be there, by size in kB.
    qos_netdevs: network devices whose PFC, ECN and trust are checked.
    pfc: priorities that need PFC.
    ecn: priorities that need ECN.
    trust: the field that should be trusted (`dscp` or `pcp`); empty = not checked.
    lldp_s: seconds between two questions to the LLDP daemon.
    """

    kernel_log: Annotated[str, Meta(min_length=1)] = "/dev/kmsg"
    backlog: bool = False
    logs: tuple[str, ...] = ()
    job_logs: dict[str, str] = {}
    syslog: str = ""
    switches: dict[str, str] = {}
    runtime: Literal["cri", "containerd", "docker"] = "cri"
    aliases: dict[str, str] = {}
    configuration_s: Seconds = 30.0
    interfaces: tuple[InterfaceSettings, ...] = ()
    hugepages: dict[str, int] = {}
    qos_netdevs: tuple[str, ...] = ()
    pfc: tuple[Annotated[int, Meta(ge=0, le=7)], ...] = ()
    ecn: tuple[Annotated[int, Meta(ge=0, le=7)], ...] = ()
    trust: str = ""
    lldp_s: Seconds = 60.0


class GnmiSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A switch that streams its queues by gNMI.

    switch: its name in the fabric map.
    host: where it is reached.
    port: TCP port of its gNMI service.
    username: who asks.
    password_file: file with the password; empty = none.
    insecure: without TLS.
    root_certificate: file with the certificate that the switch's must descend from.
    certificate: file with our own certificate.
    key: file with its key.
    skip_verify: believe any certificate.
    paths: what is subscribed to; empty = OpenConfig's paths of queues, pauses, CRC errors and release.
    target: target of the prefix, such as `COUNTERS_DB` of SONiC; empty = none.
    encoding: `json`, `json_ietf`, `proto` ...; empty = the first of them that the switch knows.
    sample_s: seconds between two samples.
    """

    switch: Annotated[str, Meta(min_length=1)]
    host: Annotated[str, Meta(min_length=1)]
    port: Annotated[int, Meta(ge=1, le=65535)] = 9339
    username: str = ""
    password_file: str = ""
    insecure: bool = False
    root_certificate: str | None = None
    certificate: str | None = None
    key: str | None = None
    skip_verify: bool = False
    paths: tuple[str, ...] = ()
    target: str = ""
    encoding: str = ""
    sample_s: Seconds = 1.0


class SwitchSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Switches whose queues this agent reads (parts `switches-gnmi`, `switches-sonic`).

    gnmi: tables `[[switches.gnmi]]`, one for each switch, with the fields below.
    sonic: words before SONiC's commands by switch, such as `leaf-0 = ["ssh", "monitor@leaf-0"]`.
    sonic_s: seconds between two questions to a SONiC switch.
    lossless: priorities that need ECN and PFC on every port of SONiC switches; empty = not checked.
    timeout_s: seconds that each command has.
    """

    gnmi: tuple[GnmiSettings, ...] = ()
    sonic: dict[str, tuple[str, ...]] = {}
    sonic_s: Seconds = 5.0
    lossless: tuple[Annotated[int, Meta(ge=0, le=7)], ...] = ()
    timeout_s: Seconds = 10.0


def address_of(text: str) -> tuple[str, int]:
    """``address:port``, the address of IPv6 in brackets.

    Raises:
        ValueError: it is none.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"Expected address:port, got {text!r}")
    return host.strip("[]"), int(port)
