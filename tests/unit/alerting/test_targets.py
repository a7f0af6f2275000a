"""Secrets of targets come from files and variables, and are told to nobody; addresses are judged."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import msgspec
import pytest

from skeletonhunter.alert_settings import PAGERDUTY_URL, AlertSettings
from skeletonhunter.alerting.addresses import ForbiddenAddressError, judge, networks
from skeletonhunter.alerting.routing import Tenants, is_wanted, place_of
from skeletonhunter.alerting.targets import TargetError, targets_of
from tests.unit.alerting.incidents import incident, target
from tests.unit.sinks.messages import received_examples


def test_url_token_and_key_are_read_from_files_and_variables(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("https://hooks.example/secret\n")
    aimed = target(url=None, url_file=str(tmp_path / "url"), token_env="TOKEN", key_env="KEY")
    [found] = targets_of(AlertSettings(targets=(aimed,)), {"TOKEN": "t0ken", "KEY": " k3y\n"})
    assert (found.url, found.token, found.key) == ("https://hooks.example/secret", "t0ken", "k3y")
    assert (found.group, found.place) == ("alert-oncall", "https://hooks.example")
    assert not any(secret in repr(found) for secret in ("https://hooks.example/secret", "t0ken", "k3y"))


def test_pagerduty_needs_no_url() -> None:
    aimed = target(form="pagerduty", url=None, token_env="KEY")
    [found] = targets_of(AlertSettings(targets=(aimed,)), {"KEY": "r0uting"})
    assert (found.url, found.token) == (PAGERDUTY_URL, "r0uting")


def test_a_missing_secret_is_named_and_a_wrong_one_is_not_told(tmp_path: Path) -> None:
    aimed = AlertSettings(targets=(target(token_file=str(tmp_path / "none")),))
    with pytest.raises(
        TargetError, match=r"^target 'oncall': token: \S+none can't be read: No such file or directory$"
    ):
        targets_of(aimed, {})
    aimed = AlertSettings(targets=(target(key_env="KEY"),))
    with pytest.raises(TargetError, match=r"^target 'oncall': key: expected a text in environment variable KEY, it is"):
        targets_of(aimed, {})
    aimed = AlertSettings(targets=(target(url=None, url_env="URL"),))
    with pytest.raises(TargetError) as caught:
        targets_of(aimed, {"URL": "s3cret"})
    assert str(caught.value) == "target 'oncall': url: expected an http:// or https:// URL with a host"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("0.0.0.0", "private or reserved"),
        ("10.1.2.3", "private or reserved"),
        ("172.16.0.1", "private or reserved"),
        ("192.168.1.1", "private or reserved"),
        ("100.100.100.200", "private or reserved"),
        ("169.254.169.254", "link-local"),
        ("::ffff:169.254.169.254", "link-local"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("2002:7f00:1::", "loopback"),
        ("fe80::1", "link-local"),
        ("fd00:ec2::254", "private or reserved"),
        ("168.63.129.16", "a metadata service"),
        ("224.0.0.1", "multicast"),
    ],
)
def test_internal_addresses_are_refused_unless_their_network_is_allowed(text: str, kind: str) -> None:
    address = ipaddress.ip_address(text)
    with pytest.raises(ForbiddenAddressError, match=kind):
        judge(address, networks(["203.0.113.0/24"]))
    judge(address, networks(["0.0.0.0/0", "::/0"]))


def test_public_addresses_may_be_reached() -> None:
    for text in ("1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1"):
        judge(ipaddress.ip_address(text), ())


def test_routes_are_by_severity_tenant_class_and_fabric() -> None:
    fault = incident()
    assert is_wanted(target(), fault, ())
    assert is_wanted(target(least_severity="critical", component_classes=["rnic"], tenants=["a"]), fault, ("a", "b"))
    for fields in ({"tenants": ["a"]}, {"component_classes": ["switch"]}, {"fabrics": ["pod-8"]}):
        assert not is_wanted(target(**fields), fault, ("b",))
    assert not is_wanted(target(least_severity="critical"), incident(symptom="packet_loss"), ())


def test_tenants_are_known_from_endpoint_maps() -> None:
    tenants = Tenants()
    for job, owner in (("job-1", "zeta"), ("job-2", "acme"), ("job-3", None)):
        example = received_examples("endpoint-map")[0].value
        tenants.observe(msgspec.structs.replace(example, job=job, tenant=owner))
    assert tenants.of(["job-1", "job-2", "job-3", "unknown"]) == ("acme", "zeta")


@pytest.mark.parametrize(
    ("component", "place"),
    [
        ("port:leaf-1/p3", "leaf-1"),
        ("switch:leaf-1", "leaf-1"),
        ("config:leaf-1/p3", "leaf-1"),
        ("rnic:h-1/mlx5_0", "h-1"),
        ("vswitch:h-1", "h-1"),
        ("link:l-7", None),
        ("container:c-1", None),
        (None, None),
    ],
)
def test_the_place_of_a_component_is_its_host_or_switch(component: str | None, place: str | None) -> None:
    assert place_of(component) == place
