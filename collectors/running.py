"""How does an agent start and end? Puts the pieces together as the settings say, and runs until it is told to stop.

The command line checks the settings and then *becomes* the agent (``replace_process``): a fresh interpreter in the same
process, with the settings in a memory file. The parsing of options alone would keep 15 MB resident (typer loads
pydantic), half of what the agent may have. The process keeps its number, so a service manager notices nothing.
"""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import msgspec

from collectors.agent import Agent
from collectors.agent_settings import AgentSettings
from collectors.exposing import Readings, exposed
from collectors.following import ANOMALIES, FABRIC, MAPS, PLANS, REQUESTS, Follower, Interests, consumer_config
from collectors.health import HealthPlan
from collectors.kafka_producer import KafkaProducer
from collectors.loop import Loop, Signals
from collectors.observing import AnomalyReader, FabricReader, RequestReader
from collectors.publishing import Publisher
from collectors.rereading import Rereading
from collectors.residents import Residents
from collectors.spool import Spool
from collectors.stamping import Stamper, new_boot
from collectors.wiring import Site, clock_piece, make_pieces

log = logging.getLogger(__name__)


PROGRAM = "from collectors.running import main; main()"
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


def replace_process(settings: AgentSettings, again: Sequence[str] = ()) -> NoReturn:
    """Goes on as an agent with these settings, in an interpreter that has loaded nothing else.

    ``again``: the command that reads the settings, should SIGHUP ask for it.
    """
    memory = os.memfd_create("agent-settings", 0)
    os.write(memory, msgspec.json.encode(settings))
    os.lseek(memory, 0, os.SEEK_SET)
    sys.stdout.flush()
    sys.stderr.flush()
    os.environ.setdefault("MALLOC_ARENA_MAX", "1")  # glibc: no heap of its own for each thread of librdkafka
    os.execv(sys.executable, [sys.executable, "-P", "-c", PROGRAM, str(memory), *again])


def main() -> None:
    """The agent that ``replace_process`` becomes: the settings come from the descriptor that it is given."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format=LOG_FORMAT, force=True)
    with open(int(sys.argv[1]), "rb") as memory:  # noqa: PTH123 - a descriptor has no path
        settings = msgspec.json.decode(memory.read(), type=AgentSettings)
    try:
        run_agent(settings, sys.argv[2:])
    except OSError as error:
        print(error, file=sys.stderr)  # noqa: T201
        raise SystemExit(1) from None


def run_agent(settings: AgentSettings, again: Sequence[str] = ()) -> None:
    """Runs an agent until SIGTERM or SIGINT; ``again`` is the command that reads its settings again on SIGHUP.

    Raises:
        OSError: the spool's folder can't be used, or a part lacks what it can't begin without.
    """
    loop = Loop()
    agent, follow = build_agent(settings, loop)
    gc.collect()
    gc.freeze()  # what was loaded stays; collections look at what comes and goes
    log.info("agent %s of %s begins: %s", agent.stamper.agent, settings.agent.fabric, ", ".join(settings.agent.parts))
    _listen_to(settings)

    def apply(wanted: AgentSettings) -> None:
        _listen_to(wanted)
        agent.take_settings(wanted)

    rereading = Rereading(settings, again, agent.lane, apply)
    signals = Signals(loop, rereading.ask if again else None)
    with signals, exposed(settings.agent.metrics, _readings(agent, settings.agent.metrics)):
        left = agent.run(settings.kafka.stop_s)
    follow()
    log.info("agent %s ends; %d messages wait in the spool", agent.stamper.agent, left)


def _listen_to(settings: AgentSettings) -> None:
    """From now on says what the settings ask for."""
    logging.getLogger().setLevel(settings.agent.log_level.upper())


def _readings(agent: Agent, address: str | None) -> Readings:
    """The agent's own metrics; what they need is loaded only if they are served."""
    if address is None:
        return tuple
    from collectors.self_metrics import agent_readings

    began_us = agent.loop.clocks().t_us
    return lambda: agent_readings(agent, began_us)


def build_agent(settings: AgentSettings, loop: Loop) -> tuple[Agent, Callable[[], None]]:
    """The agent with all its parts, and what is to be called when it has ended."""
    who, kafka = settings.agent, settings.kafka
    host = who.host or socket.gethostname()
    name = who.name or (f"{host}.{who.container}" if who.container else host)
    residents = Residents(host, who.container, settings.maps.devices, settings.rnic)
    site = Site(settings, host, residents)
    spool = Spool(Path(kafka.spool), round(kafka.spool_mb * 1e6))
    publisher = Publisher(KafkaProducer(kafka.url, kafka.prefix, kafka.librdkafka), spool, kafka.renew_s)
    clock, watch = clock_piece(site)
    stamper = Stamper(name, new_boot(loop.clocks()), who.fabric, lambda: watch.clock(loop.clocks().mono_us))
    plan = HealthPlan(agent=name, host=host, heartbeat_s=who.heartbeat_s, budget_percent=who.cpu_percent)
    agent = Agent(plan, loop, stamper, publisher, residents)
    for piece in (clock, *make_pieces(site)):
        agent.add(piece.part, piece.slow, piece.companions)
    if not kafka.follow:
        return agent, lambda: None
    asked = ((FABRIC, FabricReader), (ANOMALIES, AnomalyReader), (REQUESTS, RequestReader))
    topics = (MAPS, PLANS, *(topic for topic, reader in asked if agent.wants(reader)))
    interests = Interests(residents=residents, fabric=who.fabric, topics=topics)
    follower = Follower(interests, kafka.prefix, consumer_config(kafka.url, kafka.fetch_wait_ms, kafka.librdkafka))
    agent.follow(follower)
    return agent, follower.close
