"""Network devices as the settings want them."""

from __future__ import annotations

from pathlib import Path

from collectors.events.checks import ConfigurationChecks, Wanted
from collectors.events.interfaces import expected_of
from collectors.part_settings import InterfaceSettings
from tests.unit.collectors.events.hosts import NOW, devices, write

FRONT0 = {"carrier": "1", "mtu": "1500", "speed": "200000"}


def test_what_settings_expect_is_wrong_from_the_first_look_on(tmp_path: Path) -> None:
    assert expected_of(()) is None, "it is learned then"
    listed = (InterfaceSettings(netdev="front0", mtu=9192, speed_mbps=400_000), InterfaceSettings(netdev="gone0"))
    sys = write(tmp_path / "sys", {f"class/net/front0/{name}": f"{text}\n" for name, text in FRONT0.items()})
    part = ConfigurationChecks(devices, Wanted(interfaces=expected_of(listed)), (sys, tmp_path / "proc"))
    found = {(fact.fields["device"], fact.fields["event"]) for fact in part.collect(NOW)}
    assert found == {
        ("config:h1", "mtu_mismatch"),
        ("port:h1/front0", "speed_degraded"),
        ("port:h1/gone0", "interface_missing"),
    }
