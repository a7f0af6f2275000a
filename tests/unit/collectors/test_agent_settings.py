"""The agent's settings: the exact sentence that each wrong one gives, and that what is documented is there."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from collectors.agent_settings import HOST_PARTS, NEEDED, AgentSettings
from collectors.flows.collector import OVS, OVS_OFFLOADED, FlowBounds
from collectors.part_settings import FlowSettings, GnmiSettings
from collectors.running import build_agent
from collectors.switches.gnmi import GnmiTarget
from collectors.wiring import PARTS
from skeletonhunter.collecting import load_agent_settings
from skeletonhunter.settings_sources import SettingsError
from tests.unit.collectors.hand_clock import hand_loop

CHECKOUT = Path(__file__).parents[3]
BAD = sorted((CHECKOUT / "tests/bad_configurations/agent").glob("*.toml"))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_configuration_gives_exactly_its_message(path: Path) -> None:
    """The first line of each file is the message that it must give."""
    first = path.read_bytes().split(b"\n", 1)[0].decode().removeprefix("# ")
    with pytest.raises(SettingsError) as caught:
        load_agent_settings(path, {})
    assert str(caught.value) == first.replace("{file}", str(path)).replace("{parts}", ", ".join(PARTS))


def test_there_are_bad_configurations() -> None:
    assert len(BAD) >= 20


def write(folder: Path, text: str = "") -> Path:
    path = folder / "agent.toml"
    path.write_text(f'[agent]\nfabric = "pod-7"\n{text}')
    return path


def test_flag_wins_over_environment_over_file(tmp_path: Path) -> None:
    path = write(tmp_path, '[kafka]\nurl = "file:1"\nprefix = "file."\nspool_mb = 7\n')
    environment = {"SKELETONHUNTER_KAFKA__URL": "env:1", "SKELETONHUNTER_KAFKA__PREFIX": "env."}
    kafka = load_agent_settings(path, environment, {"kafka.url": "flag:1"}).kafka
    assert (kafka.url, kafka.prefix, kafka.spool_mb) == ("flag:1", "env.", 7.0)


def test_the_environment_alone_may_name_fabric_and_parts(tmp_path: Path) -> None:
    empty = tmp_path / "agent.toml"
    empty.write_text("")
    environment = {"SKELETONHUNTER_AGENT__FABRIC": "pod-9", "SKELETONHUNTER_AGENT__PARTS": "probing, kernel-log"}
    settings = load_agent_settings(empty, environment)
    assert (settings.agent.fabric, settings.agent.parts) == ("pod-9", ("probing", "kernel-log"))


def test_a_bad_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load_agent_settings(write(tmp_path), {"SKELETONHUNTER_AGENT__HEARTBEAT_S": "often"})
    assert str(caught.value).startswith("environment variable SKELETONHUNTER_AGENT__HEARTBEAT_S: ")


def test_settings_survive_the_way_into_the_agents_process(tmp_path: Path) -> None:
    text = '[[switches.gnmi]]\nswitch = "leaf-0"\nhost = "10.0.0.1"\n[kafka.librdkafka]\n"linger.ms" = 5\n'
    settings = load_agent_settings(write(tmp_path, text), {})
    assert msgspec.json.decode(msgspec.json.encode(settings), type=AgentSettings) == settings


def test_defaults_are_parts_that_exist_and_need_nothing() -> None:
    assert set(HOST_PARTS) <= set(PARTS)
    assert not set(HOST_PARTS) & set(NEEDED)
    assert set(NEEDED) <= set(PARTS)


def test_settings_that_stand_for_a_parts_own_say_the_same() -> None:
    """They are spelled twice so that an agent without that part does not load it."""
    flows = FlowSettings()
    assert (flows.ovs, flows.ovs_offloaded) == (OVS, OVS_OFFLOADED)
    assert (flows.timeout_s, flows.max_mb * 1e6, flows.max_flows) == (
        FlowBounds().timeout_s,
        FlowBounds().max_bytes,
        FlowBounds().max_flows,
    )
    target = GnmiTarget(switch="s", host="h")
    own = GnmiSettings(switch="s", host="h")
    for name in own.__struct_fields__:
        if name != "password_file":
            assert getattr(own, name) == getattr(target, name)


def test_every_part_can_be_made(tmp_path: Path) -> None:
    """All but the one for Kubernetes, which needs somebody to log in to."""
    parts = [name for name in PARTS if name != "endpoint-kubernetes"]
    path = tmp_path / "all.toml"
    path.write_text(
        f"""[agent]
fabric = "pod-7"
host = "h-1"
sys = "{tmp_path}"
parts = {parts}
[kafka]
spool = "{tmp_path}/spool"
url = "127.0.0.1:9"
[maps]
endpoints = ["{tmp_path}/j.json"]
fabric = "{tmp_path}/f.json"
neighbours = "{tmp_path}"
[events]
logs = ["{tmp_path}/log"]
job_logs = {{ "c-1" = "{tmp_path}/job.log" }}
syslog = "127.0.0.1:9"
kernel_log = "{tmp_path}/kmsg"
[switches]
sonic = {{ "leaf-1" = ["ssh", "leaf-1"] }}
[[switches.gnmi]]
switch = "leaf-0"
host = "127.0.0.1"
"""
    )
    loop, _, _ = hand_loop()
    agent, finish = build_agent(load_agent_settings(path, {}), loop)
    assert len(agent._parts) >= len(parts)
    loop.stop()
    agent.run(0.0)  # ends at once, and everything is given back
    finish()
