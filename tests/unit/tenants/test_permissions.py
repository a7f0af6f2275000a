"""Permissions are the least, and tenants have none on what is another's."""

from __future__ import annotations

import json
from concurrent.futures import Future
from pathlib import Path

import pytest
from typer.testing import CliRunner

from schemas.codec import BadRecord
from schemas.maps import EndpointMap
from skeletonhunter.cli import InputError, build_cli
from skeletonhunter.settings import KafkaSettings
from skeletonhunter.tenants import acls
from skeletonhunter.tenants.acls import as_command, binding
from skeletonhunter.tenants.ownership import DOWN, UP, Ownership, TenantError, prefix_of
from skeletonhunter.tenants.permissions import Permission, permissions
from streams.stages import STAGES
from streams.topic_admin import TopicError
from tests.integration.tenants.people import JOBS, said

TENANTS = ("acme", "bolt", "acme2")


def of(principal: str, prefix: str = "") -> list[Permission]:
    return [each for each in permissions(prefix, TENANTS) if each.principal == principal]


def test_an_agent_of_a_tenant_may_touch_its_own_topics_only() -> None:
    found = {(each.operation, each.name) for each in of("agent-acme", "p.") if each.resource == "topic"}
    own = "p.tenant.acme."
    assert found == {("write", own + topic) for topic in UP} | {("read", own + topic) for topic in DOWN}
    assert not any(each.prefixed for each in of("agent-acme"))


def test_nobody_may_do_anything_to_all_topics() -> None:
    for each in permissions("", TENANTS):
        assert not each.prefixed or each.name.startswith(("skeletonhunter", "alert", "reader-"))
        assert each.operation != "create" or each.principal == "work"


def test_only_maps_and_administrators_write_endpoint_maps() -> None:
    writers = {
        each.principal for each in permissions("", TENANTS) if (each.operation, each.name) == ("write", "endpoint-map")
    }
    assert writers == {"maps"}


def test_a_worker_has_what_its_stages_need() -> None:
    may = {(each.operation, each.name) for each in of("work")}
    for stage in STAGES.values():
        assert {("read", topic) for topic in stage.inputs} <= may
        assert {("write", topic) for topic in stage.outputs} <= may
    assert ("write", "rnic-counters") not in may


@pytest.mark.parametrize("name", ["", "a.b", "a*", "x" * 65, "ä", "a b", "../a"])
def test_a_name_that_could_reach_into_another_tenants_topics_is_refused(name: str) -> None:
    with pytest.raises(TenantError):
        prefix_of(name)
    with pytest.raises(TenantError):
        permissions("", [name])


def test_no_prefix_of_a_tenant_begins_another() -> None:
    prefixes = [prefix_of(tenant) for tenant in TENANTS]
    assert not any(one != other and other.startswith(one) for one in prefixes for other in prefixes)


def test_the_command_says_what_the_acl_says() -> None:
    one = Permission("work", "topic", "skeletonhunter", True, "describe_configs")
    words = "--operation DescribeConfigs --resource-pattern-type prefixed --topic skeletonhunter"
    assert as_command(one) == f"--add --allow-principal User:work {words}"
    assert binding(one).principal == "User:work"


def test_a_job_that_changes_hands_is_taken_away() -> None:
    ownership = Ownership("acme")
    first = said("endpoint-map", "acme", version=5)
    assert isinstance(first, EndpointMap)
    ownership.learn(first)
    assert ownership.owns(JOBS["acme"])
    ownership.learn(said("endpoint-map", "bolt", JOBS["acme"], version=4))  # type: ignore[arg-type]
    assert ownership.owns(JOBS["acme"]), "an older map says nothing"
    ownership.learn(said("endpoint-map", "bolt", JOBS["acme"], version=6))  # type: ignore[arg-type]
    assert not ownership.owns(JOBS["acme"])


def test_an_agent_of_a_tenant_may_say_that_it_watches_cards_of_the_tenant_only() -> None:
    ownership, listed = Ownership("acme"), said("endpoint-map", "acme")
    assert isinstance(listed, EndpointMap)
    ownership.learn(listed)
    own = listed.endpoints[0]
    for card, why in (
        (f"rnic:{own.host}/{own.rnic}", None),
        ("rnic:h-of-others/mlx5_0", "watches has 'rnic:h-of-others"),
    ):
        beat = said("agent-health", "acme", covers=(own.endpoint,), watches=(card,))
        if why is None:
            ownership.check("agent-health", beat)
        else:
            with pytest.raises(BadRecord, match=why):
                ownership.check("agent-health", beat)


def test_the_command_prints_what_would_be_granted() -> None:
    result = CliRunner().invoke(build_cli("acls"), ["acls", "--tenant", "acme", "--prefix", "p.", "--json"])
    assert result.exit_code == 0, result.output
    found = {(each["principal"], each["operation"], each["name"]) for each in json.loads(result.stdout)}
    assert ("agent-acme", "write", "p.tenant.acme.probe-results") in found
    lines = CliRunner().invoke(build_cli("acls"), ["acls", "--prefix", "p."]).stdout.splitlines()
    assert len(lines) == len(permissions("p."))
    assert "--add --allow-principal User:sink --operation Read --group p.sink" in lines


def test_a_wrong_tenant_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"'a\.b' can't be a tenant"):
        CliRunner().invoke(build_cli("acls"), ["acls", "--tenant", "a.b"], catch_exceptions=False)


def test_a_broker_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acls, "TIMEOUT_S", 0.3)
    with pytest.raises(InputError, match=r"^Kafka at 127\.0\.0\.1:9 does not answer, so nothing was granted$"):
        CliRunner().invoke(build_cli("acls"), ["acls", "--apply", "--kafka", "127.0.0.1:9"], catch_exceptions=False)


def test_an_answer_that_never_comes_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        def __init__(self, *_: object, **__: object) -> None: ...

        def create_acls(self, wanted: list[object], **_: object) -> dict[object, Future[None]]:
            return {each: Future() for each in wanted}

    monkeypatch.setattr(acls, "AdminClient", Silent)
    monkeypatch.setattr(acls, "TIMEOUT_S", 0.0)
    monkeypatch.setattr(acls, "GRACE_S", 0.0)
    with pytest.raises(TopicError, match="does not answer, so nothing was granted"):
        acls.apply(KafkaSettings(), permissions(""))


def test_a_tenant_is_not_forgotten_in_a_database_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="db: there is no database"):
        words = ["purge", "--tenant", "acme", "--clickhouse", f"chdb://{tmp_path}/db", "--kafka", "127.0.0.1:9"]
        CliRunner().invoke(build_cli("purge"), words, catch_exceptions=False)
    assert list(tmp_path.iterdir()) == []
