"""Lines of switches of more vendors, in the frames that their vendors use: port, state, host and time."""

from __future__ import annotations

import calendar

import pytest

from collectors.events.classifying import classify
from collectors.events.framing import parse_line
from collectors.events.log_files import Followed, notices_of
from collectors.observing import Now

MARCH_US = 1_772_709_300_000_000
"""2026-03-05T11:15:00Z"""
NOW = Now(t_us=MARCH_US, mono_us=1)
PHY = "IFNET/3/PHY_UPDOWN: Physical state on the interface FortyGigE1/0/53 changed to {}."
HUAWEI = (
    "%%01IFNET/2/linkDown_active(l):CID=0x807a0404-alarmID=0x08520003;The interface status changes. (ifName=25GE1/0/1, "
    "AdminStatus=UP, OperStatus={}, Reason=Interface physical link is down, mainIfname=25GE1/0/1)"
)
OS10 = "<165>1 2026-03-05T11:14:48.616888+00:00 leaf-0 dn_alm 669 - - Node.1-Unit.1:PRI [event], Dell EMC (OS10) "
CUMULUS = "Mar  5 11:14:48 leaf-0 switchd[5692]: "
KERNEL = "2026-03-05T11:14:48.123456+00:00 leaf-0 kernel: [ 6213.959196] "


@pytest.mark.parametrize(
    ("line", "code", "port"),
    [
        (f"%Mar  5 11:14:48:760 2026 leaf-0 {PHY.format('down')}", "port_down", "FortyGigE1/0/53"),
        (f"<171>Mar  5 11:14:48 2026 leaf-0 %%10{PHY.format('up')}", "port_up", "FortyGigE1/0/53"),
        (
            "%Mar  5 11:14:48:807 2026 leaf-0 IFNET/5/LINK_UPDOWN: Line protocol on the interface HGE1/0/1 is down.",
            "port_down",
            "HGE1/0/1",
        ),
        (
            "%Mar  5 11:14:48:807 2026 leaf-0 IFNET/3/PHY_UPDOWN: -MDC=1; FortyGigE1/0/1 link status is DOWN.",
            "port_down",
            "FortyGigE1/0/1",
        ),
        (
            "<188>Mar  5 2026 11:14:48 leaf-0 %%01IFNET/4/IF_STATE(l)[18]:Interface 10GE1/0/3 has turned into DOWN "
            "state.",
            "port_down",
            "10GE1/0/3",
        ),
        (
            "Mar  5 2026 17:14:48+06:00 leaf-0 %%01IFNET/4/IF_STATE(l)[12]:Interface 100GE1/0/4 has turned into UP "
            "state.",
            "port_up",
            "100GE1/0/4",
        ),
        (
            "<29>2026-3-5 11:14:48.270.1 leaf-0 %%01IFNET/4/IF_STATE(l)[4997]:Interface 40GE0/0/8 has turned into "
            "DOWN state.",
            "port_down",
            "40GE0/0/8",
        ),
        (f"Mar  5 2026 11:14:48 leaf-0 {HUAWEI.format('DOWN')}", "port_down", "25GE1/0/1"),
        (f"Mar  5 2026 07:14:48-04:00 leaf-0 {HUAWEI.format('UP')}", "port_up", "25GE1/0/1"),
        (f"{OS10}%IFM_OSTATE_DN: Interface operational state is down :ethernet1/1/12", "port_down", "ethernet1/1/12"),
        (f"{OS10}%IFM_OSTATE_UP: Interface operational state is up :ethernet1/1/12", "port_up", "ethernet1/1/12"),
        (f"{CUMULUS}nic.c:213 nic_set_carrier: swp17: setting kernel carrier: down", "port_down", "swp17"),
        (f"{CUMULUS}netlink.c:291 libnl: swp1, family 0, ifi 20, oper down", "port_down", "swp1"),
        (f"{KERNEL}mlxsw_spectrum 0000:01:00.0 swp1: link down", "port_down", "swp1"),
        (f"{KERNEL}mlxsw_spectrum3 0000:01:00.0 enp3s0np1s0: link up", "port_up", "enp3s0np1s0"),
        (f"{KERNEL}mscc_felix 0000:00:00.5 swp1: Link is Down", "port_down", "swp1"),
        (f"{KERNEL}igb 0000:07:00.0 eth0: igb: eth0 NIC Link is Down", None, None),
        (f"{KERNEL}bridge: port 1(swp1) entered disabled state", None, None),
        ("Mar  5 11:14:48 leaf-0 systemd-networkd[942]: swp1: Lost carrier", "port_down", "swp1"),
        ("Mar  5 11:14:48 leaf-0 systemd-networkd[942]: eth0: Lost carrier", None, None),
        (
            "<189>117: leaf-0: Mar  5 11:14:48.098: %LINK-5-CHANGED: Interface Gi2, changed state to administratively "
            "down",
            "port_down",
            "Gi2",
        ),
        (
            "<187>94307: leaf-0 LC/0/2/CPU0:Mar  5 11:14:48.834 : ifmgr[214]: %PKT_INFRA-LINK-3-UPDOWN : Interface "
            "TenGigE0/2/0/4, changed state to Down",
            "port_down",
            "TenGigE0/2/0/4",
        ),
        (
            "2026 Mar  5 12:14:48 +01:00 leaf-0 %ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Ethernet1/1 is down (Link "
            "failure)",
            "port_down",
            "Ethernet1/1",
        ),
        (
            "Mar  5 11:14:48  leaf-0 mib2d[4086]: SNMP_TRAP_LINK_DOWN: ifIndex 550, ifAdminStatus up(1), ifOperStatus "
            "down(2), ifName et-0/0/1",
            "port_down",
            "et-0/0/1",
        ),
    ],
)
def test_ports_of_every_vendor(line: str, code: str | None, port: str | None) -> None:
    found = [(notice.code, notice.subject.name) for notice, _ in notices_of([line], NOW, "switch", 0)]
    assert found == ([(code, f"leaf-0/{port}")] if code else [])
    parsed = parse_line(line, MARCH_US)
    written_us = calendar.timegm((2026, 3, 5, 11, 14, 48)) * 1_000_000
    assert parsed.t_us is not None and 0 <= parsed.t_us - written_us < 1_000_000 and parsed.host == "leaf-0"


def test_a_hostless_line_of_nx_os_and_ios_has_its_time() -> None:
    words = "%ETHPORT-5-IF_DOWN_ERROR_DISABLED: Interface Ethernet103/1/3 is down (Error disabled)"
    for head in ("<189>: 2026 Mar  5 11:14:48 UTC: ", "<189>29: *Mar  5 11:14:48.456 UTC: "):
        line = parse_line(head + words, MARCH_US, 3_600)
        assert line.t_us is not None and line.t_us // 1_000_000 == MARCH_US // 1_000_000 - 12 and line.host is None
        assert line.text == words


LINK = "<187>Mar  5 11:14:{}: %LINK-3-UPDOWN: Interface Hu1/0/1, changed state to {}"
PROTOCOL = "<189>Mar  5 11:14:{}: %LINEPROTO-5-UPDOWN: Line protocol on Interface Hu1/0/1, changed state to {}"


def test_the_protocol_on_a_link_that_follows_it_is_no_other_flap() -> None:
    flap = [
        PROTOCOL.format(56, "down"),
        LINK.format(57, "down"),
        LINK.format(58, "up"),
        PROTOCOL.format(59, "up"),
        LINK.format(59, "down"),
        PROTOCOL.format(59, "down"),
    ]
    followed = Followed()
    told = [notice.code for line in flap for notice, _ in notices_of([line], NOW, "switch", 0, "leaf-0", followed)]
    assert told == ["port_down", "carrier", "port_up", "carrier", "port_down", "carrier"]
    for line in (LINK, PROTOCOL):
        twice = [line.format(56, "down"), line.format(57, "down")]
        assert [each.code for each, _ in notices_of(twice, NOW, "switch", 0, "leaf-0")] == ["port_down"] * 2


def test_a_vendor_s_own_mark_says_how_bad_an_unknown_line_is() -> None:
    def code(line: str) -> str | None:
        found = classify(parse_line(line, MARCH_US), "switch")
        return found.code if found else None

    assert code("2026 Mar  5 11:14:48 leaf-0 %MODULE-2-FAILED: Module 1 failed") == "unknown"
    assert (
        code("2026 Mar  5 11:14:48 leaf-0 %ETHPORT-5-SPEED: Interface Ethernet1/1, operational speed changed") is None
    )
    assert code("Mar  5 2026 11:14:48 leaf-0 %%01CONFIGURATION/3/ROLLBACK_FAIL(l):CID=0x80cb000c;words") == "unknown"
    assert code("<189>Mar  5 11:14:48 leaf-0 words %MODULE-2-FAILED: Module 1 failed") is None, "syslog's number counts"


def test_a_unit_of_junos_is_no_other_port() -> None:
    """Junos tells of the port and of each unit on it, in the same second."""
    told = []
    followed = Followed()
    for state in ("UP", "DOWN", "UP"):
        for name in ("et-0/0/24:1", "et-0/0/24:1.0"):
            line = f"Mar  5 11:14:48  leaf-0 mib2d[14567]: SNMP_TRAP_LINK_{state}: ifIndex 753, ifName {name}"
            told += [(each.code, each.subject.name) for each, _ in notices_of([line], NOW, "switch", 0, "", followed)]
    port = "leaf-0/et-0/0/24:1"
    assert told == [(code, port) for state in ("up", "down", "up") for code in (f"port_{state}", "carrier")]
    unit = "<28>1 2026-03-05T11:14:48.561Z leaf-0 mib2d 77 SNMP_TRAP_LINK_DOWN [junos@2636.1.1.1.2.29 "
    found = classify(parse_line(unit + 'admin-status="up(1)" interface-name="et-0/0/1.0"]', NOW.t_us), "switch")
    assert found is not None and (found.subject.name, found.values["layer"]) == ("et-0/0/1", "protocol")
