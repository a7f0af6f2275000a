"""What does our way through Faust cost, beside an empty Faust agent on the same messages? Ratios, in one run.

    python benchmarks/faust_path.py [RECORDING] [--partitions 2] [--kafka HOST:PORT]

The recording is published once, with its ticks. *Empty* is a Faust app with one agent that does nothing with each
message. *Silent* is our worker with all stages, whose engines say nothing: decoding, barriers, sequencing, ticks
between stages, checkpoints. *Real* is our worker as it is. Each is a process of its own, timed from the first message
that it has handled to the last, in processor seconds of the process and wall seconds (the machine may be shared).
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from schemas.folding import Emission, Event
from skeletonhunter.embedded.broker import FETCH_WAIT_MS, SESSION_S, embedded_broker
from skeletonhunter.embedded.processes import Child
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.recordings.ticks import EventClock
from skeletonhunter.replaying.kafka_progress import PipelineProgress
from skeletonhunter.replaying.kafka_publisher import Publisher
from skeletonhunter.replaying.kafka_services import as_toml
from skeletonhunter.settings import KafkaSettings, Settings, WorkerSettings, load_settings
from skeletonhunter.working import topic_admin, worker_setup
from streams.serving import serve
from streams.stages import STAGES
from streams.topic_admin import plan_topics
from streams.topology import pipeline

INCIDENT = Path(__file__).parents[1] / "examples/incidents/stale-flow-offload"
OURS = ("ConsumerScheduler", "stream_buffer_maxsize")
"""Settings by which a worker gets events of many records; the empty agent has Faust's own, of one."""

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class SilentEngine:
    """Takes everything in and says nothing."""

    def start(self, _key: str) -> int:
        """No state."""
        return 0

    def step(self, state: int, _event: Event) -> tuple[int, list[Emission]]:
        """Nothing."""
        return state, []


SILENT = {name: dataclasses.replace(stage, build=lambda _: SilentEngine()) for name, stage in STAGES.items()}


def processor_s(pid: int) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


async def count_only(setup: Any, topics: tuple[str, ...], messages: int) -> None:
    """The empty agent: prints its own times when it has seen all messages."""
    import faust

    from streams.app import _configuration
    from streams.faust_transport import use_own_consumer

    plain = {name: value for name, value in _configuration(setup).items() if name not in OURS}
    app = faust.App(f"{setup.prefix}empty", **plain)
    use_own_consumer(app, setup.fetch_wait_ms)
    channel = app.topic(
        *[setup.prefix + topic for topic in topics], key_serializer="raw", value_serializer="raw", acks=False
    )
    done = asyncio.Event()
    begun: list[float] = []

    async def agent(stream: Any) -> None:
        seen = 0
        async for _ in stream.noack().events():
            if not seen:
                begun.extend((time.perf_counter(), time.process_time()))
            seen += 1
            if seen == messages:
                done.set()

    app.agent(channel, name="empty")(agent)
    await app.start()
    await done.wait()
    print(json.dumps([time.perf_counter() - begun[0], time.process_time() - begun[1]]), flush=True)
    os._exit(0)


def run_role(options: argparse.Namespace) -> None:
    """What a child process does."""
    setup = worker_setup(load_settings(options.config, {}))
    if options.role == "empty":
        asyncio.run(count_only(setup, pipeline(setup.pipeline, setup.partitions).raw, options.messages))
    serve(setup, SILENT if options.role == "silent" else STAGES)


def publish(settings: Settings, recording: Recording) -> int:
    """The whole recording with its ticks; how many messages stages read."""
    stages = pipeline(settings.worker.pipeline, settings.kafka.partitions)
    topic_admin(settings).ensure(plan_topics(settings.kafka.max_message_bytes, True), settings.kafka.partitions, 1)
    publisher, clock, messages = Publisher(settings.kafka, stages.raw, recording.files), EventClock(), 0
    for line in recording.lines():
        if line.topic in stages.raw:
            for t_us in clock.pass_to(line.arrival_us, line.arrival_us):
                publisher.tick(t_us)
            publisher.send(line)
            messages += 1
    publisher.tick(clock.now_us or 0, final=True)
    return messages


@contextmanager
def child(role: str, config: Path, messages: int) -> Iterator[Child]:
    """This program in a role, as a process."""
    command = [sys.executable, __file__, "--role", role, "--config", str(config), "--messages", str(messages)]
    log = config.with_name(f"{role}.log")
    with log.open("wb") as output, Child(command, output) as running:
        yield running


def time_empty(config: Path, messages: int) -> tuple[float, float]:
    """Wall and processor seconds of the empty agent."""
    with child("empty", config, messages) as running:
        running.process.wait(300)
    wall, processor = json.loads(config.with_name("empty.log").read_text().splitlines()[-1])
    return wall, processor


def time_worker(role: str, settings: Settings, config: Path) -> tuple[float, float]:
    """Wall and processor seconds of a worker, from the first tick that it has handled to the last."""
    progress = PipelineProgress(settings.kafka, pipeline(settings.worker.pipeline, settings.kafka.partitions))
    with child(role, config, 0) as running:
        _poll(progress, running, lambda: progress.handled_us >= 0)
        wall, processor = time.perf_counter(), processor_s(running.process.pid)
        _poll(progress, running, lambda: progress.over)
        spent = time.perf_counter() - wall, processor_s(running.process.pid) - processor
    progress.close()
    return spent


def _poll(progress: PipelineProgress, running: Child, done: Callable[[], bool]) -> None:
    while not done():
        progress.poll(0.05)
        if running.ended() is not None:
            raise SystemExit(f"the worker ended with code {running.ended()}")


def measure(options: argparse.Namespace, broker: str, folder: Path) -> dict[str, Any]:
    """All three, each under topics of its own, so that none finds what another has written."""
    times: dict[str, tuple[float, float]] = {}
    messages = 0
    for role in ("empty", "silent", "real"):
        settings = Settings(
            kafka=KafkaSettings(
                url=broker,
                prefix=f"bench-{os.getpid()}-{role}-",
                partitions=options.partitions,
                session_s=SESSION_S,
                fetch_wait_ms=FETCH_WAIT_MS,
            ),
            worker=WorkerSettings(ticker=False, data_dir=str(folder / role), checkpoint_s=60.0),
        )
        config = folder / f"{role}.toml"
        config.write_text(as_toml(settings))
        with Recording(options.recording) as recording:
            messages = publish(settings, recording)
        times[role] = time_empty(config, messages) if role == "empty" else time_worker(role, settings, config)
        topic_admin(settings).delete(topic_admin(settings).existing())
    return report(messages, times)


def report(messages: int, times: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """Times, messages per second, and ratios to the empty agent."""
    empty_wall, empty_processor = times["empty"]
    return {
        role: {
            "wall_s": round(wall, 2),
            "processor_s": round(processor, 2),
            "messages_per_s": round(messages / wall),
            "processor_us_per_message": round(1e6 * processor / messages, 1),
            "times_empty_wall": round(wall / empty_wall, 2),
            "times_empty_processor": round(processor / empty_processor, 2),
        }
        for role, (wall, processor) in times.items()
    } | {"messages": messages}


def main() -> None:
    """Measures and prints JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", nargs="?", type=Path, default=INCIDENT)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--kafka")
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("--config", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--messages", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        run_role(options)
        return
    there = nullcontext(options.kafka) if options.kafka else embedded_broker()
    with there as broker, tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(options, broker, Path(folder)), indent=2))


if __name__ == "__main__":
    main()
