"""Names of ports, as switches of several makers send them."""

from __future__ import annotations

import pytest

from collectors.lldp_ports import port_name


@pytest.mark.parametrize(
    ("kind", "value", "description", "name"),
    [
        ("ifname", "Gi3/36", "GigabitEthernet3/36", "Gi3/36"),
        ("ifname", "FortyGigabitEthernet 1/0/49", "", "FortyGigabitEthernet 1/0/49"),
        ("local", "Ethernet30/1", "ARISTA02T1:Ethernet1", "Ethernet30/1"),
        ("local", "Eth1/39", "topology/pod-1", "Eth1/39"),
        ("local", "539", "ge-0/0/12.0", "ge-0/0/12"),
        ("local", "588", "et-0/0/38:2.0", "et-0/0/38:2"),
        ("local", "523", "AA36/hutton/NRP/MellanoxSN3700", "523"),
        ("local", "42", "42", "42"),
        ("local", "612", "", "612"),
        ("mac", "e8:68:19:68:39:4d", "eth10", "eth10"),
        ("mac", "e8:68:19:68:39:4d", "", "e8:68:19:68:39:4d"),
        ("", "Ethernet1/1", "", "Ethernet1/1"),
        ("local", "", "swp1", "swp1"),
        ("mac", "", "", ""),
    ],
)
def test_a_port_is_called_by_the_name_that_its_switch_uses(kind: str, value: str, description: str, name: str) -> None:
    assert port_name(kind, value, description) == name
